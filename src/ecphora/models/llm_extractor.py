"""An extractor with a language model: names with type, description and importance, and relations between them.

It does what SYNAPSE, EcphoryRAG and Cognitive Weave have a language model do when something is stored
(docs/how-to/language-models.md). What the model writes is checked against the text; where it fails, rules find the
names.
"""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b

from ..errors import UnreadableReply
from ..language.names.mentions import entity_id, names
from ..language.terms import WordSequence
from ..model.ports import LLM, Extractor, Prompt
from ..model.reprs import call_repr
from ..model.text_format import collapse_whitespace, single_line, truncate
from ..model.types import DEFAULT_IMPORTANCE, Extraction, ExtractionReport, LLMEstimate, LLMUsage, Mention, Relation
from ..model.validation import check_component, check_count
from .llm_client import LLMBudget, LLMClient, LLMRun, ReplyCache, Request, estimate_cost
from .prompts import EXTRACTION, extraction_prompt, replies
from .rule_extractor import RuleExtractor

MAX_TEXT_CHARS = 4_000
"""Characters of a text that the model reads, as in EcphoryRAG's code."""
MAX_PROMPT_CHARS = 12_000
"""Characters of all texts of a prompt, unless one text alone has more."""
MAX_NAME_CHARS, MAX_PREDICATE_CHARS, MAX_DESCRIPTION_CHARS = 100, 60, 200
"""A longer name or predicate is rejected, a longer description is cut."""
MAX_MENTIONS, MAX_RELATIONS = 12, 6
"""The most mentions and relations of a text that are kept, beyond the names that the rules find."""
MAX_CACHED_TEXTS = 10_000
"""How many texts the built-in cache keeps; the oldest go first."""
_PROMPT_DIGEST = blake2b(repr(EXTRACTION).encode(), digest_size=8).hexdigest()


class LLMExtractor:
    """Has a language model read texts, ``batch_size`` in a prompt.

    A name that does not occur in its text, apart from case and inflection, is rejected. The names that ``fallback``
    finds are kept too, and where the model fails or the budget is used up, they are all there is. ``max_calls`` and
    ``max_tokens`` limit one call of ``remember``; the result's ``extraction`` says how its texts were read.

    A text is read once: ``cache`` maps digests of text, prompt and model to replies. By default it is in RAM and ends
    with the process. Any mapping of texts to texts will do, such as one on a disk; its contents are not erased when a
    memory is forgotten. Safe to share between threads if the model is.
    """

    def __init__(
        self,
        llm: LLM | LLMClient,
        *,
        batch_size: int = 5,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        cache: MutableMapping[str, str] | None = None,
        fallback: Extractor | None = None,
    ) -> None:
        self._client = llm if isinstance(llm, LLMClient) else LLMClient(llm)
        self._batch_size = check_count("batch_size", batch_size)
        self._budget = LLMBudget(max_calls, max_tokens)
        self._cache = ReplyCache(cache, MAX_CACHED_TEXTS)
        self._fallback = (
            RuleExtractor() if fallback is None else check_component("fallback", fallback, "an extractor", "extract")
        )

    def __repr__(self) -> str:
        return call_repr("LLMExtractor", self._client.name)

    @property
    def usage(self) -> LLMUsage:
        """What the language model has consumed so far."""
        return self._client.usage

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """Read each text, in the order of the texts; the call has a budget of its own."""
        return self.begin_run().extract(texts)

    def begin_run(self) -> "LLMExtractionRun":
        """An extractor for one call of ``remember``, with the whole budget."""
        return LLMExtractionRun(self, LLMRun(self._client, self._budget))

    def estimate(self, texts: Sequence[str], /) -> LLMEstimate:
        """What reading some texts would cost; nothing is sent. Texts that are in the cache cost nothing."""
        unread = [text for text in dict.fromkeys(texts) if _has_words(text) and self.cached(text) is None]
        estimate = estimate_cost((prompt for _, prompt in self.prompts(unread)), self._client.retries)
        if self._budget.max_calls is None and self._budget.max_tokens is None:
            return estimate
        max_calls, max_tokens = self._budget.max_calls, self._budget.max_tokens
        return LLMEstimate(
            calls=_at_most(estimate.calls, max_calls),
            tokens_in=_at_most(estimate.tokens_in, max_tokens),
            max_calls=_at_most(estimate.max_calls, max_calls),
            max_tokens_in=_at_most(estimate.max_tokens_in, max_tokens),
            max_tokens_out=_at_most(estimate.max_tokens_out, max_tokens),
        )

    # ---- what a run needs

    def prompts(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[str], Prompt]]:
        """The texts in groups, each with its prompt."""
        group: list[str] = []
        for text in texts:
            is_full = len(group) == self._batch_size or sum(map(_sent_chars, [*group, text])) > MAX_PROMPT_CHARS
            if group and is_full:
                yield group, extraction_prompt([one[:MAX_TEXT_CHARS] for one in group])
                group = []
            group.append(text)
        if group:
            yield group, extraction_prompt([one[:MAX_TEXT_CHARS] for one in group])

    def extract_by_rules(self, texts: Sequence[str]) -> list[Extraction]:
        """What ``fallback`` finds."""
        return self._fallback.extract(texts)

    def cached(self, text: str) -> Extraction | None:
        """What the model wrote of a text before, None if it has not read it."""
        reply = self._cache.get(self._client.name, _PROMPT_DIGEST, text)
        try:
            return None if reply is None else replies.parse_extraction(reply, 1)[0]
        except UnreadableReply:
            return None

    def put(self, text: str, extraction: Extraction) -> None:
        """Keep what the model wrote of a text."""
        self._cache.put(replies.format_extraction(extraction), self._client.name, _PROMPT_DIGEST, text)


class LLMExtractionRun:
    """An :class:`~ecphora.model.ports.ExtractionRun` of an ``LLMExtractor``. Not safe to share between threads."""

    def __init__(self, extractor: LLMExtractor, run: LLMRun) -> None:
        self._extractor = extractor
        self._run = run
        self._report = ExtractionReport()

    @property
    def report(self) -> ExtractionReport:
        """How the texts were read so far, each distinct one of a call of ``extract`` counted once."""
        return replace(self._report, usage=self._run.usage)

    def extract(self, texts: Sequence[str], /) -> list[Extraction]:
        """Read each text, in the order of the texts."""
        written = self._written([text for text in dict.fromkeys(texts) if _has_words(text)])
        checked = {text: check_extraction(extraction, text) for text, extraction in written.items()}
        self._report = replace(
            self._report, rejected=self._report.rejected + sum(count for _, count in checked.values())
        )
        by_rules = self._extractor.extract_by_rules(texts)
        return [
            merge_extractions(checked[text][0], found) if text in checked else found
            for text, found in zip(texts, by_rules, strict=True)
        ]

    def _written(self, texts: Sequence[str]) -> Mapping[str, Extraction]:
        """The model's extractions of texts, now or before; texts that the model did not read are missing."""
        known = {text: found for text in texts if (found := self._extractor.cached(text)) is not None}
        groups = list(self._extractor.prompts([text for text in texts if text not in known]))
        attempts = self._run.ask_all(
            [Request(prompt, partial(replies.parse_extraction, text_count=len(group))) for group, prompt in groups]
        )
        errors, fresh = dict.fromkeys(self._report.errors), dict[str, Extraction]()
        for (group, _), attempt in zip(groups, attempts, strict=True):
            if attempt.value is None:
                errors[str(attempt.error)] = None
            else:
                fresh.update(zip(group, attempt.value, strict=True))
        for text, extraction in fresh.items():
            self._extractor.put(text, extraction)
        self._report = replace(
            self._report,
            by_model=self._report.by_model + len(fresh),
            cached=self._report.cached + len(known),
            by_rules=self._report.by_rules + len(texts) - len(fresh) - len(known),
            errors=tuple(errors),
        )
        return known | fresh


def check_extraction(extraction: Extraction, text: str) -> tuple[Extraction, int]:
    """What of a model's extraction its text bears out, and how many mentions and relations were rejected.

    The words of a name stand in the text. A description with a name that the text does not have is left out.
    """
    words = WordSequence(text)
    mentions = [
        replace(mention, name=name, description=_checked_description(mention.description, words))
        for mention in extraction.mentions
        if (name := _checked_name(mention.name, words))
    ]
    relations = [
        Relation(subject, predicate, object_, relation.type)
        for relation in extraction.relations
        if (subject := _checked_name(relation.subject, words))
        and (object_ := _checked_name(relation.object, words))
        and (predicate := _cleaned(relation.predicate))
        and len(predicate) <= MAX_PREDICATE_CHARS
        and entity_id(subject) != entity_id(object_)
    ]
    found = len(extraction.mentions) + len(extraction.relations)
    checked = Extraction(tuple(mentions[:MAX_MENTIONS]), tuple(dict.fromkeys(relations[:MAX_RELATIONS])))
    return checked, found - len(mentions) - len(relations)


def merge_extractions(first: Extraction, second: Extraction) -> Extraction:
    """The mentions and relations of both; of a name that both have, what is said of it in either, the first first."""
    merged: dict[str, Mention] = {}
    for mention in (*first.mentions, *second.mentions):
        key = entity_id(mention.name)
        merged[key] = _merge_mentions(merged[key], mention) if key in merged else mention
    return Extraction(tuple(merged.values()), tuple(dict.fromkeys((*first.relations, *second.relations))))


def _merge_mentions(one: Mention, other: Mention) -> Mention:
    importances = {mention.importance for mention in (one, other)} - {DEFAULT_IMPORTANCE}
    return Mention(
        one.name,
        one.is_about or other.is_about,
        one.type or other.type,
        one.description or other.description,
        max(importances, default=DEFAULT_IMPORTANCE),
    )


def _checked_name(name: str, words: WordSequence) -> str:
    """A name as it is stored, "" if the text does not have it."""
    clean = _cleaned(name)
    is_name = len(clean) <= MAX_NAME_CHARS and entity_id(clean) != entity_id("") and words.contains(clean)
    return clean if is_name else ""


def _checked_description(description: str, words: WordSequence) -> str:
    clean = truncate(_cleaned(description), MAX_DESCRIPTION_CHARS)
    return clean if all(map(words.contains, names(clean))) else ""


def _cleaned(text: str) -> str:
    return collapse_whitespace(single_line(text, replacement="")).encode("utf-8", "ignore").decode()


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


def _sent_chars(text: str) -> int:
    return min(len(text), MAX_TEXT_CHARS)


def _at_most(value: int, limit: int | None) -> int:
    return value if limit is None else min(value, limit)
