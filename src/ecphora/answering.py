"""An answer from what came back: by a language model that is shown the memories, or by quoting the best one.

The model is asked only where there is evidence, is shown no more than the budget, and may cite only what it was shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import prompts
from .language.question import is_question
from .language.token_count import estimate_tokens
from .llm_client import LLMClient, LLMUsage, as_llm_client
from .model import Evidence, Hit, Node, NodeId, Recollection, Validity
from .ports import LLM, Prompt
from .prompts import quoting, replies
from .reprs import ShortRepr
from .validate import check_count

DEFAULT_BUDGET = 2_000
"""Tokens of memories that a model is shown, where nothing else is said."""
NO_ANSWER = "The memory does not hold this."
"""The answer where there is none."""
NO_USAGE = LLMUsage()
"""What an answer takes for which no model is asked."""


@dataclass(frozen=True, slots=True, repr=False)
class Answer(ShortRepr):
    """An answer and what it rests on.

    ``cited_ids`` are the memories it cites, all of them shown to the model or quoted. ``is_answered`` is False where
    the memory does not hold the answer; then ``text`` says so. ``usage`` is what the model took, ``prompt`` what it was
    sent, None where nothing was. ``is_extractive`` says that the text only quotes a memory, because there is no model
    or it failed; ``error`` is why it failed.
    """

    text: str
    cited_ids: tuple[NodeId, ...]
    is_answered: bool
    evidence: Evidence
    usage: LLMUsage = NO_USAGE
    prompt: Prompt | None = None
    is_extractive: bool = False
    error: str | None = None


def fit_to_budget(recollection: Recollection, budget: int = DEFAULT_BUDGET) -> tuple[Hit, ...]:
    """The hits that a model is shown: best first as many as fit into so many tokens (estimated), in order of time.

    What is counted is each memory with its head.
    """
    left, chosen = check_count("budget", budget), []
    for hit in recollection:
        size = estimate_tokens(quoting.render_memory(hit.node, hit.validity))
        if size <= left:
            chosen.append(hit)
            left -= size
    return tuple(sorted(chosen, key=lambda hit: (hit.node.happened_at, hit.node.seq, hit.node.position)))


def build_prompt(recollection: Recollection, budget: int = DEFAULT_BUDGET) -> Prompt | None:
    """What a model would be sent for an answer; None where it would not be asked: no evidence, or nothing fits."""
    shown = fit_to_budget(recollection, budget)
    if recollection.evidence == Evidence.NONE or not shown:
        return None
    cue = recollection.query
    return prompts.answer_prompt(
        cue.text, _nodes(shown), today=cue.now, as_of=cue.as_of, validity=_validity_by_id(shown)
    )


def answer(recollection: Recollection, llm: LLM | LLMClient | None, *, budget: int = DEFAULT_BUDGET) -> Answer:
    """Answer a question from what came back for it.

    Without evidence the model is not asked. Where it fails, or there is none, the best memory is quoted and the answer
    is ``is_extractive``.
    """
    prompt = build_prompt(recollection, budget)
    guest = as_llm_client(llm)
    if prompt is None or guest is None:
        return extractive_answer(recollection)
    return _generate_answer(recollection, guest, prompt, fit_to_budget(recollection, budget))


def reply(
    recollection: Recollection,
    llm: LLM | LLMClient | None,
    *,
    turns: Sequence[tuple[str, str]] = (),
    budget: int = DEFAULT_BUDGET,
) -> Answer:
    """Reply in a conversation to what the cue says; ``turns`` are the last ones as pairs of speaker and text.

    Unlike a question, what is said in a conversation is replied to even where nothing is remembered of it.
    """
    guest = as_llm_client(llm)
    if guest is None:
        return extractive_answer(recollection)
    shown = fit_to_budget(recollection, budget)
    said, today = recollection.query.text, recollection.query.now
    prompt = prompts.chat_prompt(said, turns, _nodes(shown), today=today, validity=_validity_by_id(shown))
    return _generate_answer(recollection, guest, prompt, shown, is_chat=True)


def extractive_answer(recollection: Recollection) -> Answer:
    """An answer without a model: the best memory as it stands, with who said it when.

    One that only asks comes last; of one that holds no longer, what replaced it is quoted, if that came back too.
    """
    if recollection.evidence == Evidence.NONE or not recollection.hits:
        return Answer(NO_ANSWER, (), is_answered=False, evidence=recollection.evidence)
    best = next((hit for hit in recollection if not is_question(hit.text)), recollection[0])
    instead = () if best.validity is None else best.validity.superseded_by
    best = next((hit for hit in recollection if hit.id in instead), best)
    said = ", ".join(filter(None, (best.node.speaker, quoting.format_date(best.node.happened_at))))
    end = best.node.valid_to if best.validity is None else best.validity.valid_to
    until = "" if end is None else f", held until {quoting.format_date(end)}"
    text = f"“{best.text}” ({said}{until})"
    return Answer(text, (best.id,), is_answered=True, evidence=recollection.evidence, is_extractive=True)


def resolve_citations(ids: Iterable[str], hits: Iterable[Hit]) -> tuple[NodeId, ...]:
    """The ids of memories among those that a model gives, each once.

    An id is known where it is letter by letter one that the model was shown. Left out is what it was not shown, and
    what several memories were shown with.
    """
    known: dict[str, set[NodeId]] = {}
    for hit in hits:
        known.setdefault(quoting.render_id(hit.id), set()).add(hit.id)
    found = (known.get(id_) or known.get(replies.strip_id(id_), set()) for id_ in ids)
    return tuple(dict.fromkeys(next(iter(meant)) for meant in found if len(meant) == 1))


def _generate_answer(
    recollection: Recollection, llm_client: LLMClient, prompt: Prompt, hits: Sequence[Hit], *, is_chat: bool = False
) -> Answer:
    attempt = llm_client.attempt(prompt, replies.parse_answer)
    said, spent = attempt.value, attempt.usage
    if said is None:
        quote = extractive_answer(recollection)
        return Answer(
            quote.text,
            quote.cited_ids,
            quote.is_answered,
            recollection.evidence,
            spent,
            prompt,
            is_extractive=True,
            error=attempt.error,
        )
    if not said.is_answered:
        text = (said.answer if is_chat else "") or NO_ANSWER
        return Answer(text, (), is_answered=False, evidence=recollection.evidence, usage=spent, prompt=prompt)
    ids = resolve_citations(said.ids, hits)
    return Answer(said.answer, ids, is_answered=True, evidence=recollection.evidence, usage=spent, prompt=prompt)


def _nodes(hits: Iterable[Hit]) -> list[Node]:
    return [hit.node for hit in hits]


def _validity_by_id(hits: Iterable[Hit]) -> dict[NodeId, Validity]:
    return {hit.id: hit.validity for hit in hits if hit.validity is not None}
