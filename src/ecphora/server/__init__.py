"""The servers: a memory over HTTP and over MCP, with access tokens. Nothing is imported here."""
