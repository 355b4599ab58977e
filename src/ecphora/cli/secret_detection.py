"""Whether a text looks like it holds a secret, such as a key or a password. What does is not stored by ``hook``.

Without the extra ``hooks``, a text holds a secret if it has a private key, a web token, a password in an address, a
name such as ``password`` with a value that has a digit, a line of an environment file such as ``DB_PASS=``, a header or
an option that authorizes, or a key that begins as the keys of well-known services do (``KEY_PREFIXES``). With it, the
detectors of detect-secrets are asked too. They are given single lines and send nothing: they verify no key with its
service.
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
    "gsk_", "xai-", "pplx-", "r8_", "lin_api_", "ntn_",  # Groq, xAI, Perplexity, Replicate, Linear, Notion
    "whsec_", "glrt-", "glsa_", "GOCSPX-", "shpat_", "sbp_",  # Stripe, GitLab, Grafana, Google, Shopify, Supabase
    "hvs.", "dckr_pat_", "pscale_tkn_", "NRAK-", "AGE-SECRET-KEY-",  # Vault, Docker, PlanetScale, New Relic, age
)  # fmt: skip
"""How keys begin; at least 16 letters, digits, dots, dashes or underscores follow."""
_KEY = lazy_pattern(
    rf"(?<![A-Za-z0-9])(?:{'|'.join(prefix.replace('.', '[.]') for prefix in KEY_PREFIXES)})[\w.-]{{16,}}"
)
_HEX_KEY = lazy_pattern(r"(?<![A-Za-z0-9])(?:key-|SK|dapi)[0-9a-f]{32}(?![0-9a-f])")  # Mailgun, Twilio, Databricks
_BOT_TOKEN = lazy_pattern(r"(?<!\d)\d{8,10}:AA[\w-]{30,}")  # Telegram
_PRIVATE_KEY = lazy_pattern(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY|PuTTY-User-Key-File")
_WEB_TOKEN = lazy_pattern(r"\beyJ[\w-]{8,400}\.eyJ[\w-]{8,}")
_PASSWORD_IN_URL = lazy_pattern(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@]{0,100}:[^\s/@]{3,200}@")
_SECRET_URL = lazy_pattern(
    r"hooks\.slack\.com/services/\w|/api/webhooks/\d+/[\w-]{20}|[?&;](?:sig|AccountKey)=[\w+/%-]{16}"
)
_ASSIGNMENT = lazy_pattern(
    r"(?i)(?:passwor[dt]|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)\w{0,40}[\"']?\s{0,9}[:=]\s{0,9}[\"']?"
    r"(?!os\.|process\.|\$|<|\{)(?=\S{0,200}\d)[^\s\"',;()]{8,}"
)
_ENVIRONMENT = lazy_pattern(
    r"(?m)^\s{0,9}(?:export )?(?:[A-Z0-9]{1,30}_){0,6}(?:PASS|PASSWORD|PASSPHRASE|PWD|SECRET|TOKEN|KEY|KEY_BASE)="
    r"(?!\$|<|\{|true|false)[^\s]{6,}"
)
_SAID = lazy_pattern(
    r"(?i)(?:passwor[dt]|passwd|passphrase|パスワード|密码|密碼)\s{0,9}(?:is|ist|は|是|[:：])?\s{0,9}"
    r"(?=\S{0,60}\d)(?=\S{0,60}[a-z])[^\s\"',;()=]{8,}"
)
_AUTHORIZATION = lazy_pattern(
    r"(?i:authorization[\"']?\s{0,9}[:=]\s{0,9}[\"']?(?:bearer|basic|token)) [\w+/=.~-]{8,}"
    r"|\s(?:-u|--user)[ =](?=\S{0,100}[A-Za-z])[^\s:]{1,100}:[^\s:]{3,}"
)
_PATTERNS = (
    _PRIVATE_KEY, _KEY, _HEX_KEY, _BOT_TOKEN, _WEB_TOKEN, _PASSWORD_IN_URL, _SECRET_URL, _ASSIGNMENT, _ENVIRONMENT,
    _SAID, _AUTHORIZATION,
)  # fmt: skip
"""Repetitions are bounded, so that the time grows with the length of a text and not with its square."""
_LEFT_OUT = ("Base64HighEntropyString", "HexHighEntropyString", "IPPublicDetector")
"""Detectors that take commits, digests and addresses for secrets."""


def has_secret(text: str) -> bool:
    """Whether a text looks like it holds a secret."""
    if any(pattern.search(text) for pattern in _PATTERNS):
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
