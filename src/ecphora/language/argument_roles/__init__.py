"""Who did what to whom: the roles of names in sentences and questions."""
