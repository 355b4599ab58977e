"""Quotes memories in a prompt as data, between tags that no memory can close or forge.

A quoted text keeps its words, without control characters and invisible characters (:mod:`ecphora.model.text_format`).
What could end the quotation or pass for a model's control mark is written as a character reference: every ``<`` (tags,
and marks such as ``<|im_end|>`` or ``</s>``), and the bracket of ``[INST]`` and similar marks.
"""

from collections.abc import Iterable, Mapping, Sequence

from ...model.lazy import lazy_pattern
from ...model.ports import Passage
from ...model.text_format import collapse_whitespace, escape_invisible, iso_minute, strip_invisible
from ...model.types import EngramHit, ExchangeHit, InsightHit, Media, Node, NodeId, Validity

MAX_ATTRIBUTE_CHARS = 120
"""Characters shown of a name or source in a memory's tag; ids are never cut."""
_CONTROL_MARK = lazy_pattern(r"\[(?=/?[A-Z_]{3,}\])")


def escape(text: str) -> str:
    """Return a text without tags, control marks and invisible characters."""
    return _CONTROL_MARK.sub("&#91;", strip_invisible(text).replace("<", "&lt;"))


def unescape(text: str) -> str:
    """Undo the character references, for what a model quotes from a prompt."""
    return text.replace("&lt;", "<").replace("&#91;", "[")


def render_memories(nodes: Iterable[Node], validity: Mapping[NodeId, Validity]) -> str:
    """Return memories in the order given, each with its id, time, speaker, source and validity."""
    return "\n".join(render_memory(node, validity.get(node.id)) for node in nodes) or "(none)"


def render_memory(node: Node, validity: Validity | None = None) -> str:
    """Return one memory between its tags."""
    periods = []
    if node.valid_from is not None and node.valid_from != node.happened_at:
        periods.append(f"from {iso_minute(node.valid_from)}")
    end = node.valid_to if validity is None or validity.valid_to is None else validity.valid_to
    if end is not None:
        periods.append(f"until {iso_minute(end)}")
    if validity is not None and validity.superseded_by:
        periods.append(f"replaced by {' and '.join(map(render_id, validity.superseded_by))}")
    against = () if validity is None else validity.contradicted_by
    attributes = {
        "id": render_id(node.id),
        "date": iso_minute(node.happened_at),
        "speaker": _truncate(node.speaker),
        "source": _truncate(node.source),
        "about": _truncate(node.title),
        "heading": _truncate(node.heading),
        "media": "; ".join(filter(None, map(_render_medium, node.media))),
        "held": ", ".join(periods),
        "contradicted-by": " and ".join(map(render_id, against)),
    }
    return f"<memory{_render_attributes(attributes)}>\n{escape(node.text)}\n</memory>"


def _render_medium(one: Media) -> str | None:
    return _truncate(f"{one.reference} ({one.caption})" if one.caption else one.reference)


def render_insight(insight: InsightHit) -> str:
    """Return an insight with the ids of its sources."""
    attributes = {"of": _join_ids(insight.source_ids)}
    return f"<insight{_render_attributes(attributes)}>\n{escape(insight.text)}\n</insight>"


def render_engram(engram: EngramHit) -> str:
    """Return a name with what is known of it, and the ids of the memories that mention it."""
    attributes = {
        "name": _truncate(engram.name),
        "type": _truncate(engram.type),
        "in": _join_ids(engram.ids),
        "is": _truncate(engram.description),
    }
    return f"<name{_render_attributes(attributes)}/>"


def render_exchange(exchange: ExchangeHit) -> str:
    """Return an exchange, with its date and the model that responded."""
    attributes = {"date": iso_minute(exchange.happened_at), "source": _truncate(exchange.source)}
    prompt, response = (escape(text) for text in (exchange.prompt, exchange.response))
    parts = f"<asked>\n{prompt}\n</asked>\n<answered>\n{response}\n</answered>"
    return f"<exchange{_render_attributes(attributes)}>\n{parts}\n</exchange>"


def _join_ids(ids: Iterable[NodeId]) -> str:
    return ", ".join(map(render_id, ids))


def render_statements(nodes: Sequence[Node]) -> str:
    """Return statements numbered from 1, each with its speaker and date."""
    attributes = (
        {"number": str(number), "speaker": _truncate(node.speaker), "date": iso_minute(node.happened_at)}
        for number, node in enumerate(nodes, 1)
    )
    return "\n".join(
        f"<statement{_render_attributes(values)}>\n{escape(node.text)}\n</statement>"
        for values, node in zip(attributes, nodes, strict=True)
    )


def render_passages(passages: Sequence[Passage]) -> str:
    """Return passages numbered from 1."""
    return "\n".join(
        f'<passage number="{number}">\n{escape(str(passage))}\n</passage>' for number, passage in enumerate(passages, 1)
    )


def render_texts(texts: Sequence[str]) -> str:
    """Return texts numbered from 1."""
    return "\n".join(f'<text number="{number}">\n{escape(text)}\n</text>' for number, text in enumerate(texts, 1))


def render_id(id_: NodeId) -> str:
    """Return an id for a memory's tag: on one line, quoted, with invisible characters escaped.

    So two different ids that look the same are written differently.
    """
    return _one_line(escape_invisible(id_))


def _render_attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{value}"' for name, value in values.items() if value)


def _truncate(text: str | None) -> str:
    return _one_line(text or "")[:MAX_ATTRIBUTE_CHARS]


def _one_line(text: str) -> str:
    return escape(collapse_whitespace(strip_invisible(text))).replace('"', "&quot;").replace(">", "&gt;")
