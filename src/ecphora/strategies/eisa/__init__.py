"""EISA."""
