"""EcphoryRAG."""
