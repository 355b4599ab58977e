"""Summarizers: adapters that write insights over several memories."""
