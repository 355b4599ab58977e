"""Documents: mail, notes, tables, and folders of Markdown."""
