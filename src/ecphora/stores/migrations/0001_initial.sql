-- The content of a memory: rows that are appended, each with the revision of its scope that wrote it.
CREATE TABLE scope (
    key              INTEGER PRIMARY KEY,
    name             TEXT NOT NULL UNIQUE,
    revision         INTEGER NOT NULL DEFAULT 0,
    seq              INTEGER NOT NULL DEFAULT 0,  -- counts nodes and accesses
    embedder         TEXT,                        -- the model its vectors come from
    dim              INTEGER,
    reload_revision  INTEGER NOT NULL DEFAULT 0,  -- the last revision after which readers must load anew
    needs_full_log   INTEGER NOT NULL DEFAULT 0,  -- 1: nothing of its log expires
    retention_seq    INTEGER NOT NULL DEFAULT 0,  -- of the accesses up to this seq the last count
    sweep_cursor     INTEGER NOT NULL DEFAULT 0,  -- of the nodes up to this seq the others are deleted
    log_size         INTEGER NOT NULL DEFAULT 0,  -- accesses in the log
    log_growth       INTEGER NOT NULL DEFAULT 0,  -- of these, logged since it expired last
    english_embedder TEXT,                        -- the model its English vectors come from
    english_dim      INTEGER
) STRICT;

CREATE TABLE node (
    scope         INTEGER NOT NULL REFERENCES scope (key),
    seq           INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    id            TEXT NOT NULL,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    happened_at   TEXT NOT NULL,
    recorded_at   TEXT NOT NULL,
    speaker       TEXT,
    session       TEXT,
    title         TEXT,
    source        TEXT,
    document      TEXT,
    position      INTEGER NOT NULL,
    valid_from    TEXT,
    valid_to      TEXT,
    trust         REAL NOT NULL,
    metadata      TEXT,                        -- JSON
    term_hashes   BLOB,                        -- 4 bytes each, little endian: distinct words, then identifiers and
                                               -- quantities; NULL: not indexed
    term_counts   BLOB,                        -- how often each occurs, 1 byte each; 0 for identifiers and quantities
    is_question   INTEGER NOT NULL,
    time_mentions TEXT,                        -- JSON: [[start, end], ...]
    start         INTEGER NOT NULL DEFAULT 0,  -- where a chunk starts in its text, in characters
    heading       TEXT,                        -- the headings above a chunk
    media         TEXT,                        -- JSON: [[reference, kind, caption], ...]; NULL for none
    PRIMARY KEY (scope, seq)
) STRICT;
CREATE UNIQUE INDEX node_id ON node (scope, id);
CREATE INDEX node_revision ON node (scope, revision);

-- Vectors of texts have a byte for each number, the scale in 2 bytes, and 1 or 2 bytes with their own count, so that
-- their length is odd. Vectors of media, and short ones, have 2 bytes for each number, little endian.
CREATE TABLE vector (
    scope    INTEGER NOT NULL,
    model    TEXT NOT NULL,
    node     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,
    PRIMARY KEY (scope, model, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX vector_revision ON vector (scope, revision);
CREATE INDEX vector_node ON vector (scope, node);

-- A second vector of each English text, by an embedder for English besides the scope's embedder.
CREATE TABLE english_vector (
    scope    INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX english_vector_revision ON english_vector (scope, revision);

-- Vectors of pictures, sounds and videos, by models other than the scope's own.
CREATE TABLE media_vector (
    scope    INTEGER NOT NULL,
    model    TEXT NOT NULL,
    node     INTEGER NOT NULL,
    position INTEGER NOT NULL,  -- of the medium in the node's media, from 0
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,
    PRIMARY KEY (scope, model, node, position),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX media_vector_revision ON media_vector (scope, revision);
CREATE INDEX media_vector_node ON media_vector (scope, node);

-- What a reranker keeps of a text, so that it need not be encoded again: codes of its tokens, made of the text alone.
CREATE TABLE token_codes (
    scope INTEGER NOT NULL,
    node  INTEGER NOT NULL,
    model TEXT NOT NULL,        -- what made them
    value BLOB NOT NULL,
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;

-- An edge is deleted with the memory that shows it, its provenance.
CREATE TABLE edge (
    scope      INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    src        INTEGER NOT NULL,
    dst        INTEGER NOT NULL,
    link       TEXT NOT NULL,
    weight     REAL NOT NULL,
    provenance TEXT,
    FOREIGN KEY (scope, src) REFERENCES node (scope, seq) ON DELETE CASCADE,
    FOREIGN KEY (scope, dst) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX edge_revision ON edge (scope, revision);
CREATE INDEX edge_src ON edge (scope, src);
CREATE INDEX edge_dst ON edge (scope, dst);
CREATE INDEX edge_provenance ON edge (scope, provenance) WHERE provenance IS NOT NULL;

CREATE TABLE validity_end (
    scope       INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    node        INTEGER NOT NULL,
    valid_to    TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX validity_end_revision ON validity_end (scope, revision);
CREATE INDEX validity_end_node ON validity_end (scope, node);

-- The access log is bounded: of each node and kind the last accesses are kept, and nth says how many there were.
CREATE TABLE access (
    scope    INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    kind     INTEGER NOT NULL,  -- 0 encoded, 1 stimulated, 2 recalled, 3 used, 4 pinned, 5 unpinned, 6 archived,
                                -- 7 unarchived
    nth      INTEGER NOT NULL,  -- of its kind, counted from 1; when it was stored counts as encoded
    seq      INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    at       INTEGER NOT NULL,  -- microseconds since 1970, UTC
    strength REAL NOT NULL,
    PRIMARY KEY (scope, node, kind, nth),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX access_revision ON access (scope, revision);

-- What was forgotten on purpose: no text, only what is needed to recognize its return.
CREATE TABLE tombstone (
    scope    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    node     TEXT NOT NULL,
    digest   BLOB NOT NULL
) STRICT;
CREATE INDEX tombstone_revision ON tombstone (scope, revision);

-- How far each kind of processing has come: the highest seq that it has worked on.
CREATE TABLE cursor (
    scope    INTEGER NOT NULL REFERENCES scope (key),
    name     TEXT NOT NULL,
    revision INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT;

-- What can be undone, such as runs of consolidation: which revisions each wrote, and where its cursors stood before.
CREATE TABLE undo_batch (
    scope            INTEGER NOT NULL REFERENCES scope (key),
    revision         INTEGER NOT NULL,
    id               TEXT NOT NULL,
    at               TEXT NOT NULL,
    counts           TEXT NOT NULL,  -- JSON: how much of what
    previous_cursors TEXT NOT NULL,  -- JSON: the cursors that it moved, as they stood; null: not there
    PRIMARY KEY (scope, revision)
) STRICT;

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

-- Whether the rows of this file are only a part: set in the file itself while a write-ahead log continues it, and cleared
-- by the first transaction in that log. So whoever reads the file with its log, or after the log was moved in, finds 0.
CREATE TABLE log_mark (
    is_set INTEGER NOT NULL
) STRICT;
INSERT INTO log_mark VALUES (0);
