-- The runs of consolidation: which revisions each wrote, and where its marks stood before. scope.adopted is from here on
-- the last revision at which rows were taken out or made anew without being forgotten: readers must read anew.
CREATE TABLE batch (
    scope    INTEGER NOT NULL REFERENCES scope (key),
    revision INTEGER NOT NULL,
    id       TEXT NOT NULL,
    at       TEXT NOT NULL,
    wrote    TEXT NOT NULL,                 -- JSON: how much of what
    before   TEXT NOT NULL,                 -- JSON: the marks that it moved, as they stood; null: not there
    PRIMARY KEY (scope, revision)
) STRICT;

-- A link goes with the memory that shows it.
CREATE INDEX edge_evidence ON edge (scope, evidence) WHERE evidence IS NOT NULL;
