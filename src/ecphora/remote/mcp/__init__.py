"""The MCP server, over stdio or HTTP."""
