"""Clients of the HTTP server."""
