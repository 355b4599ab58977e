"""What a text states: clauses, subjects, values, validity, changes, and whether it is a fact."""
