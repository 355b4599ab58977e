"""What browsers are told about web pages that may use the server (CORS)."""

from collections.abc import Sequence

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from .access_control import AccessPolicy


def cross_origin(
    policy: AccessPolicy, *, methods: Sequence[str], headers: Sequence[str], answer_headers: Sequence[str]
) -> list[Middleware]:
    """The middleware that lets the pages of the policy send requests; none if it allows no page.

    ``headers`` are those that a page may send, ``answer_headers`` those that it may read. Cookies are never used.
    """
    if not policy.origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(policy.origins),
            allow_methods=list(methods),
            allow_headers=list(headers),
            allow_private_network=True,  # which some browsers ask before a page reaches this machine
            expose_headers=list(answer_headers),
        )
    ]
