"""The built-in extractor fulfills the contract of extractors."""

import pytest

from ecphora.extractors.rule_extractor import RuleExtractor
from ecphora.ports import Extractor
from ecphora.testing import ExtractorContract


class TestRules(ExtractorContract):
    @pytest.fixture
    def extractor(self) -> Extractor:
        return RuleExtractor()
