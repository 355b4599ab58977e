"""What looks like a secret, without and with the detectors of detect-secrets."""

import sys
from types import ModuleType
from typing import Any

import pytest

from ecphora.cli.secret_detection import KEY_PREFIXES, has_secret

BODY = "a1B2c3D4e5F6g7H8"


@pytest.fixture
def without_detectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As without the extra ``hooks``."""
    monkeypatch.setitem(sys.modules, "detect_secrets", None)


@pytest.mark.usefixtures("without_detectors")
@pytest.mark.parametrize("prefix", KEY_PREFIXES)
def test_key_of_a_service_is_a_secret(prefix: str) -> None:
    assert has_secret(f"Deploy it with ({prefix}{BODY}), please.")
    assert not has_secret(f"Deploy it with ({prefix}{BODY[:15]}), please.")
    assert not has_secret(f"Deploy it with x{prefix}{BODY}, please.")


@pytest.mark.usefixtures("without_detectors")
@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN PRIVATE KEY-----\nMIIE",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "Connect to postgres://ana:s3cret@db.example/shop",
        "DB_PASSWORD=hunter2hunter2",
        'api_key: "abcd1234efgh"',
        "The token = 12345678",
        "export AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMI7'",
    ],
)
def test_secret_is_found(text: str) -> None:
    assert has_secret(text)


@pytest.mark.usefixtures("without_detectors")
@pytest.mark.parametrize(
    "text",
    [
        "Where does Ana live?",
        "The secret of good bread is time.",
        "Rename get_password(user) to read_password.",
        "def login(password: str, token: Token) -> None: ...",
        "token: Optional[AccessToken] = None",
        "Commit 5976851b1234567890abcdef1234567890abcdef broke it.",
        "The server is at 10.0.0.8, docs at https://example.org/a:b",
        "I took the risk-averse path; the task-based-scheduler-of-the-team is late.",
        "Fix the ask-for-confirmation-dialog and the disk-usage-report-generator.",
    ],
)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert not has_secret(text)


def test_detectors_are_asked_line_by_line_and_verify_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class FakeDetector:
        def analyze_string(self, line: str) -> list[str]:
            asked.append(line)
            return [line] if line == "marked" else []

        def verify(self, *_arguments: Any) -> None:
            pytest.fail("a verification sends the secret to its service")

    class HexHighEntropyString(FakeDetector):
        """One of those that are left out."""

        def analyze_string(self, line: str) -> list[str]:
            return [line]

    names = ("detect_secrets", "detect_secrets.core", "detect_secrets.core.plugins", "detect_secrets.core.plugins.util")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    found = {"fake": FakeDetector, "hex": HexHighEntropyString}
    monkeypatch.setattr(sys.modules[names[-1]], "get_mapping_from_secret_type_to_class", lambda: found, raising=False)
    assert not has_secret("one\ntwo")
    assert asked == ["one", "two"]
    assert has_secret("one\nmarked")
