"""Hermes Agent: a memory as its memory provider (``MemoryProvider`` of hermes-agent 0.19).

The plug-in folder that Hermes loads is ``plugins/hermes/ecphora`` in the repository.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Any

from ..errors import EcphoraError, InvalidInput
from ..memory import Memory
from ..model.conditions import Ne
from ..model.reprs import show
from ..model.text_format import replace_surrogates, strip_invisible
from ..model.types import Episode, Evidence, Filter
from ..model.validation import check_count, check_flag, check_name
from ..tools.memory_tools import TOOLS
from .records import KIND, Record, Records

try:
    from agent.memory_provider import MemoryProvider
    from hermes_constants import get_hermes_home
except ImportError as error:
    raise ImportError("Hermes Agent is not installed; run: pip install 'hermes-agent'") from error

NAME = "ecphora"
"""The name of the provider: ``memory.provider`` in Hermes' configuration."""
TOOL_PREFIX = "ecphora_"
"""What the names of the tools begin with in Hermes, which has many."""
SETTINGS_FILE = "ecphora.json"
"""The file in the folder of Hermes that holds the settings of the provider."""
SETTINGS: Mapping[str, object] = {"path": "ecphora.db", "scope": "", "limit": 6, "budget": 1_000, "consolidate": True}
"""The settings and their defaults."""
CONSOLIDATE_SECONDS = 5.0
"""The longest that a consolidation at the end of a session takes."""
MIRROR = "hermes"
"""The kind of the records that mirror Hermes' own memory."""
TARGET = "hermes_target"
"""The metadata of such a record: which of Hermes' two files it stands in, ``memory`` or ``user``."""
READ_TOOLS = frozenset({"recall", "find"})
"""The tools that change nothing."""
SYSTEM_PROMPT = """# Ecphora memory
Past conversations are remembered by themselves. What belongs to a message is added to it; if more is needed, ask
ecphora_recall with a full question. Its evidence says whether the memory knows: with "none", say that you do not know.
If a fact has changed, use ecphora_update; erase with ecphora_forget only if the user asks for it."""
"""What the system prompt says about the memory."""


class EcphoraMemoryProvider(MemoryProvider):
    """A memory as the memory provider of Hermes::

        manager = MemoryManager()  # Hermes makes it, if its configuration has memory.provider: ecphora
        manager.add_provider(EcphoraMemoryProvider())
        manager.initialize_all(session_id="monday", platform="cli")
        print(manager.prefetch_all("Where do I live?"))

    Each completed turn is remembered: what the user said, by the name that a gateway gives or ``user``, and what the
    assistant answered; a turn that is said again word for word in its session is stored once. Before a turn the
    provider recalls for the message: the memories of other sessions, or nothing if there is no evidence. The model also
    gets the five tools of a memory, as ``ecphora_recall`` and so on. What Hermes writes to its own memory is mirrored,
    and erased where Hermes removes it; ``prefetch`` leaves it out, since it stands in the prompt already. When a
    session ends, the memory consolidates for at most ``CONSOLIDATE_SECONDS``. Agents that are not primary, such as
    agents of cron jobs, change nothing.

    Without ``memory`` the provider opens and closes one itself, by the settings in ``ecphora.json`` in the folder of
    Hermes, and ``settings``, which come first: ``path``, by default ``ecphora.db`` in that folder; ``scope``, by
    default one for each user of a gateway and one for the command line; ``limit`` and ``budget``, the most memories and
    tokens that a turn gets; and ``consolidate``. With ``memory``, whoever opened it closes it, and ``path`` and
    ``scope`` have no effect. Raises ``InvalidInput`` for a setting that cannot be used.
    """

    def __init__(self, memory: Memory | None = None, settings: Mapping[str, object] | None = None) -> None:
        self._given, self._given_settings = memory, _checked_settings(settings or {})
        self._lock = RLock()
        self._memory: Memory | None = None
        self._settings = {**SETTINGS, **self._given_settings}
        self._session, self._speaker, self._writes = "", "user", True

    @property
    def name(self) -> str:
        """The name by which Hermes' configuration selects the provider."""
        return NAME

    # ---- life

    def is_available(self) -> bool:
        """Always: there is no service and no key."""
        return True

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Open the memory for a session.

        Of Hermes' arguments, ``hermes_home``, ``user_id``, ``user_name`` and ``agent_context`` are used.
        """
        home = Path(str(kwargs.get("hermes_home") or get_hermes_home()))
        with self._lock:
            self.shutdown()
            self._settings = {**SETTINGS, **_read_settings(home), **self._given_settings}
            self._session = session_id
            self._speaker = _name(kwargs.get("user_name")) or "user"
            self._writes = kwargs.get("agent_context", "primary") == "primary"
            scope = str(self._settings["scope"]) or _name(kwargs.get("user_id")) or "default"
            given = self._given  # an empty memory is falsy
            self._memory = Memory(_path(home, self._settings), scope=scope) if given is None else given

    def shutdown(self) -> None:
        """Close the memory, unless it was given."""
        with self._lock:
            memory, self._memory = self._memory, None
            if memory is not None and memory is not self._given:
                memory.close()

    def on_session_switch(
        self,
        new_session_id: str,
        *,
        parent_session_id: str = "",
        reset: bool = False,
        rewound: bool = False,
        **kwargs: Any,
    ) -> None:
        """Go on with another session. What was remembered of turns that were taken back stays."""
        del parent_session_id, reset, rewound, kwargs
        self._session = new_session_id

    def on_session_end(self, messages: list[dict[str, Any]]) -> None:
        """Detect facts that have changed in what is new."""
        del messages
        if self._memory is not None and self._writes and self._settings["consolidate"]:
            self._memory.consolidate(seconds=CONSOLIDATE_SECONDS)

    # ---- a turn

    def system_prompt_block(self) -> str:
        """What the model is told about the memory; nothing before it is open."""
        return "" if self._memory is None else SYSTEM_PROMPT

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """The memories of other sessions that belong to a message, as a text; empty without evidence."""
        memory, session = self._memory, _name(session_id or self._session)
        if memory is None or not strip_invisible(query).strip():
            return ""
        where = Filter(not_sessions=() if session is None else session, metadata=Ne(KIND, MIRROR))
        question = [{"role": "user", "content": replace_surrogates(query)}]
        found = memory.recall(question, limit=_number(self._settings, "limit"), where=where)
        return "" if found.evidence is Evidence.NONE else found.to_prompt(_number(self._settings, "budget"))

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,
    ) -> None:
        """Remember a completed turn."""
        del messages
        memory, session = self._memory, _name(session_id or self._session)
        if memory is None or not self._writes:
            return
        said = ((self._speaker, user_content), ("assistant", assistant_content))
        episodes = [
            Episode(replace_surrogates(text), speaker=speaker, session=session)
            for speaker, text in said
            if strip_invisible(text).strip()
        ]
        if episodes:
            memory.remember(episodes)

    # ---- tools

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """The five tools of a memory, in the format of OpenAI's functions."""
        return [
            {"name": f"{TOOL_PREFIX}{tool.name}", "description": tool.description, "parameters": tool.schema()}
            for tool in TOOLS
        ]

    def handle_tool_call(self, tool_name: str, args: dict[str, Any], **kwargs: Any) -> str:
        """Run a tool; the reply is JSON with ``result``, or ``error`` if the call was refused or failed."""
        del kwargs
        memory, name = self._memory, tool_name.removeprefix(TOOL_PREFIX)
        if memory is None:
            return json.dumps({"error": "the memory is not open"})
        if not self._writes and name not in READ_TOOLS:
            return json.dumps({"error": "only the primary agent may change the memory"})
        try:
            reply = memory.tools(session=_name(self._session)).reply(name, args)
        except EcphoraError as failure:
            return json.dumps({"error": str(failure)})
        answer = {"error": reply.text.removeprefix("Error: ")} if reply.is_error else {"result": reply.text}
        return json.dumps(answer, ensure_ascii=False)

    def on_memory_write(self, action: str, target: str, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Mirror what Hermes adds to its own memory, replaces (by ``old_text`` of ``metadata``) or removes there."""
        memory = self._memory
        if memory is None or not self._writes:
            return
        records, old_text = Records(memory, MIRROR), str((metadata or {}).get("old_text") or "")
        with self._lock:
            if action == "remove" or (action == "replace" and old_text):
                part = replace_surrogates(old_text or content)
                records.delete(one.key for one in list(_mirrored(records, target)) if part and part in one.content)
            text = replace_surrogates(content or "")
            if action in {"add", "replace"} and strip_invisible(text).strip():
                records.put(
                    json.dumps([target, text]), text, {TARGET: target}, session=_name(self._session), source=NAME
                )

    # ---- settings

    def get_config_schema(self) -> list[dict[str, Any]]:
        """What ``hermes memory setup`` asks for."""
        about = {
            "path": "File of the memory, in the folder of Hermes if it is not absolute",
            "scope": "Scope for all users; empty: one for each user of a gateway",
            "limit": "The most memories that are added to a turn",
            "budget": "The most tokens of them",
            "consolidate": "Detect changed facts when a session ends",
        }
        choices = {"consolidate": {"choices": ["true", "false"]}}
        return [
            {"key": key, "description": text, "default": _as_text(SETTINGS[key]), **choices.get(key, {})}
            for key, text in about.items()
        ]

    def save_config(self, values: dict[str, Any], hermes_home: str) -> None:
        """Write settings to ``ecphora.json`` in the folder of Hermes."""
        home = Path(hermes_home)
        settings = {**_read_settings(home), **_checked_settings(values)}
        (home / SETTINGS_FILE).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def backup_paths(self) -> list[str]:
        """The file of the memory, if it lies outside the folder of Hermes."""
        if self._given is not None:
            return []
        home = Path(get_hermes_home()).resolve()
        path = _path(home, {**SETTINGS, **_read_settings(home), **self._given_settings}).resolve()
        return [] if path.is_relative_to(home) else [str(path)]


def _mirrored(records: Records, target: str) -> Iterator[Record]:
    return records.find({TARGET: target})


def _name(name: object) -> str | None:
    """A name as a memory has it, None for none or one without a visible character."""
    text = replace_surrogates(str(name or ""))
    return text if strip_invisible(text).strip() else None


def _read_settings(home: Path) -> dict[str, object]:
    """The settings in the folder of Hermes."""
    file = home / SETTINGS_FILE
    try:
        values = json.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as failure:
        raise InvalidInput(f"{file} cannot be read: {failure}") from failure
    if not isinstance(values, dict):
        raise InvalidInput(f"{file} holds {show(values)}; give an object of settings")
    return _checked_settings(values)


def _checked_settings(values: Mapping[str, object]) -> dict[str, object]:
    """Settings with their types; texts, which the setup of Hermes gives, may stand for numbers and flags."""
    checked: dict[str, object] = {}
    for key, value in values.items():
        if key not in SETTINGS:
            raise InvalidInput(f"there is no setting {show(key)}; the settings are {', '.join(SETTINGS)}")
        if key in {"path", "scope"}:
            checked[key] = "" if key == "scope" and value in {"", None} else check_name(key, value)
        elif key == "consolidate":
            checked[key] = check_flag(key, {"true": True, "false": False}.get(str(value).lower(), value))
        else:
            checked[key] = check_count(key, int(value) if isinstance(value, str) and value.isdecimal() else value)
    return checked


def _path(home: Path, settings: Mapping[str, object]) -> Path:
    """The file of the memory; ``~`` and ``$HERMES_HOME`` may stand in its path."""
    text = str(settings["path"]).replace("${HERMES_HOME}", str(home)).replace("$HERMES_HOME", str(home))
    return home / Path(text).expanduser()


def _number(settings: Mapping[str, object], key: str) -> int:
    return check_count(key, settings[key])


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
