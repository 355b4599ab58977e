"""``ecphora bench speed``: time, memory and file size of strategies and of other projects on the same data."""
