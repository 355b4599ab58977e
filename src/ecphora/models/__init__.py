"""Machine learning models and the services that run them.

Embedders, rerankers, extractors, language models, their prompts and weights.
"""
