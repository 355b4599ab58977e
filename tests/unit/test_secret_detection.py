"""What looks like a secret, without and with the detectors of detect-secrets."""

import sys
import time
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
        "key-0123456789abcdef0123456789abcdef",
        "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXX",
        "https://discord.com/api/webhooks/123456789012345678/AbCdEfGhIjKlMnOpQrSt",
        "https://x.blob.core.windows.net/c?sv=2022-11-02&sig=Zm9vYmFyYmF6cXV4Zm9v",
        "redis://:s3cretpw@cache:6379",
        "PuTTY-User-Key-File-2: ssh-rsa",
        "Use this:\n  DB_PASS=hunter-secret\n",
        "export SECRET_KEY_BASE=abcdefghijklmnop",
        "My password is hunter2hunter2",
        "パスワードは hunter2hunter2 です",
        "mysql --password hunter22x -u root",
        "machine x login ana password hunter2hunter2",
        "Authorization: Bearer AbCd1234EfGh5678",
        "curl -u ana:hunterpass https://example.org",
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
        "api_key = os.environ['OPENAI_API_KEY_2']",
        "API_KEY=${{ secrets.API_KEY_1 }}",
        "DEBUG_TOKEN=true",
        "docker run -u 1000:1000 image",
        "The password is required and has 8 characters.",
        "Add a key-value-store-for-the-sessions.",
    ],
)
def test_ordinary_text_is_no_secret(text: str) -> None:
    assert not has_secret(text)


@pytest.mark.slow
@pytest.mark.usefixtures("without_detectors")
@pytest.mark.parametrize("part", ["password", "token_", "://a:b", "eyJ", "a.b:", "A_", "-u a", "x"])
def test_time_grows_with_the_length_of_a_text(part: str) -> None:
    """With its square, these would take minutes."""
    start = time.process_time()
    assert not has_secret(part * (800_000 // len(part)))
    assert time.process_time() - start < 20  # seconds


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
