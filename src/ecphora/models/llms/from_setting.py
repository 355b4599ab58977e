"""Makes a language model from its setting, and reads the settings that belong to it."""

from pathlib import Path

from ...errors import InvalidInput, UnknownName
from ...model.ports import LLM

LLM_CHOICES = "openai:MODEL or llamacpp:PATH"
"""The values of a language model setting, as errors list them."""


def llm_from_setting(
    setting: str, *, base_url: str | None = None, api_key: str | None = None, prices: str | None = None
) -> LLM:
    """The language model that a setting names; raises ``UnknownName`` if there is none of that name."""
    kind, _, model = setting.partition(":")
    if kind == "openai" and model:
        from ..http_client import OPENAI_BASE_URL  # noqa: PLC0415  # each is imported only when used
        from .openai_chat import OpenAILLM  # noqa: PLC0415

        dollars = parse_prices(prices) or (0.0, 0.0)
        return OpenAILLM(model, base_url=base_url or OPENAI_BASE_URL, api_key=api_key, prices=dollars)
    if kind == "llamacpp" and model:
        from .llamacpp import LlamaCppLLM  # noqa: PLC0415

        return LlamaCppLLM(Path(model))
    raise UnknownName(f"no language model is called {setting!r}; give {LLM_CHOICES}")


def parse_prices(setting: str | None) -> tuple[float, float] | None:
    """The US dollars of a million tokens in and out, as in "0.15,0.6"; None if they are not set."""
    if setting is None:
        return None
    try:
        found = [float(part) for part in setting.split(",")]
    except ValueError:
        found = []
    if len(found) != 2 or not all(0 <= price < float("inf") for price in found):
        raise InvalidInput(
            f"llm_prices is {setting!r}; give the US dollars of a million tokens in and out, such as 0.15,0.6"
        )
    return found[0], found[1]


def parse_tokens(name: str, setting: str | None) -> int | None:
    """A limit in tokens; None if it is not set."""
    if setting is None:
        return None
    if not (setting.isascii() and setting.isdigit() and int(setting[:19]) > 0 and len(setting) < 19):
        raise InvalidInput(f"{name} is {setting!r}; give a number of tokens, such as 20000")
    return int(setting)
