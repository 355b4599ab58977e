-- Memories are found by the identifiers and quantities in them: their hashes follow those of the words in term_hashes,
-- with the count 0 in term_counts. The functions read them in a text; only texts that have some are written.
UPDATE node SET
    term_hashes = with_identifiers(term_hashes, term_counts, title, heading, text, media),
    term_counts = with_zeros(term_counts, title, heading, text, media)
WHERE kind = 'episode' AND term_hashes IS NOT NULL AND term_counts IS NOT NULL
    AND has_identifiers(title, heading, text, media);
