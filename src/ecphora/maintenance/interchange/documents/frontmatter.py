"""The YAML block at the beginning of a Markdown file, read with PyYAML's safe loader and written.

Plain values are read as in YAML 1.2: dates stay texts, "yes" and "12:30" are texts too. Aliases are refused, because a
few lines of them can stand for gigabytes.
"""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from ....errors import InvalidInput

BAD_FRONTMATTER = "frontmatter that is not valid YAML"
MAX_FRONTMATTER_CHARS = 1_000_000
_OPENING = re.compile(r"\A---[ \t]*\r?\n")
_CLOSING = re.compile(r"^---[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_SCALARS = (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)\Z", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)\Z", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]{1,400}\Z", "-+0123456789"),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?\Z", "-+.0123456789"),
)


def split_frontmatter(text: str) -> tuple[str | None, str]:
    """The YAML of a Markdown text, None if it has none, and the body behind it."""
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return None, text
    return text[opening.end() : closing.start()], text[closing.end() :]


def load_frontmatter(source: str) -> dict[str, Any] | None:
    """The mapping in some YAML, None if it is no valid one; raises ``InvalidInput`` if PyYAML is not installed."""
    yaml = _import_yaml()
    if len(source) > MAX_FRONTMATTER_CHARS:
        return None
    try:
        found = yaml.load(source, _loader(yaml))  # a safe loader
    except (yaml.YAMLError, ValueError, TypeError, LookupError, OverflowError, RecursionError, AttributeError):
        return None
    if found is None:
        return {}
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else None


def dump_frontmatter(values: Mapping[str, Any]) -> str:
    """A mapping as a YAML block between its two marks, each with its line end."""
    yaml = _import_yaml()
    body = yaml.dump(dict(values), Dumper=_dumper(yaml), allow_unicode=True, sort_keys=False, width=float("inf"))
    return f"---\n{body}---\n"


def _import_yaml() -> ModuleType:
    try:
        import yaml  # noqa: PLC0415  # of the extra
    except ImportError as error:
        raise InvalidInput("reading YAML needs PyYAML: pip install 'ecphora[import]'") from error
    return yaml


_loaders: dict[str, Any] = {}


def _loader(yaml: Any) -> Any:
    if "loader" not in _loaders:

        class Loader(yaml.SafeLoader):  # type: ignore[misc]  # the module is not typed
            yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # as PyYAML has it

            def compose_node(self, parent: Any, index: Any) -> Any:
                if self.check_event(yaml.events.AliasEvent):
                    raise yaml.YAMLError("an alias")
                return super().compose_node(parent, index)

            def flatten_mapping(self, node: Any) -> None:
                """Leave "<<" as any other key."""

        for tag, pattern, first in _SCALARS:
            Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
        _loaders["loader"] = Loader
    return _loaders["loader"]


def _dumper(yaml: Any) -> Any:
    if "dumper" not in _loaders:

        class Dumper(yaml.SafeDumper):  # type: ignore[misc]  # the module is not typed
            def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002  # as PyYAML calls it
                return True

        def represent(dumper: Any, text: str) -> Any:
            """Quote a text with escapes if PyYAML could write it so that it is read differently."""
            style = None if text.isprintable() and text == text.strip() else '"'
            return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)

        Dumper.add_representer(str, represent)
        for tag, pattern, first in _SCALARS:  # so that a text that looks like one of these is quoted
            Dumper.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), list(first))
        _loaders["dumper"] = Dumper
    return _loaders["dumper"]
