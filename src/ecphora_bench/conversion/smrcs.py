"""SMRCs, the dialogues of SynapticRAG's authors (papers.md 1.9): a file of ``{past, present, recalls}``.

``past`` and ``present`` are lists of turns, objects from the role to the text. ``recalls`` are ``{trigger,
related_memories}``, texts of turns. A trigger is a turn itself: when it is said, the related memories are to be
recalled. So every trigger is a space of its own, which holds the turns before it, and the trigger is the question.
"""

from pathlib import Path

from ecphora.errors import InvalidRecord

from .dataset_files import Conversion, Task, Turn, field_at, list_at, object_at, read_json, text_at

NAMES = ("past", "present")
"""The two sessions of a dialogue."""


def convert_smrcs(path: Path) -> Conversion:
    """The recall tasks of a file; raises ``InvalidRecord``.

    As in the authors' code, a related memory is every turn with exactly its text. One that is no turn, or that is said
    only after its trigger, is dropped and counted, as is a trigger without related memories.
    """
    conversion = Conversion()
    for number, dialogue in enumerate(list_at(read_json(path), f"{path}")):
        where = f"{path}, dialogue {number + 1}"
        said = [turn for session in NAMES for turn in _read_turns(dialogue, session, where)]
        turns = [Turn(f"{number}_{place}", text, session) for place, (text, session) in enumerate(said)]
        related: dict[str, list[str]] = {}
        for recall in list_at(field_at(dialogue, "recalls", where), f"{where}, 'recalls'"):
            memories = list_at(field_at(recall, "related_memories", where), f"{where}, 'related_memories'")
            trigger = text_at(field_at(recall, "trigger", where), f"{where}, 'trigger'")
            related[trigger] = [text_at(memory, f"{where}, 'related_memories'") for memory in memories]
        for _ in related.keys() - {turn.text for turn in turns}:
            conversion.drop("trigger that is no turn")
        for place, turn in enumerate(turns):
            if turn.text in related:
                _add_task(conversion, turns[:place], turn, related[turn.text])
    return conversion


def _read_turns(dialogue: object, session: str, where: str) -> list[tuple[str, str]]:
    turns: list[tuple[str, str]] = []
    for turn in list_at(field_at(dialogue, session, where), f"{where}, {session!r}"):
        fields = object_at(turn, f"{where}, a turn of {session!r}")
        if len(fields) != 1:
            raise InvalidRecord(f"{where}: a turn of {session!r} must have one role, not {len(fields)}")
        turns += [(text_at(text, f"{where}, a turn of {session!r}"), session) for text in fields.values()]
    return turns


def _add_task(conversion: Conversion, before: list[Turn], trigger: Turn, memories: list[str]) -> None:
    gold: dict[str, None] = {}
    for memory in memories:
        ids = [turn.id for turn in before if turn.text == memory]
        if not ids:
            conversion.drop("related memory that is no earlier turn")
        gold |= dict.fromkeys(ids)
    if not gold:
        conversion.drop("trigger without related memories")
        return
    conversion.tasks.append(Task(trigger.id, trigger.text, tuple(before), tuple(gold), trigger.session))
