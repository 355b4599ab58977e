"""Training weights on benchmark sets, and measuring them by cross-validation."""
