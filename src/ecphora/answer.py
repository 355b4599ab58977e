"""An answer from what came back: by a language model that is shown the memories, or by quoting the best one.

The model is asked only where there is evidence, is shown no more than the budget, and may cite only what it was shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import prompts
from .guest import Guest, Spent, as_guest
from .language.statements import asks
from .language.tokens import tokens
from .model import Evidence, Hit, Node, NodeId, Recollection, Standing
from .ports import LLM, Prompt
from .prompts import render, replies
from .reprs import ShortRepr
from .validate import check_count

BUDGET = 2_000
"""Tokens of memories that a model is shown, where nothing else is said."""
NOT_HELD = "The memory does not hold this."
"""The answer where there is none."""
NOTHING = Spent()
"""What an answer takes for which no model is asked."""


@dataclass(frozen=True, slots=True, repr=False)
class Answer(ShortRepr):
    """An answer and what it rests on.

    ``ids`` are the memories it cites, all of them shown to the model or quoted. ``held`` is False where the memory does
    not hold the answer; then ``text`` says so. ``spent`` is what the model took, ``prompt`` what it was sent, None
    where nothing was. ``degraded`` says that the text only quotes a memory, because there is no model or it failed;
    ``trouble`` is why it failed.
    """

    text: str
    ids: tuple[NodeId, ...]
    held: bool
    evidence: Evidence
    spent: Spent = NOTHING
    prompt: Prompt | None = None
    degraded: bool = False
    trouble: str | None = None


def packed(found: Recollection, budget: int = BUDGET) -> tuple[Hit, ...]:
    """The hits that a model is shown: best first as many as fit into so many tokens (estimated), in order of time.

    What is counted is each memory with its head.
    """
    left, chosen = check_count("budget", budget), []
    for hit in found:
        size = tokens(render.memory(hit.node, hit.standing))
        if size <= left:
            chosen.append(hit)
            left -= size
    return tuple(sorted(chosen, key=lambda hit: (hit.node.happened_at, hit.node.seq, hit.node.position)))


def asked(found: Recollection, budget: int = BUDGET) -> Prompt | None:
    """What a model would be sent for an answer; None where it would not be asked: no evidence, or nothing fits."""
    shown = packed(found, budget)
    if found.evidence == Evidence.NONE or not shown:
        return None
    cue = found.cue
    return prompts.answer(cue.text, _nodes(shown), today=cue.now, as_of=cue.as_of, standing=_standing(shown))


def answer(found: Recollection, llm: LLM | Guest | None, *, budget: int = BUDGET) -> Answer:
    """Answer a question from what came back for it.

    Without evidence the model is not asked. Where it fails, or there is none, the best memory is quoted and the answer
    is ``degraded``.
    """
    prompt = asked(found, budget)
    guest = as_guest(llm)
    if prompt is None or guest is None:
        return quoting(found)
    return _of_model(found, guest, prompt, packed(found, budget))


def reply(
    found: Recollection,
    llm: LLM | Guest | None,
    *,
    turns: Sequence[tuple[str, str]] = (),
    budget: int = BUDGET,
) -> Answer:
    """Reply in a conversation to what the cue says; ``turns`` are the last ones as pairs of speaker and text.

    Unlike a question, what is said in a conversation is replied to even where nothing is remembered of it.
    """
    guest = as_guest(llm)
    if guest is None:
        return quoting(found)
    shown = packed(found, budget)
    said, today = found.cue.text, found.cue.now
    prompt = prompts.talk(said, turns, _nodes(shown), today=today, standing=_standing(shown))
    return _of_model(found, guest, prompt, shown, talking=True)


def quoting(found: Recollection) -> Answer:
    """An answer without a model: the best memory as it stands, with who said it when.

    One that only asks comes last; of one that holds no longer, what replaced it is quoted, if that came back too.
    """
    if found.evidence == Evidence.NONE or not found.hits:
        return Answer(NOT_HELD, (), held=False, evidence=found.evidence)
    best = next((hit for hit in found if not asks(hit.text)), found[0])
    instead = () if best.standing is None else best.standing.replaced_by
    best = next((hit for hit in found if hit.id in instead), best)
    said = ", ".join(filter(None, (best.node.speaker, render.day(best.node.happened_at))))
    end = best.node.valid_to if best.standing is None else best.standing.until
    until = "" if end is None else f", held until {render.day(end)}"
    text = f"“{best.text}” ({said}{until})"
    return Answer(text, (best.id,), held=True, evidence=found.evidence, degraded=True)


def cited(ids: Iterable[str], shown: Iterable[Hit]) -> tuple[NodeId, ...]:
    """The ids of memories among those that a model gives, each once.

    An id is known where it is letter by letter one that the model was shown. Left out is what it was not shown, and
    what several memories were shown with.
    """
    known: dict[str, set[NodeId]] = {}
    for hit in shown:
        known.setdefault(render.shown_id(hit.id), set()).add(hit.id)
    found = (known.get(id_) or known.get(replies.bare(id_), set()) for id_ in ids)
    return tuple(dict.fromkeys(next(iter(meant)) for meant in found if len(meant) == 1))


def _of_model(
    found: Recollection, guest: Guest, prompt: Prompt, shown: Sequence[Hit], *, talking: bool = False
) -> Answer:
    attempt = guest.attempt(prompt, replies.answered)
    said, spent = attempt.value, attempt.spent
    if said is None:
        quote = quoting(found)
        return Answer(
            quote.text, quote.ids, quote.held, found.evidence, spent, prompt, degraded=True, trouble=attempt.trouble
        )
    if not said.held:
        text = (said.answer if talking else "") or NOT_HELD
        return Answer(text, (), held=False, evidence=found.evidence, spent=spent, prompt=prompt)
    ids = cited(said.ids, shown)
    return Answer(said.answer, ids, held=True, evidence=found.evidence, spent=spent, prompt=prompt)


def _nodes(shown: Iterable[Hit]) -> list[Node]:
    return [hit.node for hit in shown]


def _standing(shown: Iterable[Hit]) -> dict[NodeId, Standing]:
    return {hit.id: hit.standing for hit in shown if hit.standing is not None}
