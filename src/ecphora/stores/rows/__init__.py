"""The rows of scopes, in any database: reading and writing batches, forgetting, undoing, rechunking."""
