"""Prompt templates: one text file per prompt, with the JSON schema of its reply next to it.

This module loads the files and fills them in. :mod:`.quoting` quotes memories, :mod:`.replies` parses replies. Nothing
is read from the disk after the import.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from importlib.resources import files
from typing import Any

from ...model.lazy import lazy_pattern
from ...model.ports import Passage, Prompt
from ...model.text_format import describe_now, iso_minute
from ...model.types import Node, NodeId, Validity
from . import quoting

SECTION_SEPARATOR = "\n====\n"
"""Separates the system part from the user part in a prompt file."""
_SLOT = lazy_pattern(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with slots, the JSON schema of its reply, and the limit of the reply in tokens."""

    system: str
    user: str
    schema: Mapping[str, Any]
    max_tokens: int

    def fill(self, **values: str) -> Prompt:
        """Return the prompt with every slot filled in; slots inside the values are not filled in."""
        return Prompt(self.system, _fill(self.user, values), self.schema, self.max_tokens)


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: values[slot[1]], text)


def _load_template(name: str, max_tokens: int) -> PromptTemplate:
    folder = files(__name__)
    system, _, user = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8").partition(SECTION_SEPARATOR)
    return PromptTemplate(
        system, user.rstrip("\n"), json.loads(folder.joinpath(f"{name}.json").read_text("utf-8")), max_tokens
    )


ANSWER = _load_template("answer", 400)
CLAIMS = _load_template("claims", 1_200)
EXTRACTION = _load_template("extraction", 250)
"""Its limit of the reply is for one text."""
GRADES = _load_template("grades", 200)
INSIGHT = _load_template("insight", 300)
CONTEXT = files(__name__).joinpath("context.txt").read_text(encoding="utf-8").rstrip("\n")
MEMORIES = files(__name__).joinpath("memories.txt").read_text(encoding="utf-8").rstrip("\n")


def answer_prompt(
    question: str,
    memories: Iterable[Node],
    *,
    today: datetime,
    as_of: datetime | None = None,
    validity: Mapping[NodeId, Validity] | None = None,
    context: str = "",
) -> Prompt:
    """Ask to answer a question from memories, in the order given; ``validity`` says which are still valid.

    ``context`` is the text of :func:`context_text`, here and below.
    """
    return ANSWER.fill(
        memories=quoting.render_memories(memories, validity or {}),
        today=describe_now(today),
        as_of="" if as_of is None else f" Answer as things stood on {iso_minute(as_of)}.",
        question=quoting.escape(question),
        context=context,
    )


def claims_prompt(statements: Sequence[Node]) -> Prompt:
    """Ask to extract facts from statements, numbered from 1 in the order given."""
    return CLAIMS.fill(statements=quoting.render_statements(statements))


def extraction_prompt(texts: Sequence[str]) -> Prompt:
    """Ask for the mentions and relations of texts, numbered from 1 in the order given."""
    prompt = EXTRACTION.fill(texts=quoting.render_texts(texts))
    return replace(prompt, max_tokens=EXTRACTION.max_tokens * max(1, len(texts)))


def grades_prompt(question: str, passages: Sequence[Passage], *, today: date) -> Prompt:
    """Ask to grade, from 0 to 3, whether each passage answers a question."""
    return GRADES.fill(
        passages=quoting.render_passages(passages),
        today=today.isoformat(),
        count=str(len(passages)),
        question=quoting.escape(question),
    )


def memories_text(
    memories: Iterable[Node],
    *,
    today: datetime,
    as_of: datetime | None = None,
    validity: Mapping[NodeId, Validity] | None = None,
    context: str = "",
) -> str:
    """Memories, in the order given, for the prompt of a model that gets its task elsewhere."""
    values = {
        "memories": quoting.render_memories(memories, validity or {}),
        "today": describe_now(today),
        "as_of": "" if as_of is None else f" The memories are those as of {iso_minute(as_of)}.",
        "context": context,
    }
    return _fill(MEMORIES, values)


def context_text(insights: Sequence[str], engrams: Sequence[str], exchanges: Sequence[str]) -> str:
    """What a prompt holds besides the memories: rendered insights, engrams and exchanges; empty without any."""
    groups = {"insights": insights, "names": engrams, "exchanges": exchanges}
    blocks = ["\n".join([f"<{tag}>", *items, f"</{tag}>"]) for tag, items in groups.items() if items]
    return "\n\n" + "\n".join([CONTEXT, *blocks]) if blocks else ""


def insight_prompt(memories: Iterable[Node], validity: Mapping[NodeId, Validity] | None = None) -> Prompt:
    """Ask to summarize memories in an insight."""
    return INSIGHT.fill(memories=quoting.render_memories(memories, validity or {}))
