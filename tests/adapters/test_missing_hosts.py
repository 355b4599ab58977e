"""Without its host an adapter says what to install."""

import subprocess
import sys

import pytest

HOSTS = {
    "agent_framework": ("agent_framework", "ecphora[agent-framework]"),
    "anthropic": ("anthropic", "ecphora[anthropic]"),
    "crewai": ("crewai", "ecphora[crewai]"),
    "google_adk": ("google.adk", "ecphora[google-adk]"),
    "hermes": ("agent", "hermes-agent"),
    "langchain": ("langchain", "ecphora[langchain]"),
    "langgraph": ("langgraph", "ecphora[langgraph]"),
    "llamaindex": ("llama_index", "ecphora[llama-index]"),
    "openai_agents": ("agents", "ecphora[openai-agents]"),
    "pydantic_ai": ("pydantic_ai_harness", "ecphora[pydantic-ai]"),
    "strands": ("strands", "ecphora[strands]"),
}
"""The package of the host of each adapter, and what installs it."""


@pytest.mark.medium
@pytest.mark.parametrize("adapter", HOSTS)
def test_a_missing_host_is_one_clear_error(adapter: str) -> None:
    package, installed = HOSTS[adapter]
    code = f"import sys; sys.modules[{package!r}] = None; import ecphora.adapters.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith(f"not installed; run: pip install '{installed}'")
