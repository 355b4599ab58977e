"""The multilingual-e5-small embedder: its file format, tokenizer and graph."""
