"""Remember and forget: what a call writes, and the writing."""
