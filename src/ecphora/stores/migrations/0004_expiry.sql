-- The access log is bounded: of each node and kind the last accesses are kept, and nth says how many there were.
-- What the scopes of a -faithful strategy logged before can be told by what it left: such a log stays whole.
ALTER TABLE scope ADD COLUMN whole_log INTEGER NOT NULL DEFAULT 0;  -- 1: nothing of its log expires
ALTER TABLE scope ADD COLUMN expiry INTEGER NOT NULL DEFAULT 0;     -- of the accesses up to this seq the last count
ALTER TABLE scope ADD COLUMN log_cursor INTEGER NOT NULL DEFAULT 0; -- of the nodes up to this seq the others are deleted
ALTER TABLE scope ADD COLUMN log_size INTEGER NOT NULL DEFAULT 0;   -- accesses in the log
ALTER TABLE scope ADD COLUMN log_growth INTEGER NOT NULL DEFAULT 0; -- of these, logged since it expired last

UPDATE scope SET whole_log = 1 WHERE EXISTS (SELECT 1 FROM access a WHERE a.scope = key AND a.touch = 'stimulated')
    OR EXISTS (SELECT 1 FROM node n WHERE n.scope = key AND n.kind = 'episode' AND n.source = 'recall')
    OR EXISTS (SELECT 1 FROM mark m WHERE m.scope = key AND m.name = 'weave');

ALTER TABLE access RENAME TO access_before;
CREATE TABLE access (
    scope    INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    touch    INTEGER NOT NULL,                -- 0 encoded, 1 stimulated, 2 recalled, 3 used, 4 protected, 5 released,
                                              -- 6 archived, 7 returned
    nth      INTEGER NOT NULL,                -- of its kind, counted from 1; when it was stored counts as encoded
    seq      INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    at       INTEGER NOT NULL,                -- microseconds since 1970, UTC
    strength REAL NOT NULL,
    PRIMARY KEY (scope, node, touch, nth),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

WITH code (touch, number) AS (VALUES ('encoded', 0), ('stimulated', 1), ('recalled', 2), ('used', 3),
                                     ('protected', 4), ('released', 5), ('archived', 6), ('returned', 7))
INSERT INTO access
    SELECT a.scope, a.node, c.number,
           (a.touch = 'encoded') + row_number() OVER (PARTITION BY a.scope, a.node, a.touch ORDER BY a.seq),
           a.seq, a.revision,
           coalesce(unixepoch(a.at), 0) * 1000000 + coalesce(CAST(substr(a.at || '000000', instr(a.at, '.') + 1, 6) AS INTEGER)
               * (instr(a.at, '.') > 0), 0),
           a.strength
    FROM access_before a JOIN code c ON c.touch = a.touch;
DROP TABLE access_before;
CREATE INDEX access_revision ON access (scope, revision);
UPDATE scope SET log_size = (SELECT count(*) FROM access a WHERE a.scope = key);
UPDATE scope SET log_growth = log_size;
