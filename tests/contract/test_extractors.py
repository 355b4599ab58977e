"""The built-in extractors fulfill the contract of extractors."""

import json
import re

import pytest

from ecphora.model.ports import Extractor, Prompt
from ecphora.models.llm_extractor import LLMExtractor
from ecphora.models.rule_extractor import RuleExtractor
from ecphora.testing import ExtractorContract, ScriptedLLM


def list_words(prompt: Prompt) -> str:
    """A reply that mentions the first words of each text, and one that no text has."""
    texts = re.findall(r'<text number="\d+">\n(.*?)\n</text>', prompt.user, re.DOTALL)
    names = [(number, name) for number, text in enumerate(texts, 1) for name in [*text.split()[:3], "Zanzibar"]]
    facts = {"type": "person", "description": "somebody", "importance": 4}
    relations = [
        {"text": number, "subject": name, "predicate": "knows", "object": "Porto", "type": "related_to"}
        for number, name in names
    ]
    mentions = [{"text": number, "name": name, **facts} for number, name in names]
    return json.dumps({"mentions": mentions, "relations": relations})


class TestRules(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return RuleExtractor()


class TestLLM(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return LLMExtractor(ScriptedLLM(list_words))


class TestBrokenLLM(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return LLMExtractor(ScriptedLLM([], failing_calls=range(1_000)))
