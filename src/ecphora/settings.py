"""Settings from the environment and a TOML file: their only reader. It opens no memory."""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import InvalidInput, UnknownName
from .ports import LLM, Embedder, Strategy

FILE = "ecphora.toml"
"""The settings file that is looked for in the working directory; ``ECPHORA_CONFIG`` names another."""
VARIABLES = {
    "db": ("ECPHORA_DB",),
    "scope": ("ECPHORA_SCOPE",),
    "embedder": ("ECPHORA_EMBEDDER",),
    "strategy": ("ECPHORA_STRATEGY",),
    "weights": ("ECPHORA_WEIGHTS",),
    "llm": ("ECPHORA_LLM",),
    "llm_base_url": ("ECPHORA_LLM_BASE_URL",),
    "openai_base_url": ("ECPHORA_OPENAI_BASE_URL",),
    "openai_api_key": ("ECPHORA_OPENAI_API_KEY", "OPENAI_API_KEY"),
}
"""Every setting, as it is called in the file, and the environment variables that come before the file."""
EMBEDDERS = "minilm, e5, hashing, openai:MODEL or sentence-transformers:MODEL"
"""What an embedder setting may say."""
LLMS = "openai:MODEL or llamacpp:PATH"
"""What a language model setting may say."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds where a command says nothing else.

    ``embedder`` is ``None`` for the one a scope was written with, ``llm`` for no language model. ``llm_base_url`` is
    ``openai_base_url`` where it is ``None``.
    """

    db: Path = Path("ecphora.db")
    scope: str = "default"
    embedder: str | None = None
    strategy: str = "fused"
    weights: str | None = None
    llm: str | None = None
    llm_base_url: str | None = None
    openai_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)

    def over(self, *, db: str | None = None, **given: str | None) -> "Settings":
        """These settings with what a command line says in their place."""
        said = {name: value for name, value in given.items() if value is not None}
        return replace(self, db=self.db if db is None else Path(db), **said)

    def make_strategy(self) -> str | Strategy:
        """The strategy to use: the one that is set, ``fused`` with weights of its own where a file of them is named."""
        if self.weights is None:
            return self.strategy
        if self.strategy != "fused":
            raise InvalidInput(f"weights are for fused, not for {self.strategy!r}; leave out one of the two")
        from . import weights  # noqa: PLC0415  # what is rarely used is imported where it is used
        from .strategies.fused import Fused  # noqa: PLC0415

        try:
            text = Path(self.weights).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(
                f"the weights {self.weights} cannot be read ({error}); make them with ecphora learn"
            ) from error
        return Fused(*weights.fused_of(text))

    def make_embedder(self, stored: str | None = None) -> Embedder:
        """The embedder to use: the one that is set, else the one of the name ``stored``, else the default one."""
        if self.embedder is not None:
            return self._of_setting(self.embedder)
        return self._of_setting("minilm") if stored is None else self._of_name(stored)

    def make_llm(self) -> LLM | None:
        """The language model that is set; None where none is, and then nothing is sent anywhere."""
        if self.llm is None:
            return None
        kind, _, model = self.llm.partition(":")
        if kind == "openai" and model:
            from .llms.openai import OpenAIChat  # noqa: PLC0415  # each is imported only where it is used
            from .served import OPENAI  # noqa: PLC0415

            url = self.llm_base_url or self.openai_base_url or OPENAI
            return OpenAIChat(model, base_url=url, api_key=self.openai_api_key)
        if kind == "llamacpp" and model:
            from .llms.llamacpp import LlamaCpp  # noqa: PLC0415

            return LlamaCpp(model)
        raise UnknownName(f"no language model is called {self.llm!r}; give {LLMS}")

    def _of_setting(self, setting: str) -> Embedder:
        kind, _, model = setting.partition(":")
        if kind == "minilm" and not model:
            from .embedders.minilm import MiniLM  # noqa: PLC0415  # each embedder is imported only where it is used

            return MiniLM()
        if kind == "e5" and not model:
            from .embedders.e5 import E5  # noqa: PLC0415

            return E5()
        if kind == "hashing" and (not model or (model.isascii() and model.isdigit())):
            from .embedders.hashing import Hashing  # noqa: PLC0415

            return Hashing(int(model)) if model else Hashing()
        if kind == "openai" and model:
            from .embedders.openai import OpenAIEmbedder  # noqa: PLC0415

            if self.openai_base_url is None:
                return OpenAIEmbedder(model, api_key=self.openai_api_key)
            return OpenAIEmbedder(model, base_url=self.openai_base_url, api_key=self.openai_api_key)
        if kind == "sentence-transformers" and model:
            from .embedders.sentence_transformers import SentenceTransformersEmbedder  # noqa: PLC0415

            return SentenceTransformersEmbedder(model)
        raise UnknownName(f"no embedder is called {setting!r}; give {EMBEDDERS}")

    def _of_name(self, name: str) -> Embedder:
        """The embedder that calls itself so."""
        from .embedders.e5 import E5  # noqa: PLC0415
        from .embedders.minilm import MiniLM  # noqa: PLC0415

        model, _, kind = name.rpartition("@")
        if name == MiniLM.name:
            return MiniLM()
        if name == E5.name:
            return E5()
        if name.startswith("hashing/"):
            return self._of_setting(f"hashing:{name.removeprefix('hashing/')}")
        if kind in {"openai", "sentence-transformers"}:
            return self._of_setting(f"{kind}:{model}")
        raise UnknownName(
            f"the scope was embedded by {name!r}, which cannot be made from its name alone; use it from Python, "
            "or change the scope over with: ecphora reembed --embedder minilm"
        )


def load(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """Read the settings: environment first, then the file, then the defaults.

    ``environ`` and ``folder`` stand in for the process's own. A relative ``db`` in the file is relative to that file.
    Raises ``InvalidInput`` for a file that cannot be read and for keys and values that mean nothing.
    """
    environ = os.environ if environ is None else environ
    folder = Path() if folder is None else folder
    named = environ.get("ECPHORA_CONFIG")
    path = folder / (named or FILE)
    found: dict[str, str] = _from_file(path) if named or path.is_file() else {}
    if "db" in found:
        found["db"] = str(path.parent / Path(found["db"]).expanduser())
    for key, variables in VARIABLES.items():
        for variable in reversed(variables):
            if environ.get(variable):
                found[key] = environ[variable]
    db = found.pop("db", None)
    return Settings(**({"db": Path(db)} if db else {}), **found)  # type: ignore[arg-type]  # checked: the keys are known


def _from_file(path: Path) -> dict[str, str]:
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the settings file {path} cannot be read ({error}); mend ECPHORA_CONFIG") from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise InvalidInput(f"the settings file {path} is not TOML: {error}") from error
    for key, value in table.items():
        if key not in VARIABLES:
            raise InvalidInput(f"{path} sets {key!r}, which is no setting; there are {', '.join(VARIABLES)}")
        if not isinstance(value, str) or not value:
            raise InvalidInput(f"{path} sets {key!r} to {value!r}; give a text")
    return table
