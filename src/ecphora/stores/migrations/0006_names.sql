-- Columns and tables take the names that the code and its documentation use. No value changes but the cursors' names.
ALTER TABLE scope RENAME COLUMN adopted TO reload_revision;   -- the last revision after which readers must load anew
ALTER TABLE scope RENAME COLUMN whole_log TO needs_full_log;
ALTER TABLE scope RENAME COLUMN expiry TO retention_seq;
ALTER TABLE scope RENAME COLUMN log_cursor TO sweep_cursor;

ALTER TABLE node RENAME COLUMN words TO term_hashes;
ALTER TABLE node RENAME COLUMN counts TO term_counts;
ALTER TABLE node RENAME COLUMN question TO is_question;
ALTER TABLE node RENAME COLUMN told TO time_mentions;

ALTER TABLE edge RENAME COLUMN evidence TO provenance;
DROP INDEX edge_evidence;
CREATE INDEX edge_provenance ON edge (scope, provenance) WHERE provenance IS NOT NULL;

ALTER TABLE access RENAME COLUMN touch TO kind;               -- 4 pinned, 5 unpinned, 7 unarchived; the rest as before

ALTER TABLE superseded RENAME TO validity_end;
DROP INDEX superseded_revision;
DROP INDEX superseded_node;
CREATE INDEX validity_end_revision ON validity_end (scope, revision);
CREATE INDEX validity_end_node ON validity_end (scope, node);

ALTER TABLE forgotten RENAME TO tombstone;
DROP INDEX forgotten_revision;
CREATE INDEX tombstone_revision ON tombstone (scope, revision);

ALTER TABLE mark RENAME TO cursor;
UPDATE cursor SET name = 'consolidation' WHERE name = 'sleep';
UPDATE cursor SET name = 'consolidation/claims' WHERE name = 'sleep/claims';

ALTER TABLE batch RENAME TO undo_batch;
ALTER TABLE undo_batch RENAME COLUMN wrote TO counts;
ALTER TABLE undo_batch RENAME COLUMN before TO previous_cursors;
UPDATE undo_batch SET counts = json_remove(
    json_set(counts, '$.rejected_insights', json_extract(counts, '$.refused')), '$.refused')
WHERE json_type(counts, '$.refused') IS NOT NULL;
UPDATE undo_batch SET previous_cursors = json_remove(
    json_set(previous_cursors, '$.consolidation', json_extract(previous_cursors, '$.sleep')), '$.sleep')
WHERE json_type(previous_cursors, '$.sleep') IS NOT NULL;
UPDATE undo_batch SET previous_cursors = json_remove(
    json_set(previous_cursors, '$."consolidation/claims"', json_extract(previous_cursors, '$."sleep/claims"')),
    '$."sleep/claims"')
WHERE json_type(previous_cursors, '$."sleep/claims"') IS NOT NULL;
