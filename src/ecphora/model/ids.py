"""Ids that Ecphora assigns: their prefixes, and ids derived from a content, so that equal contents have equal ids."""

from hashlib import blake2b

ENTITY_PREFIX = "entity:"
INSIGHT_PREFIX = "insight:"
QUESTION_PREFIX = "question:"
CLAIM_PREFIX = "claim:"
DESCRIPTION_PREFIX = "description:"
EXCHANGE_PREFIX = "exchange:"
NODE_PREFIXES = (ENTITY_PREFIX, INSIGHT_PREFIX, QUESTION_PREFIX, CLAIM_PREFIX, DESCRIPTION_PREFIX, EXCHANGE_PREFIX)
"""Prefixes with which the id of an episode may not begin."""
MERGE_PREFIX = "merge:"
REJECT_PREFIX = "reject:"
ACCEPT_PREFIX = "accept:"
IMPORT_PREFIX = "import:"
"""The undo batches of a merge, of a rejected or accepted update, and of an import."""


def content_id(*parts: str, prefix: str = "") -> str:
    """The id of a content, given in parts: a prefix, and the digest of the parts in hex."""
    return f"{prefix}{content_digest(*parts).hex()}"


def content_digest(*parts: str) -> bytes:
    """The digest of a content, given in parts: 16 bytes of BLAKE2b."""
    return blake2b("\x1f".join(parts).encode(), digest_size=16).digest()
