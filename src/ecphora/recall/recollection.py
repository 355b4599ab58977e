"""The result of a recall, which can be shown, written as JSON, or quoted in a prompt; and the events of a streamed one.

The events come in this order: the candidates, the ranked hits, and the end. Tables as plain text and as HTML are made
from the JSON of a recollection; they are printable anywhere.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, ClassVar, overload

from ..errors import InvalidInput
from ..language.terms import estimate_tokens
from ..model.json_form import JsonForm, JsonObject
from ..model.reprs import show
from ..model.text_format import (
    REPLACEMENT,
    collapse_whitespace,
    count_noun,
    describe_validity,
    iso_day,
    strip_invisible,
    truncate,
)
from ..model.types import Cost, EngramHit, Evidence, ExchangeHit, Hit, HitGroup, InsightHit, NodeId, Query, Validity
from ..model.validation import check_count
from ..models import prompts
from ..models.prompts import quoting

DEFAULT_BUDGET = 2_000
"""The default number of tokens of memories that a model is shown."""
PROMPT_ROLES = ("system", "developer", "user")
"""The roles that a message with memories may have."""


@dataclass(frozen=True, slots=True, repr=False)
class Recollection(JsonObject):
    """The result of a recall, best hit first. ``evidence`` is the band of ``confidence``, a probability.

    Its length is the number of hits; an index returns a hit, a slice a tuple of hits. ``print`` and notebooks show it
    as a table. ``engrams``, ``insights`` and ``exchanges`` are what came back besides the memories; each is empty
    unless the recall was asked to include it. ``notices`` are messages for the user, such as the names in the filter
    that no memory has.
    """

    json_form: ClassVar = JsonForm(
        inline=("cost",),
        omitted=("group_source",),
        derived={
            "question": (str, lambda found: found.query.text),
            "groups": (tuple[HitGroup, ...], lambda found: found.groups),
        },
        encoders={"hits": lambda hits: [{"rank": rank, **hit.to_dict()} for rank, hit in enumerate(hits, 1)]},
    )

    query: Query
    strategy: str
    evidence: Evidence
    confidence: float
    hits: tuple[Hit, ...]
    cost: Cost
    engrams: tuple[EngramHit, ...] = ()
    insights: tuple[InsightHit, ...] = ()
    exchanges: tuple[ExchangeHit, ...] = ()
    notices: tuple[str, ...] = ()
    group_source: Callable[[], tuple[HitGroup, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def groups(self) -> tuple[HitGroup, ...]:
        """The hits by what they mention of the class that the question asks for, as in "which cities has John seen".

        In the order of their best hits. A hit that mentions several instances is in several groups, a hit that mentions
        none is in no group. Empty if the question asks for no class of the lexicon.
        """
        return self.group_source()

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...

    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __str__(self) -> str:
        return text_table(self.to_dict())

    def _repr_html_(self) -> str:
        return html_table(self.to_dict())

    def to_prompt(self, budget: int = DEFAULT_BUDGET) -> str:
        """The hits as a text for a model's prompt, of at most ``budget`` tokens (estimated), oldest first.

        Each memory has its id, time, speaker, source and validity. Memories are quoted so that none can end its
        quotation or forge another one, and the text says that they are no instructions. The best hits are chosen
        first. The text is empty if there are no hits, or if none fits; it does not depend on the evidence.
        """
        budget = check_count("budget", budget)
        frame = self._render(()) + "\n" * len(self.hits)
        tokens_left = budget - estimate_tokens(frame)
        shown = fit_to_budget(self, tokens_left) if tokens_left > 0 else ()
        return self._render(shown, render_context(self, tokens_left - shown_tokens(shown))) if shown else ""

    def to_messages(self, budget: int = DEFAULT_BUDGET, *, role: str = "system") -> list[dict[str, str]]:
        """The text of :meth:`to_prompt` as one chat message, to put before a conversation; none if it is empty.

        ``role`` is "system", "developer" or "user". Raises ``InvalidInput`` for another role.
        """
        if not isinstance(role, str) or role not in PROMPT_ROLES:
            raise InvalidInput(f"role is {show(role)}; give one of {', '.join(map(repr, PROMPT_ROLES))}")
        text = self.to_prompt(budget)
        return [{"role": role, "content": text}] if text else []

    def _render(self, hits: Iterable[Hit], context: str = "") -> str:
        shown = tuple(hits)
        nodes = [hit.node for hit in shown]
        query, validity = self.query, validity_by_id(shown)
        return prompts.memories_text(nodes, today=query.now, as_of=query.as_of, validity=validity, context=context)


def fit_to_budget(recollection: Recollection, budget: int = DEFAULT_BUDGET) -> tuple[Hit, ...]:
    """The memories that a model is shown: chosen best first within ``budget`` tokens (estimated), in order of time.

    Each memory counts with its header.
    """
    tokens_left, chosen = check_count("budget", budget), []
    for hit in recollection:
        if hit.is_exchange:
            continue
        size = shown_tokens((hit,))
        if size <= tokens_left:
            chosen.append(hit)
            tokens_left -= size
    return tuple(sorted(chosen, key=lambda hit: (hit.node.happened_at, hit.node.seq, hit.node.position)))


def shown_tokens(hits: Iterable[Hit]) -> int:
    """The tokens (estimated) of memories as a model is shown them."""
    return sum(estimate_tokens(quoting.render_memory(hit.node, hit.validity)) for hit in hits)


def render_context(recollection: Recollection, tokens_left: int) -> str:
    """What a model is shown besides the memories, as far as ``tokens_left`` (estimated) allow; empty without any.

    Insights come first, then engrams, then exchanges; those among the hits are shown here too.
    """
    of_hits = [_exchange_of(hit) for hit in recollection if hit.is_exchange]
    exchanges = {exchange.id: exchange for exchange in (*of_hits, *recollection.exchanges)}
    texts = (
        list(map(quoting.render_insight, recollection.insights)),
        list(map(quoting.render_engram, recollection.engrams)),
        list(map(quoting.render_exchange, exchanges.values())),
    )
    tokens_left -= estimate_tokens(prompts.context_text(("",), ("",), ("",)))
    shown: tuple[list[str], list[str], list[str]] = ([], [], [])
    for group, chosen in zip(texts, shown, strict=True):
        for text in group:
            size = estimate_tokens(text) + 1
            if size <= tokens_left:
                chosen.append(text)
                tokens_left -= size
    return prompts.context_text(*shown)


def _exchange_of(hit: Hit) -> ExchangeHit:
    node = hit.node
    return ExchangeHit(
        node.id, node.title or "", node.text, node.happened_at, hit.score, source=node.source, session=node.session
    )


def validity_by_id(hits: Iterable[Hit]) -> dict[NodeId, Validity]:
    """The validity of the hits that have one."""
    return {hit.id: hit.validity for hit in hits if hit.validity is not None}


TEXT_WIDTH = 72
"""Characters shown of a memory's text in a line of plain text."""
REASON_WIDTH = 160
"""Characters shown of a reason."""
SPEAKER_WIDTH = 16
"""Characters shown of a speaker's name."""
ID_WIDTH = 40
"""Characters shown of an id."""

Json = Mapping[str, Any]


def text_table(recollection: Json) -> str:
    """Return a recollection as lines: question, evidence and cost, then a line per hit with its reason below it."""
    lines = [summary(recollection), *recollection["notices"]]
    widest = max((len(_truncate_line(hit["speaker"] or "", SPEAKER_WIDTH)) for hit in recollection["hits"]), default=0)
    for hit in recollection["hits"]:
        speaker = f"  {_truncate_line(hit['speaker'] or '', SPEAKER_WIDTH).ljust(widest)}" if widest else ""
        validity = f"  [{_truncate_line(validity_text(hit), TEXT_WIDTH)}]" if validity_text(hit) else ""
        cells = f"{hit['rank']:>3}  {hit['score']:>6.2f}  {iso_day(hit['happened_at'])}{speaker}"
        lines.append(f"{cells}  {_truncate_line(hit['text'], TEXT_WIDTH)}{validity}")
        if hit["reason"]:
            lines.append(f"{' ' * len('  1  ')}{_truncate_line(hit['reason'], REASON_WIDTH)}")
    return "\n".join(lines)


def html_table(recollection: Json) -> str:
    """Return a recollection as an HTML table; every text is escaped."""
    names = ("", "score", "date", "speaker", "text", "reason", "validity")
    rows = "".join(_html_row(hit) for hit in recollection["hits"])
    caption = "<br>".join(map(escape, (summary(recollection), *recollection["notices"])))
    return (
        f"<table><caption>{caption}</caption>"
        f"<thead><tr>{''.join(f'<th>{name}</th>' for name in names)}</tr></thead><tbody>{rows}</tbody></table>"
    )


def summary(recollection: Json) -> str:
    """Return a line with the question, the evidence band, the confidence and the cost."""
    parts = [
        f"evidence {recollection['evidence']} ({recollection['confidence']:.2f})",
        count_noun(len(recollection["hits"]), "memory", "memories"),
        f"{recollection['tokens']:,} tokens",
        f"{recollection['milliseconds']:.1f} ms",
        recollection["strategy"],
    ]
    return f"{_truncate_line(recollection['question'], TEXT_WIDTH)}  {', '.join(parts)}"


def validity_text(hit: Json) -> str:
    """Return the validity of a hit at the time asked about, in words; empty where nothing bounds it."""
    found: Json = hit["validity"] or {}
    superseded_by, contradicted_by = (
        [_truncate_line(id_, ID_WIDTH) for id_ in found.get(name, ())] for name in ("superseded_by", "contradicted_by")
    )
    return describe_validity(
        is_valid=found.get("is_valid", True),
        valid_to=iso_day(found["valid_to"]) if found.get("valid_to") else None,
        superseded_by=superseded_by,
        contradicted_by=contradicted_by,
    )


def _html_row(hit: Json) -> str:
    texts = (hit["speaker"] or "", hit["text"], hit["reason"], validity_text(hit))
    shown = (strip_invisible(text, replacement=REPLACEMENT) for text in texts)
    cells = [str(hit["rank"]), f"{hit['score']:.2f}", iso_day(hit["happened_at"]), *shown]
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def _truncate_line(text: str, max_chars: int) -> str:
    """Return a text as part of a line: white space as single spaces, shortened."""
    return truncate(collapse_whitespace(strip_invisible(text, replacement=REPLACEMENT)), max_chars)
