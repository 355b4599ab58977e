"""Settings from arguments, environment variables and two TOML files. This module opens no memory.

Sources are read in this order, and each one sets only what those before it did not set:

1. arguments
2. environment variables
3. the user's own file, ``config.toml`` in the user's configuration folder
4. the project's file, ``ecphora.toml`` in the working directory; its parents are not searched
5. the defaults

The project's file may come from a stranger, so it may set only what sends no data and imports no plug-in: ``scope``, a
built-in ``strategy``, an ``embedder`` that runs on this machine, the built-in ``reranker`` or none, and ``db`` and
``weights`` inside its own folder. The memory's file sets nothing: a remote embedder that is stored there is used only
if one of the first three sources names it.

``ECPHORA_CONFIG`` names a file that is read instead of both files. It is trusted like the user's own file.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .errors import InvalidInput, UnknownName
from .model import plugins
from .model.ports import DEFAULT, LLM, Default, Embedder, Extractor, Reranker, Store, Strategy
from .stores.postgres.urls import database_name, hide_password, is_postgres_url

if TYPE_CHECKING:
    from .retrieval.confidence import EvidenceBands

PROJECT_FILE = "ecphora.toml"
"""The project's file, in the working directory."""
USER_FILE = "config.toml"
"""The user's own file, in the user's configuration folder."""
ENV_VARIABLES = {
    "db": ("ECPHORA_DB",),
    "store": ("ECPHORA_STORE",),
    "scope": ("ECPHORA_SCOPE",),
    "embedder": ("ECPHORA_EMBEDDER",),
    "extractor": ("ECPHORA_EXTRACTOR",),
    "strategy": ("ECPHORA_STRATEGY",),
    "weights": ("ECPHORA_WEIGHTS",),
    "reranker": ("ECPHORA_RERANKER",),
    "reranker_base_url": ("ECPHORA_RERANKER_BASE_URL",),
    "reranker_api_key": ("ECPHORA_RERANKER_API_KEY",),
    "reranker_scale": ("ECPHORA_RERANKER_SCALE",),
    "evidence_bands": ("ECPHORA_EVIDENCE_BANDS",),
    "llm": ("ECPHORA_LLM",),
    "llm_base_url": ("ECPHORA_LLM_BASE_URL",),
    "llm_prices": ("ECPHORA_LLM_PRICES",),
    "extractor_tokens": ("ECPHORA_EXTRACTOR_TOKENS",),
    "zone": ("ECPHORA_ZONE",),
    "openai_base_url": ("ECPHORA_OPENAI_BASE_URL",),
    "openai_api_key": ("ECPHORA_OPENAI_API_KEY", "OPENAI_API_KEY"),
}
"""Every setting by its name in the file, and the environment variables that override the file."""
EXTRACTOR_CHOICES = "rules or llm"
"""The built-in values of an extractor setting, as errors list them."""
RERANKER_CHOICES = (
    "builtin, none, jina:MODEL, cohere:MODEL, vllm:MODEL, tei:URL, llama-server:URL, llamacpp:PATH, "
    "cross-encoder:MODEL or llm"
)
"""The values of a reranker setting, as errors list them."""
LOCAL_EMBEDDERS = frozenset({"minilm", "e5", "hashing"})
"""The kinds of embedder that send no data and load nothing but this package's own dependencies."""
PROJECT_KEYS = ("db", "scope", "embedder", "strategy", "weights", "reranker", "evidence_bands", "zone")
"""The settings that a project's file may set."""
PROJECT_KINDS = MappingProxyType(
    {
        "embedder": LOCAL_EMBEDDERS,
        "reranker": frozenset({"builtin", "none"}),
        "strategy": plugins.BUILT_IN_NAMES["strategies"],
    }
)
"""Of some settings, the kinds that a project's file may choose: they send nothing and load no file that it names."""
PATH_KEYS = ("db", "weights")
"""Settings that are paths; in a file, a relative path is relative to that file."""
LOCATION_KEYS = frozenset({"db", "store"})
"""Settings that say where the memory is, of which only one counts."""
_NO_ARGUMENTS: Mapping[str, str | None] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a command that are not given as arguments.

    ``embedder`` is None for the embedder that a scope was written with, ``llm`` for no language model, ``reranker`` for
    a memory's default reranker, ``extractor`` for the built-in one. ``store`` is the URL of a plug-in's store, which
    replaces the file ``db``, or of a PostgreSQL database. ``evidence_bands`` has the lowest confidences of strong and
    of weak evidence, as in "0.7,0.3". ``reranker_base_url`` defaults to the usual address of the reranker's kind,
    ``reranker_scale`` ("log_odds" or "probability") to its usual scale, and ``llm_base_url`` to ``openai_base_url``.
    ``llm_prices`` has the US dollars of a million tokens in and out, as in "0.15,0.6", and ``extractor_tokens`` the
    most tokens that the extractor ``llm`` may use for one ``remember``. ``zone`` is a name of the tz database, None for
    the machine's zone. ``notes`` are sentences about settings that were ignored.
    """

    db: Path = Path("ecphora.db")
    scope: str = "default"
    embedder: str | None = None
    strategy: str = "fused"
    weights: str | None = None
    reranker: str | None = None
    reranker_base_url: str | None = None
    reranker_api_key: str | None = field(default=None, repr=False)
    reranker_scale: str | None = None
    evidence_bands: str | None = None
    llm: str | None = None
    llm_base_url: str | None = None
    llm_prices: str | None = None
    extractor_tokens: str | None = None
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    extractor: str | None = None
    store: str | None = field(default=None, repr=False)
    zone: str | None = None
    notes: tuple[str, ...] = ()

    def with_overrides(self, **overrides: str | None) -> "Settings":
        """These settings with arguments in place of some of them; None overrides nothing."""
        given = {name: value for name, value in overrides.items() if value is not None}
        return replace(self, **given)  # type: ignore[arg-type]  # fields that are texts

    def make_strategy(self) -> str | Strategy:
        """The strategy that is set; with a weights file, ``fused`` with these weights."""
        if self.weights is None:
            return self.strategy
        if self.strategy != "fused":
            raise InvalidInput(f"weights belong to fused, not to {self.strategy!r}; leave out one of the two")
        from .strategies.fused import weights  # noqa: PLC0415  # rarely used
        from .strategies.fused.strategy import Fused  # noqa: PLC0415

        try:
            text = Path(self.weights).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"the weights {self.weights} cannot be read ({error}); make them with ecphora learn"
            ) from error
        return Fused(*weights.parse_fused_model(text))

    def make_evidence_bands(self) -> "EvidenceBands":
        """The evidence bands that are set, else a memory's default bands."""
        from .retrieval.confidence import DEFAULT_BANDS, EvidenceBands  # noqa: PLC0415  # rarely used

        return DEFAULT_BANDS if self.evidence_bands is None else EvidenceBands.from_text(self.evidence_bands)

    def make_embedder(self, stored_name: str | None = None) -> Embedder:
        """The embedder that is set, else the embedder that ``stored_name`` names, else the default embedder.

        Raises ``InvalidInput`` if ``stored_name`` is a remote one: a memory's file may not decide where data is sent.
        """
        from .models.embedders import from_setting  # noqa: PLC0415  # each embedder is imported only when used
        from .models.embedders.from_setting import packaged_embedder  # noqa: PLC0415

        if self.embedder is not None:
            return from_setting.embedder_from_setting(
                self.embedder, base_url=self.openai_base_url, api_key=self.openai_api_key
            )
        if stored_name is None:
            return packaged_embedder(None)
        return from_setting.embedder_from_name(stored_name, user_file())

    def make_extractor(self) -> Extractor | None:
        """The extractor that is set; None for the built-in one."""
        if self.extractor in {None, "rules"}:
            return None
        if self.extractor == "llm":
            from .models.llm_extractor import LLMExtractor  # noqa: PLC0415  # rarely used
            from .models.llms.from_setting import parse_tokens  # noqa: PLC0415

            return LLMExtractor(
                self._require_llm("extractor"), max_tokens=parse_tokens("extractor_tokens", self.extractor_tokens)
            )
        extractor: Extractor = plugins.load("extractors", str(self.extractor), EXTRACTOR_CHOICES)
        return extractor

    def open_store(self) -> Store:
        """The store that is set, else the memory's file, which is created if it does not exist."""
        if self.store is not None and not is_postgres_url(self.store):
            store: Store = plugins.load("stores", self.store)
            return store
        from .stores.opening import open_store  # noqa: PLC0415

        return open_store(self.db if self.store is None else self.store)

    @property
    def location(self) -> str:
        """Where the memory is, as errors say it; of a store's URL only the scheme, because the rest may be secret."""
        if self.store is None:
            return str(self.db)
        return hide_password(self.store) if is_postgres_url(self.store) else f"the store {self.store.partition(':')[0]}"

    @property
    def token_base(self) -> Path:
        """The path beside which the server's tokens are kept: the memory's, or one of the user's for a database."""
        if self.store is None:
            return self.db
        if not is_postgres_url(self.store):
            raise InvalidInput(f"this command works on a file or PostgreSQL, and not on {self.location}; give --db")
        return user_db().with_name(database_name(self.store))

    def make_llm(self) -> LLM | None:
        """The language model that is set, or None; without one nothing is sent anywhere."""
        if self.llm is None:
            return None
        from .models.llms.from_setting import llm_from_setting  # noqa: PLC0415  # rarely used

        kind, _, model = self.llm.partition(":")
        setting = f"{kind}:{expand_home(model)}" if kind == "llamacpp" and model else self.llm
        url = self.llm_base_url or self.openai_base_url
        return llm_from_setting(setting, base_url=url, api_key=self.openai_api_key, prices=self.llm_prices)

    def _require_llm(self, user: str) -> LLM:
        if (llm := self.make_llm()) is None:
            from .models.llms.from_setting import LLM_CHOICES  # noqa: PLC0415

            raise InvalidInput(f"the {user} is llm, and no language model is set; set llm to {LLM_CHOICES}")
        return llm

    def make_reranker(self) -> Reranker | Default | None:
        """The reranker that is set, else the default of a memory; the built-in one stands in while another fails."""
        if self.reranker == "none":
            return None
        from .models.rerankers.late_interaction import LateInteractionReranker  # noqa: PLC0415

        if self.reranker is None:
            return DEFAULT
        if self.reranker == "builtin":
            return LateInteractionReranker()
        from .models.rerankers.fallback import FallbackReranker  # noqa: PLC0415

        return FallbackReranker(self._reranker_from_setting(self.reranker), LateInteractionReranker())

    def _reranker_from_setting(self, setting: str) -> Reranker:
        kind, _, model = setting.partition(":")
        scale: Any = self.reranker_scale  # the rerankers check it
        if kind in {"jina", "cohere", "vllm", "tei", "llama-server"} and model:
            from .models.rerankers.rerank_endpoint import EndpointReranker  # noqa: PLC0415  # each is imported only when used

            is_url = kind in {"tei", "llama-server"}  # these servers have one model each
            name, url = ("reranker", model) if is_url else (model, self.reranker_base_url)
            return EndpointReranker(name, shape=kind, base_url=url, api_key=self.reranker_api_key, scale=scale)
        if kind == "llamacpp" and model:
            from .models.rerankers.llamacpp_reranker import LlamaCppReranker  # noqa: PLC0415

            return LlamaCppReranker(expand_home(model), scale=scale or "log_odds")
        if kind == "cross-encoder" and model:
            from .models.rerankers.cross_encoder import CrossEncoderReranker  # noqa: PLC0415

            return CrossEncoderReranker(model)
        if setting == "llm":
            from .models.rerankers.llm_judge import LLMReranker  # noqa: PLC0415

            return LLMReranker(self._require_llm("reranker"))
        raise UnknownName(f"no reranker is called {setting!r}; give {RERANKER_CHOICES}")


def load(
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
    *,
    arguments: Mapping[str, str | None] = _NO_ARGUMENTS,
    user_path: Path | None = None,
) -> Settings:
    """Read the settings from every source, the most trusted first.

    ``environ``, ``folder`` and ``user_path`` replace the process's environment, the working directory and the path of
    the user's own file. Settings that a project's file may not set are ignored and named in ``notes``.

    Raises ``InvalidInput`` for a file that cannot be read, for unknown keys and bad values, and for a path in a
    project's file that leads out of the project's folder, unless a source before it has set that path.
    """
    environ = os.environ if environ is None else environ
    folder = Path() if folder is None else folder
    found: dict[str, str] = {}
    notes: list[str] = []
    _add_settings(found, _expand_paths({key: value for key, value in arguments.items() if value is not None}))
    _add_settings(found, _expand_paths(_read_environment(environ)))
    if config := environ.get("ECPHORA_CONFIG"):
        _add_settings(found, _read_trusted_file(folder / expand_home(config)))
    else:
        own = user_file() if user_path is None else user_path
        if _file_exists(own):
            _add_settings(found, _read_trusted_file(own))
        if _file_exists(project := folder / PROJECT_FILE):
            _add_settings(found, _read_project_file(project, _keys_set(found), own, notes))
    db = found.pop("db", None)
    return Settings(**({"db": Path(db)} if db else {}), notes=tuple(notes), **found)  # type: ignore[arg-type]  # checked: the keys are known


def _add_settings(found: dict[str, str], source: Mapping[str, str]) -> None:
    """Add what a source sets and no source before it has set."""
    if is_postgres_url(source.get("db")) and "store" not in source:  # the other way to say it
        source = {("store" if key == "db" else key): value for key, value in source.items()}
    added = {key: value for key, value in source.items() if key not in _keys_set(found)}
    if added.keys() >= LOCATION_KEYS:
        raise InvalidInput("both db and store are set, a file and a store in its place; set one of them")
    found |= added


def _keys_set(found: Collection[str]) -> frozenset[str]:
    """The settings that are decided: a source that sets ``db`` or ``store`` decides both."""
    return frozenset(found) | (LOCATION_KEYS if LOCATION_KEYS & frozenset(found) else frozenset())


def user_file() -> Path:
    """The path of the user's own settings: ``~/.config/ecphora/config.toml`` on Linux."""
    from platformdirs import user_config_path  # noqa: PLC0415  # only needed without ECPHORA_CONFIG

    return user_config_path("ecphora", appauthor=False) / USER_FILE


def user_db() -> Path:
    """The file of a memory that belongs to no folder: ``~/.local/share/ecphora/memory.db`` on Linux."""
    from platformdirs import user_data_path  # noqa: PLC0415  # rarely needed

    return user_data_path("ecphora", appauthor=False) / "memory.db"


def expand_home(path: str | Path) -> Path:
    """Expand a leading ``~`` or ``~name`` to the home folder; raises ``InvalidInput`` if there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InvalidInput(f"{str(path)!r} names a home folder that cannot be found; give the full path") from error


def _file_exists(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # a home that this process may not look into
        return False


def _read_environment(environ: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for key, variables in ENV_VARIABLES.items():
        for variable in reversed(variables):
            if environ.get(variable):
                found[key] = environ[variable]
    return found


def _read_trusted_file(path: Path) -> dict[str, str]:
    """Read a trusted file; a relative path in it is relative to that file."""
    return _expand_paths(_read_toml(path), path.parent)


def _expand_paths(values: dict[str, str], folder: Path | None = None) -> dict[str, str]:
    """Expand the ``~`` of paths and put relative paths under ``folder``; must be applied only once."""
    paths = {key: expand_home(values[key]) for key in PATH_KEYS if key in values and not is_postgres_url(values[key])}
    return values | {key: str(path if folder is None else folder / path) for key, path in paths.items()}


def _read_project_file(path: Path, keys_set: Collection[str], user_path: Path, notes: list[str]) -> dict[str, str]:
    """Read an untrusted file: the settings that it may set and that no other source has set.

    ``notes`` gets a sentence about the others.
    """
    found = {key: value for key, value in _read_toml(path).items() if key not in keys_set}
    ignored = [key for key, value in found.items() if not _is_allowed_in_project(key, value)]
    if ignored:
        variables = ", ".join(ENV_VARIABLES[key][0] for key in ignored)
        notes.append(
            f"ignored in the project's file {path}: {', '.join(ignored)}. Settings that decide where data is sent must "
            f"be set in {user_path}, by {variables}, or by an argument"
        )
    allowed = {key: value for key, value in found.items() if key not in ignored}
    return allowed | {key: str(_path_in_project(path, key, allowed[key])) for key in PATH_KEYS if key in allowed}


def _is_allowed_in_project(key: str, value: str) -> bool:
    """Whether a project's file may set a setting to a value, if a path in it stays inside the project's folder."""
    kind = value.partition(":")[0]
    return key in PROJECT_KEYS and kind in PROJECT_KINDS.get(key, {kind})


def _path_in_project(file: Path, key: str, value: str) -> Path:
    """A path in a project's file; raises ``InvalidInput`` if it leads out of the file's folder, also by a link."""
    path = file.parent / value
    is_relative = not (
        value.startswith("~") or Path(value).anchor
    )  # first, since resolving the path of a network share contacts its host
    try:
        inside = is_relative and path.resolve().is_relative_to(file.parent.resolve())
        if inside and path.is_symlink():
            path.resolve(strict=True)  # from Python 3.13 on only this detects a loop
    except FileNotFoundError:
        pass  # a link inside the folder to a file that does not exist yet
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file can have
        inside = False
    if not inside:
        option = {"db": "--db", "weights": "--weights"}[key]
        raise InvalidInput(
            f"the project's file {file} sets {key} to {value!r}, outside its own folder; give a path inside it, or set "
            f"{option} or {ENV_VARIABLES[key][0]} yourself"
        )
    return path


def _read_toml(path: Path) -> dict[str, str]:
    import tomllib  # noqa: PLC0415  # only needed if there is a file

    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(
            f"the settings file {path} cannot be read ({error}); repair it, or change ECPHORA_CONFIG"
        ) from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise InvalidInput(f"the settings file {path} is not TOML: {error}") from error
    for key, value in table.items():
        if key not in ENV_VARIABLES:
            raise InvalidInput(
                f"{path} sets {key!r}, which is not a setting; the settings are {', '.join(ENV_VARIABLES)}"
            )
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{path} sets {key!r} to {value!r}; give a text")
    return table
