-- A piece of a long text knows where in it it starts, in characters, and under which headings it stands.
ALTER TABLE node ADD COLUMN start INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN heading TEXT;

-- characters() is Python's len: SQLite's length() ends at a NUL, and a text may hold some.
UPDATE node SET start = before.length FROM (
    SELECT scope, seq, sum(characters(text)) OVER (
        PARTITION BY scope, document ORDER BY position, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS length
    FROM node WHERE document IS NOT NULL) AS before
WHERE node.scope = before.scope AND node.seq = before.seq AND before.length IS NOT NULL;
