"""Ids that are derived from contents."""

from hashlib import blake2b

from ecphora.model import ids


def test_content_id_is_a_digest_of_all_parts_with_a_prefix() -> None:
    digest = blake2b(b"a\x1fb", digest_size=16)
    assert ids.content_id("a", "b") == digest.hexdigest()
    assert ids.content_id("a", "b", prefix=ids.CLAIM_PREFIX) == f"claim:{digest.hexdigest()}"
    assert ids.content_digest("a", "b") == digest.digest()


def test_content_ids_differ_where_the_same_letters_are_other_parts() -> None:
    assert len({ids.content_id(*parts) for parts in (("ab",), ("a", "b"), ("b", "a"), ("a", "b", ""))}) == 4
