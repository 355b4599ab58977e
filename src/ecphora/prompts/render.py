"""How memories are quoted in a prompt: as data, between tags that no memory can close or forge.

A text in a prompt keeps its words, without control characters and letters that nobody sees
(:mod:`ecphora.visible`); what could end its quotation or pass for a mark of the model's own is written as a
character reference: every ``<`` (tags, and marks such as ``<|im_end|>`` or ``</s>``), and the bracket of ``[INST]`` and
its like.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ..model import Node, NodeId, Standing
from ..patterns import lazy_pattern
from ..visible import spelled_out, visible

HEAD = 120
"""Characters of a name, source or id that are shown in a memory's head; ids are never cut."""
_MARK = lazy_pattern(r"\[(?=/?[A-Z_]{3,}\])")


def escaped(text: str) -> str:
    """A text that holds neither a tag nor a mark, nor what is not seen."""
    return _MARK.sub("&#91;", visible(text).replace("<", "&lt;"))


def plain(text: str) -> str:
    """The marks undone, for what a model quotes of a prompt."""
    return text.replace("&lt;", "<").replace("&#91;", "[")


def memories(nodes: Iterable[Node], standing: Mapping[NodeId, Standing]) -> str:
    """Memories in the order given, each with its id, time, speaker, source, and how it stands."""
    return "\n".join(memory(node, standing.get(node.id)) for node in nodes) or "(none)"


def memory(node: Node, standing: Standing | None = None) -> str:
    """One memory between its tags."""
    held = []
    if node.valid_from is not None and node.valid_from != node.happened_at:
        held.append(f"from {day(node.valid_from)}")
    until = node.valid_to if standing is None or standing.until is None else standing.until
    if until is not None:
        held.append(f"until {day(until)}")
    if standing is not None and standing.replaced_by:
        held.append(f"replaced by {' and '.join(map(shown_id, standing.replaced_by))}")
    against = () if standing is None else standing.contradicted_by
    head = {
        "id": shown_id(node.id),
        "date": day(node.happened_at),
        "speaker": _cut(node.speaker),
        "source": _cut(node.source),
        "about": _cut(node.title),
        "heading": _cut(node.heading),
        "held": ", ".join(held),
        "contradicted-by": " and ".join(map(shown_id, against)),
    }
    return f"<memory{_attributes(head)}>\n{escaped(node.text)}\n</memory>"


def statements(nodes: Sequence[Node]) -> str:
    """Statements numbered from 1, each with who said it when."""
    heads = (
        {"number": str(number), "speaker": _cut(node.speaker), "date": day(node.happened_at)}
        for number, node in enumerate(nodes, 1)
    )
    return "\n".join(
        f"<statement{_attributes(head)}>\n{escaped(node.text)}\n</statement>"
        for head, node in zip(heads, nodes, strict=True)
    )


def turns(said: Sequence[tuple[str, str]]) -> str:
    """Turns of a conversation, each with its speaker."""
    return "\n".join(f"<turn{_attributes({'speaker': _cut(who)})}>\n{escaped(text)}\n</turn>" for who, text in said)


def names(places: Mapping[str, Sequence[str]]) -> str:
    """Names, each with texts in which it was used."""
    return "\n".join(
        f"<name{_attributes({'is': _cut(name)})}>\n"
        + "\n".join(f"<place>\n{escaped(text)}\n</place>" for text in texts)
        + "\n</name>"
        for name, texts in places.items()
    )


def shown_id(id_: NodeId) -> str:
    """An id as it stands in a memory's head: on one line, without what could end it, and what is not seen spelled out.

    So two ids that look the same are not written the same.
    """
    return _one_line(spelled_out(id_))


def day(time: datetime) -> str:
    """A time as a day, with the hour and minute where it has any: 2026-05-03 14:30."""
    clock = "" if (time.hour, time.minute) == (0, 0) else f" {time:%H:%M}"
    return f"{time.year:04}-{time:%m-%d}{clock}"


def _attributes(head: Mapping[str, str]) -> str:
    return "".join(f' {name}="{value}"' for name, value in head.items() if value)


def _cut(text: str | None) -> str:
    return _one_line(text or "")[:HEAD]


def _one_line(text: str) -> str:
    return escaped(" ".join(visible(text).split())).replace('"', "&quot;").replace(">", "&gt;")
