BEGIN TRANSACTION;
CREATE TABLE history (id TEXT PRIMARY KEY, memory_id TEXT, old_memory TEXT, new_memory TEXT, event TEXT,
created_at DATETIME, updated_at DATETIME, is_deleted INTEGER, actor_id TEXT, role TEXT);
INSERT INTO "history" VALUES('h1','m1',NULL,'Ana lives in Lisbon.','ADD','2026-01-10T10:00:00+00:00','2026-01-10T10:00:00+00:00',0,'ana','user');
INSERT INTO "history" VALUES('h2','m2',NULL,'A secret.','ADD','2026-01-10T10:00:00+00:00',NULL,0,NULL,NULL);
INSERT INTO "history" VALUES('h3','m1','Ana lives in Lisbon.','Ana lives in Porto.','UPDATE','2026-01-10T10:00:00+00:00','2026-05-03T10:00:00+00:00',0,NULL,NULL);
INSERT INTO "history" VALUES('h4','m2','A secret.',NULL,'DELETE','2026-01-10T10:00:00+00:00','2026-05-03T10:00:00+00:00',1,NULL,NULL);
INSERT INTO "history" VALUES('h5','m3','Ben drinks coffee.','Ben drinks tea.','UPDATE','2026-01-10T10:00:00+00:00','soon',0,NULL,'assistant');
CREATE TABLE messages (id TEXT PRIMARY KEY, session_scope TEXT, role TEXT, content TEXT, name TEXT,
created_at DATETIME);
INSERT INTO "messages" VALUES('x','user_id=ana','user','hi',NULL,'2026-01-10T10:00:00+00:00');
COMMIT;
