"""The HTTP server and bulk work on Ray: replicas of the server's application, and a job over many scopes."""
