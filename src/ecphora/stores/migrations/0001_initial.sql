-- The truth of a memory: append-only rows, each with the revision of its scope that wrote it.
CREATE TABLE scope (
    key      INTEGER PRIMARY KEY,
    name     TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL DEFAULT 0,
    seq      INTEGER NOT NULL DEFAULT 0,   -- counts nodes and accesses
    embedder TEXT,                         -- the model its vectors come from
    dim      INTEGER,
    adopted  INTEGER NOT NULL DEFAULT 0    -- the revision at which that model was taken
) STRICT;

CREATE TABLE node (
    scope       INTEGER NOT NULL REFERENCES scope (key),
    seq         INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    id          TEXT NOT NULL,
    kind        TEXT NOT NULL,
    text        TEXT NOT NULL,
    happened_at TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    speaker     TEXT,
    session     TEXT,
    title       TEXT,
    source      TEXT,
    document    TEXT,
    position    INTEGER NOT NULL,
    valid_from  TEXT,
    valid_to    TEXT,
    trust       REAL NOT NULL,
    metadata    TEXT,                      -- JSON
    words       BLOB,                      -- distinct word hashes, 4 bytes each, little endian; NULL: not read
    counts      BLOB,                      -- how often each occurs, 1 byte each
    question    INTEGER NOT NULL,
    told        TEXT,                      -- JSON: [[start, end], ...]
    PRIMARY KEY (scope, seq)
) STRICT;
CREATE UNIQUE INDEX node_id ON node (scope, id);
CREATE INDEX node_revision ON node (scope, revision);

CREATE TABLE vector (
    scope    INTEGER NOT NULL,
    model    TEXT NOT NULL,
    node     INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    value    BLOB NOT NULL,                -- 2 bytes a dimension, little endian
    PRIMARY KEY (scope, model, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX vector_revision ON vector (scope, revision);
CREATE INDEX vector_node ON vector (scope, node);

CREATE TABLE edge (
    scope    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    src      INTEGER NOT NULL,
    dst      INTEGER NOT NULL,
    link     TEXT NOT NULL,
    weight   REAL NOT NULL,
    evidence TEXT,
    FOREIGN KEY (scope, src) REFERENCES node (scope, seq) ON DELETE CASCADE,
    FOREIGN KEY (scope, dst) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX edge_revision ON edge (scope, revision);
CREATE INDEX edge_src ON edge (scope, src);
CREATE INDEX edge_dst ON edge (scope, dst);

CREATE TABLE superseded (
    scope       INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    node        INTEGER NOT NULL,
    valid_to    TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX superseded_revision ON superseded (scope, revision);
CREATE INDEX superseded_node ON superseded (scope, node);

CREATE TABLE access (
    scope    INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    at       TEXT NOT NULL,
    touch    TEXT NOT NULL,
    strength REAL NOT NULL,
    PRIMARY KEY (scope, seq),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
CREATE INDEX access_revision ON access (scope, revision);
CREATE INDEX access_node ON access (scope, node);

-- What was forgotten on purpose: no text, only what is needed to recognise its return.
CREATE TABLE forgotten (
    scope    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    node     TEXT NOT NULL,
    digest   BLOB NOT NULL
) STRICT;
CREATE INDEX forgotten_revision ON forgotten (scope, revision);
