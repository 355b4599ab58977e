"""Benchmarks of recall on public data sets: loading, running, measuring, reporting."""
