"""Text analysis without a model: terms, names, dates, identifiers, statements, chunks."""
