"""The topic of a claim: merged with that of another."""

from ecphora.retrieval.validity import ClaimTopic


def test_merge_keeps_no_term_of_one_claim_that_is_the_topic_of_the_other() -> None:
    one = ClaimTopic(frozenset({"home", "city"}), frozenset({"cat", "rent"}))
    assert one.merge(ClaimTopic(frozenset({"rent"}))) == ClaimTopic(
        frozenset({"home", "city", "rent"}), frozenset({"cat"})
    )
    assert ClaimTopic(frozenset({"home"})).merge(ClaimTopic()) == ClaimTopic(frozenset({"home"}))
