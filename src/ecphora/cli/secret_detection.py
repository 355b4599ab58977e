"""Whether a text looks like it holds a secret, such as a key or a password. What does is not stored by ``hook``.

Without the extra ``hooks``, a text holds a secret if it has a private key, a web token, a password in an address, a
name such as ``password`` with a value that has a digit, or a key that begins as the keys of well-known services do
(``KEY_PREFIXES``). With it, the detectors of detect-secrets are asked too. They are given single lines and send
nothing: they verify no key with its service.
"""

from collections.abc import Iterator
from typing import Any

from ..model.lazy import lazy_pattern

KEY_PREFIXES = (
    "sk-", "sk_live_", "sk_test_", "rk_live_",  # OpenAI, Anthropic, Stripe
    "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-",  # GitHub, GitLab
    "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xapp-",  # Slack
    "AKIA", "ASIA", "AIza", "ya29.", "dop_v1_",  # AWS, Google, DigitalOcean
    "hf_", "npm_", "pypi-", "SG.", "ecp_",  # Hugging Face, npm, PyPI, SendGrid, Ecphora
)  # fmt: skip
"""How keys begin; at least 16 letters, digits, dots, dashes or underscores follow."""
_KEY = lazy_pattern(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(prefix.replace('.', '[.]') for prefix in KEY_PREFIXES)})[\w.-]{{16,}}"
)
_PRIVATE_KEY = lazy_pattern(r"-----BEGIN [A-Z ]*PRIVATE KEY")
_WEB_TOKEN = lazy_pattern(r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.")
_PASSWORD_IN_URL = lazy_pattern(r"\b[a-z][a-z0-9+.-]*://[^\s/:@]+:[^\s/@]{3,}@")
_ASSIGNMENT = lazy_pattern(
    r"(?i)(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)\w*[\"']?\s*[:=]\s*[\"']?(?=\S*\d)[^\s\"',;()]{8,}"
)
_LEFT_OUT = ("Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector")
"""Detectors that take commits, digests and addresses for secrets."""


def has_secret(text: str) -> bool:
    """Whether a text looks like it holds a secret."""
    patterns = (_PRIVATE_KEY, _KEY, _WEB_TOKEN, _PASSWORD_IN_URL, _ASSIGNMENT)
    if any(pattern.search(text) for pattern in patterns):
        return True
    detectors = list(_detectors())
    return any(any(detector.analyze_string(line)) for line in text.splitlines() for detector in detectors)


def _detectors() -> Iterator[Any]:
    """The detectors of detect-secrets; none if it is not installed."""
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # noqa: PLC0415
    except ImportError:
        return
    for detector in get_mapping_from_secret_type_to_class().values():
        if detector.__name__ not in _LEFT_OUT:
            yield detector()
