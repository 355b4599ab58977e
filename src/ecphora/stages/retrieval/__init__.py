"""Retrieval steps that several strategies share: dense, BM25, fusion, filters, entity links, time, validity."""
