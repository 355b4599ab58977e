"""A memory in a PostgreSQL database, version 16 or later."""
