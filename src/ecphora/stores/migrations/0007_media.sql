-- Pictures, sounds and videos of a memory by reference, and vectors of models other than the scope's own.
ALTER TABLE node ADD COLUMN media TEXT;        -- JSON: [[reference, kind, caption], ...]; NULL for none

CREATE TABLE media_vector (
    scope    INTEGER NOT NULL,
    model    TEXT NOT NULL,
    node     INTEGER NOT NULL,
    position INTEGER NOT NULL,             -- of the medium in the node's media, from 0
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,                -- 2 bytes a dimension, little endian
    PRIMARY KEY (scope, model, node, position),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX media_vector_revision ON media_vector (scope, revision);
CREATE INDEX media_vector_node ON media_vector (scope, node);
