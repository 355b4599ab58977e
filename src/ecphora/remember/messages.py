"""Turns chat messages into episodes, and a running conversation into a question.

Messages are dicts or objects in the shape of OpenAI's Chat Completions or Responses, of Anthropic's Messages, or of
LangChain. None of these packages is needed: fields are read by their names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from numbers import Real
from typing import Any, Protocol

from ..errors import InvalidInput, InvalidTime
from ..language.chat_roles import Role, role_of
from ..language.names.mentions import names
from ..language.terms import CHARS_PER_TOKEN, estimate_tokens, extract_terms
from ..model.reprs import ShortRepr, show
from ..model.times import in_zone
from ..model.types import Episode, When
from ..model.validation import MAX_QUESTION_CHARS, check_episode_fields, check_flag, check_items, check_name, check_time

TEXT_PARTS = ("text", "input_text", "output_text")
"""The types of content parts that hold text."""
TOOL_CALL_PARTS = ("tool_use", "tool_call", "function_call")
"""How the types of content parts that call a tool end."""
OTHER_CONTENT = ("refusal", "audio")
"""The fields of a reply that stand in place of its content."""
TOOL_CALL, TOOL_RESULT, SYSTEM_PROMPT, EMPTY_MESSAGE = "tool_call", "tool_result", "system_prompt", "empty_message"
"""The kinds under which a result counts omitted parts, besides the types of content parts."""
TIME_FIELDS = ("created_at", "timestamp")
"""The fields that may hold the time of a message; the first field that has a value counts."""
MAX_ALLUSION_TOKENS = 8
"""The tokens of the longest message that counts as an allusion to what was said before."""
MAX_CONTEXT_TOKENS = 64
"""The tokens of earlier messages that a question may have as context."""
_ROLES = {"developer": Role.SYSTEM, "function": Role.TOOL}
_MISSING = object()
_ROLE_NAMES = "'user', 'assistant', 'system', 'developer' or 'tool'"
_ROLE_HINT = f"give {_ROLE_NAMES}"


class MessageObject(Protocol):
    """A message as an object of a client library: ``role`` or ``type`` says who speaks."""

    @property
    def content(self) -> Any:
        """A text, or a list of content parts."""


Message = Mapping[str, object] | MessageObject
"""A chat message: a dict, or an object of a client library."""


@dataclass(frozen=True, slots=True, repr=False)
class MessageOptions(ShortRepr):
    """How ``remember`` turns chat messages into memories.

    ``speakers`` maps roles to speakers, as in ``{"user": "Ana", "assistant": "Bot"}``; a role without an entry is its
    own speaker. ``keep_tool_results`` and ``keep_system_prompts`` say whether tool results, and system and developer
    prompts, are remembered too, with the ``source`` "tool" and "system". The fields are checked when they are used.
    """

    speakers: Mapping[str, str] = field(default_factory=dict)
    keep_tool_results: bool = False
    keep_system_prompts: bool = False


DEFAULT_OPTIONS = MessageOptions()
"""Roles are speakers; tool results and prompts are left out."""


@dataclass(frozen=True, slots=True)
class MessageEpisodes:
    """The episodes of messages, and how much was left out, by its kind."""

    episodes: tuple[Episode, ...]
    omitted: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Utterance:
    """One text of a message, and whose it is."""

    role: Role
    text: str
    name: object = None


def is_message(value: object) -> bool:
    """Whether a value is meant as one chat message: a mapping, or an object with a role or a type."""
    if isinstance(value, str | bytes | Episode | type):
        return False
    return isinstance(value, Mapping) or any(isinstance(_field(value, name), str) for name in ("role", "type"))


def episodes_from_messages(
    items: Iterable[object], *, template: Episode, options: MessageOptions = DEFAULT_OPTIONS, zone: tzinfo = UTC
) -> MessageEpisodes:
    """Turn messages into episodes; texts become episodes too, and episodes stay as they are.

    The speaker is the ``name`` of a message, or else what ``options`` gives for its role. Its text parts are joined by
    line breaks. Its time is ``created_at`` or ``timestamp``, as ISO 8601 text, datetime or epoch seconds, a time of
    ``zone`` if it has no offset. All else comes from ``template``. A tool result has the name of its tool in the
    metadata, as ``tool``. Pictures, tool calls and other parts are left out and counted, as are messages without text.

    Raises ``InvalidInput``, which names the index, for an unknown role or shape, a time or name that cannot be used,
    and for a ``template`` with a speaker if there are messages.
    """
    speakers = _check_options(options)
    episodes: list[Episode] = []
    omitted: Counter[str] = Counter()
    for index, item in enumerate(items):
        if isinstance(item, str):
            episodes.append(replace(template, text=item))
        elif not is_message(item):
            episodes.append(item)  # type: ignore[arg-type]  # an episode, or rejected when it is checked
        elif template.speaker is not None:
            raise InvalidInput(
                f"speaker is {show(template.speaker)}, but messages have roles; "
                f"give MessageOptions(speakers={{'user': {show(template.speaker)}}})"
            )
        else:
            time = _time(item, index, zone)
            message = _read(item, index)
            omitted.update(+message.omitted)
            for utterance in message.utterances:
                if _is_kept(utterance.role, options, omitted):
                    episode = _episode(utterance, time, template, speakers)
                    episodes.append(_check(episode, index, zone))
    return MessageEpisodes(tuple(episodes), dict(omitted))


def question_from_messages(messages: Message | Iterable[Message]) -> str:
    """The question that a conversation asks now: the text of its last user message, with context where it needs it.

    A message is an allusion, such as "and in May?", if it has at most 8 tokens (estimated) and is not about a name: it
    has no name, or nothing but a name. The user messages before an allusion are put in front of it, back to the last
    message that is not an allusion, up to 64 tokens; a longer message counts with its end. Replies of the assistant are
    not used. Of a message that is too long for a question, the end is asked.

    Raises ``InvalidInput`` if there is no user message with text, and as :func:`episodes_from_messages` does.
    """
    hint = "a text, or a list of chat messages"
    items = iter((messages,)) if is_message(messages) else check_items("question", messages, hint)
    texts: list[str] = []
    for index, item in enumerate(items):
        if not is_message(item):
            raise InvalidInput(
                f"question[{index}] is {show(item)}; give a chat message, as in {{'role': 'user', 'content': '...'}}"
            )
        texts += [one.text for one in _read(item, index).utterances if one.role is Role.USER]
    if not texts:
        raise InvalidInput("question has no user message with text, so nothing is asked; give the question as a text")
    question = texts.pop().strip()[-MAX_QUESTION_CHARS:]
    parts, tokens_left, is_open = [question], MAX_CONTEXT_TOKENS, _is_allusion(question)
    while is_open and texts and tokens_left > 0:
        text = texts.pop()
        part = _end_of(text, tokens_left)
        parts.insert(0, part)
        tokens_left -= estimate_tokens(f"{part}\n")
        is_open = _is_allusion(text)
    return "\n".join(parts)


# ---- one message


@dataclass(slots=True)
class _MessageReader:
    """Reads the message with an index: collects its texts, and counts what else it has."""

    index: int
    utterances: list[_Utterance] = field(default_factory=list)
    omitted: Counter[str] = field(default_factory=Counter)

    def read(self, item: object) -> None:
        """Read a message, or an item of OpenAI's Responses."""
        role = _role(item)
        if role is None:
            self._read_response_item(item)
        else:
            self._read_content(_field(item, "content"), role, _name(item))
            self.omitted[TOOL_CALL] = max(self.omitted[TOOL_CALL], _count_tool_calls(item))
            self.omitted.update(name for name in OTHER_CONTENT if _field(item, name) is not None)
        if not self.utterances and not self.omitted.total():
            if role is not None and _field(item, "content", _MISSING) is _MISSING:
                raise InvalidInput(f"messages[{self.index}] has no content; give a text or a list of parts as content")
            self.omitted[EMPTY_MESSAGE] += 1

    def _read_response_item(self, item: object) -> None:
        """Read an item of OpenAI's Responses that is not a message: a tool call, its output, or reasoning."""
        role, kind = _field(item, "role"), _field(item, "type")
        if role is not None:
            raise InvalidInput(f"messages[{self.index}] has the role {show(role)}; {_ROLE_HINT}")
        if not isinstance(kind, str):
            raise InvalidInput(
                f"messages[{self.index}] has no role; give a text or an Episode, or a message of the role {_ROLE_NAMES}"
            )
        if kind.endswith("_call_output"):
            self._read_content(_field(item, "output"), Role.TOOL, _name(item))
        elif kind.endswith("_call"):
            self.omitted[TOOL_CALL] += 1
        elif kind in {"reasoning", "item_reference"} or kind.startswith("mcp_"):
            self.omitted[kind] += 1
        else:
            raise InvalidInput(
                f"messages[{self.index}] has no role, and the type {show(kind)} is unknown; {_ROLE_HINT}"
            )

    def _read_content(self, content: object, role: Role, name: object) -> None:
        """Read the content of a message or tool result."""
        texts: list[str] = []
        for part in self._parts(content):
            kind = _field(part, "type")
            text = part if isinstance(part, str) else _field(part, "text")
            is_text_part = kind in TEXT_PARTS if isinstance(kind, str) else kind is None and isinstance(text, str)
            if isinstance(part, str) or is_text_part:
                if not isinstance(text, str):
                    raise InvalidInput(f"messages[{self.index}] has a text part whose text is {show(text)}; give a str")
                texts.append(text)
            elif not isinstance(kind, str):
                raise InvalidInput(
                    f"messages[{self.index}] has the content part {show(part)}; give {{'type': 'text', 'text': '...'}}"
                )
            elif kind.endswith(TOOL_RESULT) and role is not Role.TOOL:
                self._read_content(_field(part, "content"), Role.TOOL, None)
            else:
                self.omitted[TOOL_CALL if kind.endswith(TOOL_CALL_PARTS) else kind] += 1
        if text := "\n".join(text for text in texts if text.strip()):
            self.utterances.append(_Utterance(role, text, name))

    def _parts(self, content: object) -> Iterator[object]:
        """The parts of a content."""
        if content is None:
            return iter(())
        if isinstance(content, str | Mapping):
            return iter((content,))
        if isinstance(content, list | tuple):
            return iter(content)
        raise InvalidInput(f"messages[{self.index}] has the content {show(content)}; give a text or a list of parts")


def _read(item: object, index: int) -> _MessageReader:
    """The texts of a message, and how much else it has."""
    reader = _MessageReader(index)
    reader.read(item)
    return reader


def _name(item: object) -> object:
    """The name of a message, None if it has none or an empty one."""
    name = _field(item, "name")
    return None if isinstance(name, str) and not name else name


def _count_tool_calls(item: object) -> int:
    """The tool calls that a message lists outside its content."""
    lists = [_field(place, "tool_calls") for place in (item, _field(item, "additional_kwargs"))]
    calls = max((len(one) for one in lists if isinstance(one, Sequence) and not isinstance(one, str)), default=0)
    return calls or int(_field(item, "function_call") is not None)


def _role(item: object) -> Role | None:
    """The role of a message, from its ``role`` or, in LangChain, its ``type``; None if it has no known one."""
    name = _field(item, "role")
    return _role_named(_field(item, "type") if name is None else name)


def _role_named(name: object) -> Role | None:
    if not isinstance(name, str):
        return None
    short = name.removesuffix("MessageChunk").casefold()
    return _ROLES.get(short) or role_of(short)


def _field(item: object, name: str, default: object = None) -> Any:
    """A field of a dict or object, ``default`` if it has none."""
    try:
        return item.get(name, default) if isinstance(item, Mapping) else getattr(item, name, default)
    except Exception:  # noqa: BLE001  # a property is the caller's code and may raise anything
        return default


# ---- from a message to an episode


def _is_kept(role: Role, options: MessageOptions, omitted: Counter[str]) -> bool:
    """Whether the texts of a role are remembered; counts them if not."""
    if role is Role.TOOL and not options.keep_tool_results:
        omitted[TOOL_RESULT] += 1
        return False
    if role is Role.SYSTEM and not options.keep_system_prompts:
        omitted[SYSTEM_PROMPT] += 1
        return False
    return True


def _episode(utterance: _Utterance, time: datetime | None, template: Episode, speakers: Mapping[Role, str]) -> Episode:
    role, name = utterance.role, utterance.name
    happened_at: When | None = template.happened_at if time is None else time
    is_person, has_name = role in {Role.USER, Role.ASSISTANT}, name is not None
    speaker: Any = name if is_person and has_name else speakers.get(role, role.value)
    metadata: Any = {**template.metadata, "tool": name} if role is Role.TOOL and has_name else template.metadata
    source = template.source if is_person else role.value
    return replace(
        template,
        text=utterance.text,
        speaker=speaker,
        happened_at=happened_at,
        source=source,
        metadata=metadata,
    )


def _check(episode: Episode, index: int, zone: tzinfo) -> Episode:
    try:
        return check_episode_fields(episode, zone)[0]
    except InvalidInput as error:
        raise type(error)(f"messages[{index}]: {error}") from error


def _time(item: object, index: int, zone: tzinfo) -> datetime | None:
    """The time of a message, None if it has none."""
    places = (item, _field(item, "additional_kwargs"))
    values = ((name, _field(place, name)) for place in places for name in TIME_FIELDS)
    name, value = next(((name, value) for name, value in values if value is not None), ("", None))
    if value is None:
        return None
    try:
        if isinstance(value, Real) and not isinstance(value, bool):
            return in_zone(datetime.fromtimestamp(float(value), UTC), zone)
        return check_time(name, value, zone)
    except InvalidTime as error:
        raise InvalidTime(f"messages[{index}]: {error}") from error
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidTime(
            f"messages[{index}]: {name} is {show(value)}, which is no time; give seconds since 1970, not milliseconds"
        ) from error


def _check_options(options: object) -> dict[Role, str]:
    """Check message options; return the speakers by role."""
    if not isinstance(options, MessageOptions):
        raise InvalidInput(
            f"message_options is {show(options)}; give MessageOptions, as in MessageOptions(speakers={{'user': 'Ana'}})"
        )
    check_flag("keep_tool_results", options.keep_tool_results)
    check_flag("keep_system_prompts", options.keep_system_prompts)
    if not isinstance(options.speakers, Mapping):
        raise InvalidInput(f"speakers is {show(options.speakers)}; give a dict, as in {{'user': 'Ana'}}")
    speakers: dict[Role, str] = {}
    for name, speaker in options.speakers.items():
        role = _role_named(name)
        if role is None:
            raise InvalidInput(f"speakers has the role {show(name)}; {_ROLE_HINT}")
        speakers[role] = check_name(f"the speaker of {show(name)}", speaker)
    return speakers


# ---- the question of a conversation


def _is_allusion(text: str) -> bool:
    """Whether a text is short and not about a name, so that it may mean something said before."""
    if estimate_tokens(text) > MAX_ALLUSION_TOKENS:
        return False
    found = names(text)
    name_terms = {term for name in found for term in extract_terms(name)}
    return not found or set(extract_terms(text)) <= name_terms


def _end_of(text: str, max_tokens: int) -> str:
    """The end of a text, of at most ``max_tokens`` tokens (estimated)."""
    if estimate_tokens(text) <= max_tokens:
        return text
    end = text[-CHARS_PER_TOKEN * max_tokens :]
    return end if estimate_tokens(end) <= max_tokens else text[-max_tokens:]
