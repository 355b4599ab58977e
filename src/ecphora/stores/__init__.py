"""The SQLite store: reading, writing, migrations, backup and repair."""
