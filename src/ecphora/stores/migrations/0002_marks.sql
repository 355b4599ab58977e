-- How far each sleeper has come: the highest seq it has worked on.
CREATE TABLE mark (
    scope    INTEGER NOT NULL REFERENCES scope (key),
    name     TEXT NOT NULL,
    revision INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT;
