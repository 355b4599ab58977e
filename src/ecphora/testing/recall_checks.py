"""Checks for tests of a memory: what a question must bring back, and what must not come back."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypedDict, Unpack

from ..errors import InvalidInput
from ..memory import Memory
from ..model.ports import Strategy
from ..model.reprs import show
from ..model.text_format import collapse_whitespace, iso_minute, single_line, truncate
from ..model.types import DEFAULT_RECALL_OPTIONS, Evidence, Filter, Hit, NodeId, RecallOptions, Rerank, When
from ..model.validation import check_count
from ..recall.recollection import Recollection

Expected = str | Callable[[Hit], bool]
"""What stands for a memory: its id, a part of its text, or a function that says whether a hit is the one."""

SHOWN_HITS = 10
"""The most hits that a failure shows."""
SHOWN_MISSES = 3
"""The most memories that a failure explains the absence of."""
DEEPEST_RANK = 10_000
"""How deep a failure looks for a memory that a function stands for."""
PAGE_SIZE = 500
_BANDS = (Evidence.NONE, Evidence.WEAK, Evidence.STRONG)


class RecallArguments(TypedDict, total=False):
    """The keywords of :meth:`ecphora.Memory.recall` that a check passes on."""

    budget: int | None
    where: Filter
    as_of: When | None
    known_at: When | None
    strategy: str | Strategy | None
    rerank: str | Rerank
    goal: str | None
    options: RecallOptions


def must_recall(
    memory: Memory,
    question: str,
    expected: Expected,
    *,
    within: int = 3,
    evidence: str | Evidence | None = None,
    **arguments: Unpack[RecallArguments],
) -> Recollection:
    """Check that a memory is among the first ``within`` hits of a question, and return the recollection.

    ``expected`` is an id, a part of the text (in any case, white space counts as one space), or a function that says
    whether a hit is the one. A text that is the id of a memory stands for this memory. ``evidence`` is the least that
    the recollection must have. The other keywords are the keywords of :meth:`ecphora.Memory.recall`; nothing is logged.

    Raises ``AssertionError``, which shows what came back and says why the memory did not.
    """
    __tracebackhide__ = True
    least, matches = _check_evidence(evidence), _matcher(memory, expected)
    found = recall(memory, question, check_count("within", within), arguments)
    is_missing = not any(matches(hit) for hit in found)
    is_unsure = least is not None and _BANDS.index(found.evidence) < _BANDS.index(least)
    if not is_missing and not is_unsure:
        return found
    problems = [f"does not bring back {_name(expected)} within {within}"] if is_missing else []
    problems += [f"has {_describe_band(found.evidence)}, expected {least} at least"] if is_unsure and least else []
    lines = [f"{question!r} {' and '.join(problems)}"]
    deeper = recall(memory, question, max(within, SHOWN_HITS), arguments)
    lines += _describe(deeper, matches)
    if is_missing:
        lines += _explain_absence(memory, question, expected, within, arguments)
    raise AssertionError("\n".join(lines))


def must_not_recall(
    memory: Memory,
    question: str,
    unwanted: Expected | None = None,
    *,
    within: int = 10,
    evidence: str | Evidence | None = None,
    **arguments: Unpack[RecallArguments],
) -> Recollection:
    """Check that a memory is not among the first ``within`` hits of a question, and return the recollection.

    ``unwanted`` stands for a memory as in :func:`must_recall`. ``evidence`` is the most that the recollection may have:
    with ``evidence="none"`` and no ``unwanted``, the memory must not be able to answer the question.

    Raises ``AssertionError``, which shows what came back.
    """
    __tracebackhide__ = True
    if unwanted is None and evidence is None:
        raise InvalidInput("say what must not come back, or which evidence is allowed at most: evidence='none'")
    most = _check_evidence(evidence)
    matches = _matcher(memory, unwanted) if unwanted is not None else _match_nothing
    found = recall(memory, question, check_count("within", within), arguments)
    ranks = [rank for rank, hit in enumerate(found, 1) if matches(hit)]
    problems = [f"brings back {_name(unwanted)} at rank {ranks[0]}"] if ranks and unwanted is not None else []
    if most is not None and _BANDS.index(found.evidence) > _BANDS.index(most):
        problems.append(f"has {_describe_band(found.evidence)}, expected {most} at most")
    if problems:
        raise AssertionError("\n".join([f"{question!r} {' and '.join(problems)}", *_describe(found, matches)]))
    return found


def recall(memory: Memory, question: str, limit: int, arguments: RecallArguments) -> Recollection:
    """Recall as a check does: nothing is logged."""
    unlogged = replace(arguments.get("options", DEFAULT_RECALL_OPTIONS), log_access=False)
    given: RecallArguments = {**arguments, "options": unlogged}
    return memory.recall(question, limit=limit, **given)


def describe_hit(hit: Hit) -> str:
    """A hit on one line: its speaker, time and text, shortened."""
    head = ", ".join(part for part in (hit.node.speaker, iso_minute(hit.node.happened_at)) if part)
    return single_line(truncate(f"{head}: {collapse_whitespace(hit.text)}", 100))


def _check_evidence(value: object) -> Evidence | None:
    try:
        return None if value is None else Evidence(value)  # type: ignore[arg-type]  # raises for other values
    except ValueError:
        raise InvalidInput(f"evidence is {show(value)}; give 'strong', 'weak' or 'none'") from None


def _match_nothing(_hit: Hit) -> bool:
    return False


def _matcher(memory: Memory, expected: Expected) -> Callable[[Hit], bool]:
    if callable(expected) and not isinstance(expected, type):
        return lambda hit: bool(expected(hit))
    if not isinstance(expected, str) or not expected.strip():
        raise InvalidInput(f"expected is {show(expected)}; give an id, a part of a text, or a function of a hit")
    if memory.get(expected) is not None:
        return lambda hit: expected in {hit.id, hit.node.document}
    return lambda hit: _has_text(hit.text, expected)


def _has_text(text: str, part: str) -> bool:
    return collapse_whitespace(part).casefold() in collapse_whitespace(text).casefold()


def _describe_band(evidence: Evidence) -> str:
    return "no evidence" if evidence is Evidence.NONE else f"{evidence} evidence"


def _name(expected: Expected | None) -> str:
    if isinstance(expected, str):
        return repr(expected)
    return f"a hit for which {getattr(expected, '__name__', 'the function')} is true"


def _describe(found: Recollection, matches: Callable[[Hit], bool]) -> Iterator[str]:
    """The hits as a table; the hits that match are marked."""
    yield f"what came back ({_describe_band(found.evidence)}, confidence {found.confidence:.2f}):"
    for rank, hit in enumerate(found, 1):
        mark = ">" if matches(hit) else " "
        yield f"{mark} {rank:>3} {hit.score:>8.3f}  {single_line(truncate(hit.id, 34)):<34}  {describe_hit(hit)}"
    if not found:
        yield "  nothing"


def _explain_absence(
    memory: Memory, question: str, expected: Expected, within: int, arguments: RecallArguments
) -> Iterator[str]:
    """Why the memories that are expected are not among the hits; there may be several, or none."""
    ids = list(_ids_of(memory, question, expected, arguments))
    if not ids and isinstance(expected, str):
        yield f"scope {memory.scope!r} holds no memory with this id or text, among {len(memory):,}"
    elif not ids:
        yield "no memory that the question leads to is one for which it is true"
    for id_ in ids[:SHOWN_MISSES]:
        node = memory.get(id_)
        text = "" if node is None else f" ({single_line(truncate(collapse_whitespace(node.text), 60))!r})"
        yield f"why not {single_line(id_)}{text}: {memory.why_not(question, id_, limit=within, **arguments)}"
    if len(ids) > SHOWN_MISSES:
        yield f"{len(ids) - SHOWN_MISSES:,} more memories match"


def _ids_of(memory: Memory, question: str, expected: Expected, arguments: RecallArguments) -> Iterator[NodeId]:
    """The ids of the memories that are expected."""
    if not isinstance(expected, str):
        matches = _matcher(memory, expected)
        yield from (hit.id for hit in recall(memory, question, DEEPEST_RANK, arguments) if matches(hit))
    elif memory.get(expected) is not None:
        yield expected
    else:
        page = memory.find(limit=PAGE_SIZE)
        while True:
            yield from (node.id for node in page if _has_text(node.text, expected))
            if page.cursor is None:
                return
            page = memory.find(limit=PAGE_SIZE, after=page.cursor)
