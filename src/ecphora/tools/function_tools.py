"""Tools with which a language model uses a memory by function calling: remember, recall, update, forget and find.

The same definitions serve OpenAI, Anthropic and the Model Context Protocol. A reply is a short text for the model. It
quotes memories as :mod:`ecphora.models.prompts.quoting` does, with abbreviated ids that the tools accept as arguments.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from ..errors import IdCollision, InvalidInput, UnknownName
from ..language.terms import estimate_tokens
from ..model.graph.graph import Graph
from ..model.reprs import ShortRepr, show
from ..model.text_format import describe_now, replace_surrogates
from ..model.types import (
    Episode,
    Evidence,
    Filter,
    ForgetResult,
    Include,
    Media,
    Node,
    NodeId,
    Page,
    RecallOptions,
    RememberResult,
    When,
)
from ..model.validation import (
    LIST_LIMIT,
    RECALL_LIMIT,
    check_count,
    check_flag,
    check_items,
    check_optional_name,
    guess_kind,
)
from ..models.prompts import quoting
from ..recall import lookup
from ..recall.recollection import Recollection, render_context
from ..remember.documents import last_memory
from .memory_tools import MAX_MEMORIES, TOOLS
from .tool_definitions import FunctionTool, JsonSchema
from .tool_replies import QUOTED, QuotedMemory, count_memories, list_ids, quote, quote_fitting

PART_CHARS = 20_000
"""Characters of the texts that are committed together: of a call that is cut off, whole parts are stored."""


def remember_texts(
    remember: Callable[..., RememberResult], content: Sequence[str | Episode], last_id: NodeId | None
) -> list[RememberResult]:
    """Remember some texts; all are checked before the first is written.

    Of several, what was stored before is said again beside what is new. But a call is taken to be sent again if all its
    texts are stored, or if the last memory of the session, ``last_id``, is the last of its first texts: then it was cut
    off there.
    """
    if len(content) > 1:
        known = remember(content, dry_run=True)
        if not (known.created and known.existing) or _is_cut_off(known, last_id):
            return [remember(part) for part in split_texts(content)]
    return [remember(one) for one in content]


def _is_cut_off(known: RememberResult, last_id: NodeId | None) -> bool:
    """Whether the stored texts of a call are its first ones, and nothing was stored after them."""
    first = known.ids[: len(known.existing)]
    return set(first) == set(known.existing) and first[-1] == last_id


def split_texts(content: Sequence[str | Episode]) -> list[list[str | Episode]]:
    """The texts in parts of at most :data:`PART_CHARS` characters; a longer text is a part of its own."""
    parts: list[list[str | Episode]] = []
    size = 0
    for one in content:
        chars = len(one if isinstance(one, str) else one.text)
        if not parts or size + chars > PART_CHARS:
            parts.append([])
            size = 0
        parts[-1].append(one)
        size += chars
    return parts


DEFAULT_REPLY_TOKENS = 1_500
"""The tokens of a reply by default (estimated)."""
MIN_REPLY_TOKENS = 300
"""The fewest tokens that replies may be limited to."""
MAX_PREVIEWS = 20
"""The memories that forget shows before it erases them."""
MAX_SOURCES = 10
"""The memories that an answer of the model is taken to be based on."""
UNRELATED_HITS = 2
"""The memories shown where none answers the question."""
NO_FILTER = Filter()


class ToolMemory(Protocol):
    """What the tools need of a :class:`~ecphora.memory.Memory`."""

    @property
    def is_read_only(self) -> bool: ...
    def remember(
        self,
        content: str | Episode | Sequence[str | Episode],
        *,
        speaker: str | None,
        session: str | None,
        happened_at: When | None,
        restore: bool,
        dry_run: bool = False,
    ) -> RememberResult: ...
    def recall(
        self,
        question: str,
        *,
        limit: int,
        where: Filter,
        as_of: When | None,
        goal: str | None,
        include: Iterable[str],
        options: RecallOptions,
    ) -> Recollection: ...
    def record_response(self, recollection: Recollection, text: str, *, session: str | None) -> NodeId | None: ...
    def update(
        self,
        id: NodeId,  # noqa: A002
        text: str,
        *,
        mode: Literal["supersede", "replace"],
        happened_at: When | None,
    ) -> RememberResult: ...
    def forget(self, ids: Iterable[NodeId], *, where: Filter | None, dry_run: bool) -> ForgetResult: ...
    def find(self, *, where: Filter, order: str, limit: int, after: str | None) -> Page: ...
    def count(self, *, where: Filter) -> int: ...
    def get(self, id: NodeId) -> Node | None: ...  # noqa: A002
    def chunks(self, id: NodeId) -> list[Node]: ...  # noqa: A002
    def graph(self) -> Graph: ...


@dataclass(frozen=True, slots=True, repr=False)
class ToolReply(ShortRepr):
    """The reply of a tool: a text for the model, and whether the call was refused because of its arguments."""

    text: str
    is_error: bool = False


class ToolSet:
    """The tools of one memory, as :meth:`ecphora.Memory.tools` makes them.

    Safe to share between threads, as the memory is.
    """

    def __init__(
        self,
        memory: ToolMemory,
        *,
        names: Iterable[str] | None = None,
        budget: int = DEFAULT_REPLY_TOKENS,
        session: str | None = None,
        log_access: bool = True,
    ) -> None:
        self._log_access = check_flag("log_access", log_access)
        self._memory = memory
        self._budget = check_count("budget", budget, minimum=MIN_REPLY_TOKENS)
        self._session = check_optional_name("session", session)
        self.tools = _select_tools(names, is_read_only=memory.is_read_only)
        self._functions: Mapping[str, Callable[..., str]] = {
            "remember": self._remember,
            "recall": self._recall,
            "update": self._update,
            "forget": self._forget,
            "find": self._find,
        }

    def __repr__(self) -> str:
        return f"ToolSet({', '.join(tool.name for tool in self.tools)})"

    # ---- definitions

    def openai(self, api: Literal["chat", "responses"] = "chat") -> list[dict[str, Any]]:
        """The tools for the ``tools`` of OpenAI's Chat Completions, or Responses, in strict mode."""
        if api not in {"chat", "responses"}:
            raise InvalidInput(f"api is {show(api)}; give 'chat' or 'responses'")
        functions: list[dict[str, Any]] = [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.schema(is_strict=True),
                "strict": True,
            }
            for tool in self.tools
        ]
        if api == "responses":
            return [{"type": "function", **function} for function in functions]
        return [{"type": "function", "function": function} for function in functions]

    def anthropic(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """The tools for the ``tools`` of Anthropic's Messages; ``strict`` adds ``"strict": true`` to each."""
        mark: JsonSchema = {"strict": True} if check_flag("strict", strict) else {}
        return [
            {"name": tool.name, "description": tool.description, "input_schema": tool.schema(), **mark}
            for tool in self.tools
        ]

    # ---- calls

    def call(self, name: str, arguments: Mapping[str, object] | str | None) -> str:
        """Call a tool and return its reply, a text for the model of about ``budget`` tokens at most.

        ``arguments`` is a mapping or the text of a JSON object. Arguments that cannot be used, and an unknown name,
        change nothing: the reply begins with ``Error:`` and says what to give. Other errors, such as ``StoreBusy``, are
        raised.
        """
        return self.reply(name, arguments).text

    def reply(self, name: str, arguments: Mapping[str, object] | str | None) -> ToolReply:
        """Like :meth:`call`; the result also says whether the text is an error, as some interfaces want to know."""
        try:
            tool = next((one for one in self.tools if one.name == name), None)
            if tool is None:
                known = ", ".join(one.name for one in self.tools)
                raise UnknownName(f"there is no tool {show(name)}; the tools are {known}")
            text, is_error = self._functions[tool.name](**tool.check_arguments(arguments)), False
        except (InvalidInput, IdCollision) as error:
            text, is_error = f"Error: {quoting.escape(str(error))}", True
        return ToolReply(replace_surrogates(text), is_error)

    def _remember(
        self,
        *,
        texts: list[str],
        speaker: str | None,
        happened_at: str | None,
        media: str | None,
        question: str | None,
        restore: bool | None,
    ) -> str:
        if question is not None:
            if restore:
                raise InvalidInput("restore is for facts; leave it out with question")
            return self._record_response(question, "\n".join(texts))
        content: Sequence[str | Episode] = texts
        if media is not None:
            shown = (Media(media, guess_kind(media)),)
            content = [Episode(text, None, speaker, self._session, happened_at, media=shown) for text in texts]
        tell = partial(
            self._memory.remember,
            speaker=speaker,
            session=self._session,
            happened_at=happened_at,
            restore=bool(restore),
        )
        last_id = last_memory(self._memory.graph(), self._session)
        results = remember_texts(tell, content, last_id)
        created = list(dict.fromkeys(id_ for result in results for id_ in result.created))
        existing = list(dict.fromkeys(id_ for result in results for id_ in result.existing if id_ not in created))
        blocked = list(dict.fromkeys(id_ for result in results for id_ in result.blocked))
        groups = (
            ("Remembered", created),
            ("Stored already", existing),
            ("Not stored, because it was forgotten on purpose", blocked),
        )
        graph = self._memory.graph()
        lines = [f"{label}: {list_ids(ids, graph)}" for label, ids in groups if ids]
        if any(one.blocked for one in results):
            lines.append("If the user wants it stored again, call remember again with restore true.")
        return "\n".join(lines)

    def _record_response(self, question: str, text: str) -> str:
        """Store an answer of the model as an exchange, with all that a recall of the question may have shown."""
        found = self._memory.recall(
            question,
            limit=MAX_SOURCES,
            where=NO_FILTER,
            as_of=None,
            goal=None,
            include=(Include.INSIGHTS, Include.EXCHANGES),
            options=RecallOptions(explain=False, log_access=False),
        )
        id_ = self._memory.record_response(found, text, session=self._session)
        if id_ is None:
            return "Not stored, because it was forgotten on purpose."
        return f"Stored the answer with its question: {list_ids([id_], self._memory.graph())}"

    def _recall(
        self,
        *,
        question: str,
        limit: int | None,
        speaker: str | None,
        after: str | None,
        before: str | None,
        as_of: str | None,
        goal: str | None,
        include: list[str] | None,
    ) -> str:
        where = _filter(speaker, after, before)
        limit = _check_limit(limit, RECALL_LIMIT)
        found = self._memory.recall(
            question,
            limit=limit,
            where=where,
            as_of=as_of,
            goal=goal,
            include=include or (),
            options=RecallOptions(explain=False, log_access=self._log_access),
        )
        today = f"Today is {describe_now(found.query.now)}."
        if not found.hits:
            return f"Nothing found: {_reason(found.notices, 'no memory belongs to this question')}. {today}"
        hits = found.hits[:UNRELATED_HITS] if found.evidence is Evidence.NONE else found.hits
        if found.evidence is Evidence.NONE:
            head = "Nothing found that answers this (evidence: none). The nearest memories, which may be unrelated."
        else:
            doubt = " They may not answer the question." if found.evidence is Evidence.WEAK else ""
            head = f"Evidence: {found.evidence.value}.{doubt} {count_memories(len(hits))}, best first."
        memories = [QuotedMemory(hit.node, hit.validity) for hit in hits if not hit.is_exchange]
        text = quote(f"{head} {today}", memories, self._memory.graph(), self._budget)
        return text + render_context(found, self._budget - estimate_tokens(text))

    def _update(
        self,
        *,
        id: str,  # noqa: A002
        text: str,
        mode: Literal["supersede", "replace"],
        happened_at: str | None,
    ) -> str:
        old_id = lookup.resolve_id(id, self._memory.graph(), allow_names=False)
        result = self._memory.update(old_id, text, mode=mode, happened_at=happened_at)
        graph = self._memory.graph()
        old, new = list_ids([old_id], graph), list_ids([result.id], graph)
        if result.blocked:
            return "Nothing changed: a memory with this text was forgotten or replaced before."
        if not result.created:
            return f"Nothing changed: {new} has this text already."
        if mode == "replace":
            return f"Replaced the text of {old}; the old text is erased."
        return f"Remembered {new}, which supersedes {old}; the old text stays as history."

    def _forget(
        self,
        *,
        ids: list[str] | None,
        speaker: str | None,
        after: str | None,
        before: str | None,
        dry_run: bool | None,
    ) -> str:
        where = _filter(speaker, after, before)
        has_filter = where != NO_FILTER
        if (ids is not None) == has_filter:
            raise InvalidInput("give either ids or a filter (speaker, after or before)")
        graph = self._memory.graph()
        full_ids = [lookup.resolve_id(id_, graph, allow_names=False) for id_ in ids or ()]
        forget = partial(self._memory.forget, full_ids, where=where if has_filter else None)
        would_erase = forget(dry_run=True)
        selected = would_erase.episode_ids
        if selected and (dry_run or (dry_run is None and (has_filter or len(selected) > 1))):
            return self._quote_selection(selected)
        erased = forget(dry_run=False).episode_ids if selected else ()
        if not erased:
            return f"Nothing erased: {_reason(would_erase.notices, 'there is no such memory')}."
        return f"Erased {count_memories(len(erased))}: {list_ids(erased, graph)}"

    def _quote_selection(self, ids: Sequence[NodeId]) -> str:
        nodes = (self._memory.get(id_) for id_ in ids[:MAX_PREVIEWS])
        memories = [QuotedMemory(node).preview for node in nodes if node is not None]
        head = (
            f"Nothing is erased yet. This would erase {count_memories(len(ids))}. To erase, call forget again with the "
            "same arguments and dry_run false."
        )
        return quote(head, memories, self._memory.graph(), self._budget)

    def _find(
        self,
        *,
        ids: list[str] | None,
        speaker: str | None,
        after: str | None,
        before: str | None,
        order: str | None,
        limit: int | None,
        cursor: str | None,
    ) -> str:
        where = _filter(speaker, after, before)
        if ids is not None:
            if where != NO_FILTER or any((order, limit, cursor)):
                raise InvalidInput("give ids without other arguments")
            return self._read(ids)
        by = "happened_at" if order == "oldest" else "-happened_at"
        page = self._memory.find(where=where, order=by, limit=_check_limit(limit, LIST_LIMIT), after=cursor)
        if not page:
            reason = _reason(page.notices, "no memory passes this filter")
            return f"Nothing found: {reason}." if cursor is None else "There are no more memories."
        memories = [QuotedMemory(node).preview for node in page]
        head = f"{count_memories(self._memory.count(where=where))} in all, {order or 'newest'} first. {QUOTED}"
        blocks = quote_fitting(head, memories, self._memory.graph(), self._budget)
        if len(blocks) < len(page):  # the cursor must lead to the first memory that was left out
            page = self._memory.find(where=where, order=by, limit=len(blocks), after=cursor)
        more = [f'More: call find again with cursor "{page.cursor}".'] if page.cursor else []
        return "\n".join([head, *blocks, *more])

    def _read(self, ids: Sequence[str]) -> str:
        """Quote memories in full; a long text as its chunks, so that a part can be asked for."""
        graph = self._memory.graph()
        full_ids = [lookup.resolve_id(id_, graph, allow_names=False) for id_ in ids]
        nodes = {id_: self._memory.chunks(id_) for id_ in dict.fromkeys(full_ids)}
        missing = [id_ for id_, found in nodes.items() if not found]
        memories = [QuotedMemory(node) for found in nodes.values() for node in found]
        note = f"No memory has the id {list_ids(missing, graph)}." if missing else ""
        if not memories:
            return f"Nothing found. {note}"
        head = f"{count_memories(len(nodes) - len(missing))}. {note}".strip()
        return quote(head, memories, graph, self._budget)


def _select_tools(names: Iterable[str] | None, *, is_read_only: bool) -> tuple[FunctionTool, ...]:
    """The tools with these names, by default all that the memory allows."""
    allowed = tuple(tool for tool in TOOLS if tool.is_read_only or not is_read_only)
    if names is None:
        return allowed
    known = [tool.name for tool in allowed]
    wanted = list(check_items("names", names if not isinstance(names, str) else [names], "names of tools"))
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownName(f"there is no tool {show(unknown[0])}; the tools of this memory are {', '.join(known)}")
    return tuple(tool for tool in allowed if tool.name in wanted)


def _filter(speaker: str | None, after: str | None, before: str | None) -> Filter:
    return Filter(speakers=speaker, after=after, before=before)


def _reason(notices: Sequence[str], default: str) -> str:
    """Why there is nothing: the notices of a result, or a sentence."""
    return quoting.escape("; ".join(notices)) if notices else default


def _check_limit(limit: int | None, default: int) -> int:
    return min(check_count("limit", default if limit is None else limit), MAX_MEMORIES)
