"""Prefixes of the ids that Ecphora assigns; the id of an episode may not begin with one."""

ENTITY_PREFIX = "entity:"
INSIGHT_PREFIX = "insight:"
QUESTION_PREFIX = "question:"
CLAIM_PREFIX = "claim:"
