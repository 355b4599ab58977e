CREATE TABLE collections (id TEXT PRIMARY KEY, name TEXT NOT NULL, dimension INTEGER);
CREATE TABLE segments (id TEXT PRIMARY KEY, type TEXT NOT NULL, scope TEXT NOT NULL, collection TEXT NOT NULL);
CREATE TABLE embeddings (id INTEGER PRIMARY KEY, segment_id TEXT NOT NULL, embedding_id TEXT NOT NULL,
seq_id BLOB NOT NULL, created_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, UNIQUE (segment_id, embedding_id));
CREATE TABLE embedding_metadata (id INTEGER REFERENCES embeddings(id), key TEXT NOT NULL, string_value TEXT,
int_value INTEGER, float_value REAL, bool_value INTEGER, PRIMARY KEY (id, key));
INSERT INTO collections VALUES ('c', 'notes', 3);
INSERT INTO segments VALUES ('v', 'urn:chroma:segment/vector/hnsw', 'VECTOR', 'c'),
('m', 'urn:chroma:segment/metadata/sqlite', 'METADATA', 'c');
INSERT INTO embeddings VALUES (1, 'm', 'a', 1, '2026-05-03 10:00:00'), (2, 'm', 'b', 2, '2026-05-04 10:00:00'),
(3, 'm', 'd', 3, '2026-05-05 10:00:00');
INSERT INTO embedding_metadata VALUES (1, 'chroma:document', 'Ana lives in Porto.', NULL, NULL, NULL),
(1, 'speaker', 'Ana', NULL, NULL, NULL), (1, 'timestamp', '2026-01-10T10:00:00+01:00', NULL, NULL, NULL),
(1, 'n', NULL, 1, NULL, NULL), (1, 'f', NULL, NULL, 1.5, NULL), (1, 'b', NULL, NULL, NULL, 1),
(2, 'chroma:document', 'Ben likes tea.', NULL, NULL, NULL), (2, 'session_id', 's1', NULL, NULL, NULL),
(3, 'only', 'a vector', NULL, NULL, NULL);
