-- Vectors of texts in 8-bit integers; those of media stay in half precision.
UPDATE vector SET value = half_to_levels(value);
UPDATE english_vector SET value = half_to_levels(value);

-- The columns of a scope's graph as of a revision, without vectors: they are derived, and only there to open the scope
-- faster. What is deleted or written over is gone from here at once.
CREATE TABLE graph_snapshot (
    scope    INTEGER PRIMARY KEY REFERENCES scope (key) ON DELETE CASCADE,
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL
) STRICT;
CREATE TRIGGER node_deleted AFTER DELETE ON node BEGIN
    DELETE FROM graph_snapshot WHERE scope = old.scope;
END;
CREATE TRIGGER node_updated AFTER UPDATE ON node BEGIN
    DELETE FROM graph_snapshot WHERE scope = old.scope;
END;
