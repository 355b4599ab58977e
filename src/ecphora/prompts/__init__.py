"""What a language model is asked, one text file a prompt, with the shape of its reply beside it.

Here the files are loaded and filled in. How memories are quoted is in :mod:`.render`, how replies are read in
:mod:`.replies`. Nothing is read from the disk after the import.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

from ..model import Node, NodeId, Standing
from ..patterns import lazy_pattern
from ..ports import Prompt
from . import render

PARTED = "\n====\n"
"""What stands in a file between what the model is to do and what it is given."""
_SLOT = lazy_pattern(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class Form:
    """A prompt with slots, the JSON schema of its reply, and the tokens that a reply may take."""

    system: str
    user: str
    schema: Mapping[str, Any]
    limit: int

    def filled(self, **values: str) -> Prompt:
        """The prompt with every slot filled in; what is filled in is not searched for slots."""
        return Prompt(self.system, _SLOT.sub(lambda slot: values[slot[1]], self.user), self.schema, self.limit)


def _loaded(name: str, limit: int) -> Form:
    folder = files(__name__)
    system, _, user = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8").partition(PARTED)
    return Form(system, user.rstrip("\n"), json.loads(folder.joinpath(f"{name}.json").read_text("utf-8")), limit)


ANSWER = _loaded("answer", 400)
TALK = _loaded("talk", 400)
CLAIMS = _loaded("claims", 1_200)
INSIGHT = _loaded("insight", 300)
MERGE = _loaded("merge", 150)


def answer(
    question: str,
    memories: Iterable[Node],
    *,
    today: datetime,
    as_of: datetime | None = None,
    standing: Mapping[NodeId, Standing] | None = None,
) -> Prompt:
    """A question and the memories to answer it from, in the order given; ``standing`` says which of them still hold."""
    return ANSWER.filled(
        memories=render.memories(memories, standing or {}),
        today=render.day(today),
        as_of="" if as_of is None else f" Answer as things stood on {render.day(as_of)}.",
        question=render.escaped(question),
    )


def talk(
    said: str,
    turns: Sequence[tuple[str, str]],
    memories: Iterable[Node],
    *,
    today: datetime,
    standing: Mapping[NodeId, Standing] | None = None,
) -> Prompt:
    """What a person says, the turns before it as pairs of speaker and text, and what is remembered."""
    return TALK.filled(
        memories=render.memories(memories, standing or {}),
        turns=render.turns(turns),
        today=render.day(today),
        question=render.escaped(said),
    )


def claims(statements: Sequence[Node]) -> Prompt:
    """Statements to take facts out of, numbered from 1 in the order given."""
    return CLAIMS.filled(statements=render.statements(statements))


def insight(memories: Iterable[Node], standing: Mapping[NodeId, Standing] | None = None) -> Prompt:
    """Memories to be told together."""
    return INSIGHT.filled(memories=render.memories(memories, standing or {}))


def merge(first: str, second: str, places: Mapping[str, Sequence[str]]) -> Prompt:
    """Two names that may stand for one thing, and texts in which each was used."""
    return MERGE.filled(names=render.names({name: places.get(name, ()) for name in (first, second)}))
