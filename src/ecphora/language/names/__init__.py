"""Names of persons and things, relations between persons, and who is meant."""
