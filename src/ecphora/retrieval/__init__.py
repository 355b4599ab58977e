"""What several strategies share.

The question, BM25, similarity, fusion, filters, names, time, validity, confidence.
"""
