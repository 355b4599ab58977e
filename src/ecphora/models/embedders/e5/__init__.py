"""The embedder multilingual-e5-small, and what runs on its layers."""
