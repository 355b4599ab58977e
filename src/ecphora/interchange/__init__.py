"""Export and import of scopes as JSON Lines."""
