"""A memory behind a server: the wire format, the clients, the HTTP server, the MCP server."""
