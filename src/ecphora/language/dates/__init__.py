"""Dates and spans of time in texts, in seven languages."""
