"""Tools with which a language model uses a memory, by function calling."""
