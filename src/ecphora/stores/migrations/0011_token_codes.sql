-- What a reader keeps of a text, so that it need not be encoded again: codes of its tokens, made of the text alone.
CREATE TABLE token_codes (
    scope INTEGER NOT NULL,
    node  INTEGER NOT NULL,
    model TEXT NOT NULL,                   -- what made them
    value BLOB NOT NULL,
    PRIMARY KEY (scope, node),
    FOREIGN KEY (scope, node) REFERENCES node (scope, seq) ON DELETE CASCADE
) STRICT;
