-- Whether the rows of this file are only a part: set in the file itself while a write-ahead log continues it, and cleared
-- by the first transaction in that log. So whoever reads the file with its log, or after the log was moved in, finds 0.
CREATE TABLE log_mark (
    is_set INTEGER NOT NULL
) STRICT;
INSERT INTO log_mark VALUES (0);
