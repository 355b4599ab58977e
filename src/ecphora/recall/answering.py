"""Answer a question from recalled memories: with a language model that is shown them, or by quoting the best one.

The model is asked only if there is evidence, is shown no more than the budget, and may cite only the memories that it
was shown.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..language.question import is_question
from ..model.json_form import JsonObject
from ..model.ports import LLM, Prompt
from ..model.text_format import iso_minute
from ..model.types import Evidence, Hit, LLMUsage, NodeId
from ..models import prompts
from ..models.llm_client import LLMClient, as_llm_client
from ..models.prompts import quoting, replies
from .recollection import DEFAULT_BUDGET, Recollection, fit_to_budget, render_context, shown_tokens, validity_by_id

NO_ANSWER = "The memory does not hold this."
"""The text of an answer if the memory does not hold one."""
PERHAPS = "Perhaps: "
"""Precedes a memory that is quoted on weak evidence."""
NO_USAGE = LLMUsage()
"""The usage of an answer without a model."""


@dataclass(frozen=True, slots=True, repr=False)
class Answer(JsonObject):
    """An answer and the memories that it cites.

    ``cited_ids`` are the memories it cites, all of them shown to the model or quoted. ``is_answered`` is False if the
    memory does not hold the answer; then ``text`` says so. ``usage`` is the model's usage, ``prompt`` the prompt that
    was sent to it, None if nothing was sent. ``is_extractive`` says that the text only quotes a memory, because there
    is no model or it failed; ``error`` is why it failed. ``exchange_id`` is the exchange in which it is recorded, None
    if it is not. ``notices`` are the notices of the recollection.
    """

    text: str
    cited_ids: tuple[NodeId, ...]
    is_answered: bool
    evidence: Evidence
    usage: LLMUsage = NO_USAGE
    prompt: Prompt | None = None
    is_extractive: bool = False
    error: str | None = None
    exchange_id: NodeId | None = None
    notices: tuple[str, ...] = ()

    @property
    def is_certain(self) -> bool:
        """Whether a model answered, or a memory is quoted on strong evidence."""
        return self.is_answered and (not self.is_extractive or self.evidence == Evidence.STRONG)

    @property
    def is_recordable(self) -> bool:
        """Whether this is a response to record: an answer of a model, not a quotation."""
        return self.is_answered and not self.is_extractive


def build_prompt(recollection: Recollection, budget: int = DEFAULT_BUDGET) -> Prompt | None:
    """The prompt for an answer; None if the model would not be asked: no evidence, or no memory fits."""
    shown = fit_to_budget(recollection, budget)
    if recollection.evidence == Evidence.NONE or not shown:
        return None
    query = recollection.query
    return prompts.answer_prompt(
        query.text,
        [hit.node for hit in shown],
        today=query.now,
        as_of=query.as_of,
        validity=validity_by_id(shown),
        context=render_context(recollection, budget - shown_tokens(shown)),
    )


def answer(recollection: Recollection, llm: LLM | LLMClient | None, *, budget: int = DEFAULT_BUDGET) -> Answer:
    """Answer a question from its recollection.

    Without evidence the model is not asked. If it fails, or there is none, the best memory is quoted and
    ``is_extractive`` is set.
    """
    prompt = build_prompt(recollection, budget)
    client = as_llm_client(llm)
    if prompt is None or client is None:
        found = extractive_answer(recollection)
    else:
        found = _generate_answer(recollection, client, prompt, fit_to_budget(recollection, budget))
    return replace(found, notices=recollection.notices)


def extractive_answer(recollection: Recollection) -> Answer:
    """An answer without a model: the text of the best memory, with its speaker and date.

    It is quoted as it is on strong evidence, after "Perhaps" on weak evidence, and not at all on none. A memory that is
    not a question is preferred. If the best memory is superseded and its successor is among the hits, the successor is
    quoted.
    """
    memories = [hit for hit in recollection if not hit.is_exchange]
    if recollection.evidence == Evidence.NONE or not memories:
        return Answer(NO_ANSWER, (), is_answered=False, evidence=recollection.evidence)
    best = next((hit for hit in memories if not is_question(hit.text)), memories[0])
    successors = () if best.validity is None else best.validity.superseded_by
    best = next((hit for hit in memories if hit.id in successors), best)
    attribution = ", ".join(filter(None, (best.node.speaker, iso_minute(best.node.happened_at))))
    end = best.node.valid_to if best.validity is None else best.validity.valid_to
    until = "" if end is None else f", held until {iso_minute(end)}"
    perhaps = "" if recollection.evidence == Evidence.STRONG else PERHAPS
    text = f"{perhaps}“{best.text}” ({attribution}{until})"
    return Answer(text, (best.id,), is_answered=True, evidence=recollection.evidence, is_extractive=True)


def resolve_citations(ids: Iterable[str], hits: Iterable[Hit]) -> tuple[NodeId, ...]:
    """The memory ids among the ids that a model cites, each once.

    A cited id must equal an id that the model was shown. Ids that it was not shown, and ids that several memories were
    shown with, are left out.
    """
    known: dict[str, set[NodeId]] = {}
    for hit in hits:
        known.setdefault(quoting.render_id(hit.id), set()).add(hit.id)
    matches = (known.get(id_) or known.get(replies.strip_id(id_), set()) for id_ in ids)
    return tuple(dict.fromkeys(next(iter(node_ids)) for node_ids in matches if len(node_ids) == 1))


def _generate_answer(recollection: Recollection, llm_client: LLMClient, prompt: Prompt, hits: Sequence[Hit]) -> Answer:
    attempt = llm_client.attempt(prompt, replies.parse_answer)
    parsed, usage = attempt.value, attempt.usage
    if parsed is None:
        quote = extractive_answer(recollection)
        return Answer(
            quote.text,
            quote.cited_ids,
            quote.is_answered,
            recollection.evidence,
            usage,
            prompt,
            is_extractive=True,
            error=attempt.error,
        )
    if not parsed.is_answered:
        return Answer(NO_ANSWER, (), is_answered=False, evidence=recollection.evidence, usage=usage, prompt=prompt)
    ids = resolve_citations(parsed.ids, hits)
    return Answer(parsed.answer, ids, is_answered=True, evidence=recollection.evidence, usage=usage, prompt=prompt)
