-- The rows of scopes as in SQLite; what a column means is said there. Every key is led by the scope, so that the tables
-- can be partitioned by it. `rowid` keeps the order of rows that have no other key. Times are ISO 8601 texts.
CREATE TABLE scope_name (
    name TEXT COLLATE "C" PRIMARY KEY,
    key  BIGINT GENERATED ALWAYS AS IDENTITY UNIQUE
);

CREATE TABLE scope (
    key              BIGINT NOT NULL,
    name             TEXT COLLATE "C" NOT NULL,
    revision         BIGINT NOT NULL DEFAULT 0,
    seq              BIGINT NOT NULL DEFAULT 0,
    embedder         TEXT,
    dim              BIGINT,
    reload_revision  BIGINT NOT NULL DEFAULT 0,
    needs_full_log   BIGINT NOT NULL DEFAULT 0,
    retention_seq    BIGINT NOT NULL DEFAULT 0,
    sweep_cursor     BIGINT NOT NULL DEFAULT 0,
    log_size         BIGINT NOT NULL DEFAULT 0,
    log_growth       BIGINT NOT NULL DEFAULT 0,
    english_embedder TEXT,
    english_dim      BIGINT,
    PRIMARY KEY (key)
) /* PARTITION BY HASH (key) */;

CREATE TABLE node (
    scope         BIGINT NOT NULL REFERENCES scope (key),
    seq           BIGINT NOT NULL,
    revision      BIGINT NOT NULL,
    id            TEXT COLLATE "C" NOT NULL,
    kind          TEXT NOT NULL,
    text          TEXT NOT NULL,
    happened_at   TEXT NOT NULL,
    recorded_at   TEXT NOT NULL,
    speaker       TEXT,
    session       TEXT,
    title         TEXT,
    source        TEXT,
    document      TEXT COLLATE "C",
    position      BIGINT NOT NULL,
    valid_from    TEXT,
    valid_to      TEXT,
    trust         DOUBLE PRECISION NOT NULL,
    metadata      TEXT,
    term_hashes   BYTEA,
    term_counts   BYTEA,
    is_question   BIGINT NOT NULL,
    time_mentions TEXT,
    start         BIGINT NOT NULL DEFAULT 0,
    heading       TEXT,
    media         TEXT,
    PRIMARY KEY (scope, seq)
) /* PARTITION BY HASH (scope) */;
CREATE UNIQUE INDEX node_id ON node (scope, id);
CREATE INDEX node_revision ON node (scope, revision);

CREATE TABLE vector (
    scope    BIGINT NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    node     BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    value    BYTEA NOT NULL,
    PRIMARY KEY (scope, model, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX vector_revision ON vector (scope, revision);
CREATE INDEX vector_node ON vector (scope, node);

CREATE TABLE english_vector (
    scope    BIGINT NOT NULL,
    node     BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    value    BYTEA NOT NULL,
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX english_vector_revision ON english_vector (scope, revision);

CREATE TABLE media_vector (
    scope    BIGINT NOT NULL,
    model    TEXT COLLATE "C" NOT NULL,
    node     BIGINT NOT NULL,
    position BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    value    BYTEA NOT NULL,
    PRIMARY KEY (scope, model, node, position),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX media_vector_revision ON media_vector (scope, revision);
CREATE INDEX media_vector_node ON media_vector (scope, node);

CREATE TABLE token_codes (
    scope BIGINT NOT NULL,
    node  BIGINT NOT NULL,
    model TEXT COLLATE "C" NOT NULL,
    value BYTEA NOT NULL,
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;

CREATE TABLE edge (
    scope      BIGINT NOT NULL,
    revision   BIGINT NOT NULL,
    src        BIGINT NOT NULL,
    dst        BIGINT NOT NULL,
    link       TEXT NOT NULL,
    weight     DOUBLE PRECISION NOT NULL,
    provenance TEXT COLLATE "C",
    rowid      BIGINT NOT NULL DEFAULT nextval('row_number'),
    PRIMARY KEY (scope, rowid),
    FOREIGN KEY (scope, src) REFERENCES node (scope, seq) ON DELETE CASCADE,
    FOREIGN KEY (scope, dst) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX edge_revision ON edge (scope, revision);
CREATE INDEX edge_src ON edge (scope, src);
CREATE INDEX edge_dst ON edge (scope, dst);
CREATE INDEX edge_provenance ON edge (scope, provenance) WHERE provenance IS NOT NULL;

CREATE TABLE validity_end (
    scope       BIGINT NOT NULL,
    revision    BIGINT NOT NULL,
    node        BIGINT NOT NULL,
    valid_to    TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    rowid       BIGINT NOT NULL DEFAULT nextval('row_number'),
    PRIMARY KEY (scope, rowid),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX validity_end_revision ON validity_end (scope, revision);
CREATE INDEX validity_end_node ON validity_end (scope, node);

CREATE TABLE access (
    scope    BIGINT NOT NULL,
    node     BIGINT NOT NULL,
    kind     BIGINT NOT NULL,
    nth      BIGINT NOT NULL,
    seq      BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    strength DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (scope, node, kind, nth),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) /* PARTITION BY HASH (scope) */;
CREATE INDEX access_revision ON access (scope, revision);

CREATE TABLE tombstone (
    scope    BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    node     TEXT COLLATE "C" NOT NULL,
    digest   BYTEA NOT NULL,
    rowid    BIGINT NOT NULL DEFAULT nextval('row_number'),
    PRIMARY KEY (scope, rowid)
) /* PARTITION BY HASH (scope) */;
CREATE INDEX tombstone_revision ON tombstone (scope, revision);

CREATE TABLE cursor (
    scope    BIGINT NOT NULL REFERENCES scope (key),
    name     TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    seq      BIGINT NOT NULL,
    PRIMARY KEY (scope, name)
) /* PARTITION BY HASH (scope) */;

CREATE TABLE undo_batch (
    scope            BIGINT NOT NULL REFERENCES scope (key),
    revision         BIGINT NOT NULL,
    id               TEXT NOT NULL,
    at               TEXT NOT NULL,
    counts           TEXT NOT NULL,
    previous_cursors TEXT NOT NULL,
    PRIMARY KEY (scope, revision)
) /* PARTITION BY HASH (scope) */;

CREATE TABLE graph_snapshot (
    scope    BIGINT PRIMARY KEY REFERENCES scope (key) ON DELETE CASCADE,
    revision BIGINT NOT NULL,
    value    BYTEA NOT NULL
) /* PARTITION BY HASH (scope) */;

-- What a process has committed, so that after a lost connection it knows whether a commit was done.
CREATE TABLE commit_key (
    scope    BIGINT NOT NULL REFERENCES scope (key),
    key      TEXT COLLATE "C" NOT NULL,
    revision BIGINT NOT NULL,
    PRIMARY KEY (scope, key)
) /* PARTITION BY HASH (scope) */;
