"""Converters: public data sets as their authors publish them, as benchmark sets."""
