-- A second vector of each English text, by an embedder for English beside that of the scope.
ALTER TABLE scope ADD COLUMN english_embedder TEXT;   -- the model its English vectors come from
ALTER TABLE scope ADD COLUMN english_dim INTEGER;

CREATE TABLE english_vector (
    scope    INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,                -- 2 bytes a dimension, little endian
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX english_vector_revision ON english_vector (scope, revision);
