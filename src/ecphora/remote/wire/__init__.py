"""Public values as JSON and back."""
