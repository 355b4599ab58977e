CREATE TABLE store (prefix text, key text, value text, created_at TIMESTAMP, updated_at TIMESTAMP);
INSERT INTO store VALUES ('a', 'k', '{"text": "Old."}', NULL, NULL);
