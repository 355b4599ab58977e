"""The server's application as a deployment of Ray Serve, whose replicas keep the scopes open that they were asked for.

A scope is one of Serve's models: its requests go to a replica that has it open, to another if that one is busy or gone.
Every replica can answer for every scope, because the memories are in a file or database that all of them open.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ray.serve import Application
from starlette.types import ASGIApp, Receive, Scope, Send

from ray import serve

from ...settings import Settings, load
from ..server.access_control import AccessPolicy
from ..server.app import ServerOptions, make_app
from ..server.tokens import Tokens
from .session import LOOPBACK_VARIABLE
from .shared_jobs import SharedJobs

APPLICATION = "ecphora"
"""The name of the application and of its deployment."""
DRAIN_SECONDS = 30.0
"""Seconds that a replica has for its requests in progress when it is to end."""


@dataclass(frozen=True, slots=True)
class ReplicaOptions:
    """How many replicas there are, and what each is given.

    Between ``min_replicas`` and ``max_replicas`` run, as many as the requests in progress need. Each reserves ``cpus``
    of Ray's logical CPUs. ``otlp`` is the address of an OpenTelemetry collector.
    """

    min_replicas: int = 1
    max_replicas: int = 1
    cpus: float = 1.0
    otlp: str | None = None


class TrackedScopes:
    """An ASGI app that tells Serve which scopes its replica has open: at most ``capacity``, those used last."""

    def __init__(self, app: ASGIApp, capacity: int) -> None:
        @serve.multiplexed(max_num_models_per_replica=capacity)
        async def keep(scope: str) -> str:
            return scope

        self._app = app
        self._keep = keep

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and note its scope if the request was let in."""
        await self._app(scope, receive, send)
        if name := scope.get("state", {}).get("memory_scope"):
            await self._keep(name)


@serve.ingress()
class Replica:
    """A replica: the application of one process."""

    def __init__(self, settings: Settings, options: ServerOptions, otlp: str | None) -> None:
        self._settings = settings
        self._options = options
        self._otlp = otlp

    def __serve_build_asgi_app__(self) -> ASGIApp:
        """Make the application; Serve calls it when the replica starts."""
        if os.environ.get(LOOPBACK_VARIABLE) == "0":
            _listen_on_loopback()
        options = self._options
        if self._otlp is not None:
            from ..server.tracing import RequestTracer  # noqa: PLC0415  # needs the extra

            options = replace(options, tracer=RequestTracer(self._otlp))
        app = make_app(self._settings, options, llm=self._settings.make_llm(), make_jobs=SharedJobs)
        return TrackedScopes(app, options.open_scopes)


def _listen_on_loopback() -> None:
    """Keep the port that every replica opens for other deployments on the loopback; Serve has no setting for it."""
    from ray.serve._private import replica  # noqa: PLC0415  # tests/ray/test_egress.py notices if it changes

    add_port = replica.add_port_to_grpc_server
    replica.add_port_to_grpc_server = lambda server, address: add_port(server, address.replace("[::]", "127.0.0.1"))


def make_application(settings: Settings, options: ServerOptions, replicas: ReplicaOptions) -> Application:
    """The application, to be given to ``serve.run``; ``options`` have no tracer."""
    deployment = serve.deployment(Replica).options(
        name=APPLICATION,
        max_ongoing_requests=4 * options.threads,  # more wait in the proxy, where another replica can take them
        graceful_shutdown_timeout_s=DRAIN_SECONDS,
        autoscaling_config={
            "min_replicas": replicas.min_replicas,
            "max_replicas": replicas.max_replicas,
            "initial_replicas": replicas.min_replicas,
            "target_ongoing_requests": max(options.threads / 2, 1),
        },
        ray_actor_options={"num_cpus": replicas.cpus},
    )
    return deployment.bind(settings, options, replicas.otlp)


def build(arguments: Mapping[str, Any]) -> Application:
    """The application for a Serve configuration file; the environment of its processes has the settings.

    ``arguments`` may have ``min_replicas``, ``max_replicas``, ``open_scopes`` and ``hosts``, the names by which
    requests may address the server. Every request needs a token.
    """
    settings = load()
    policy = AccessPolicy(Tokens(settings.token_base), hosts=frozenset(arguments.get("hosts", ())) or None)
    options = ServerOptions(policy, open_scopes=int(arguments.get("open_scopes", 32)))
    least = int(arguments.get("min_replicas", 1))
    return make_application(settings, options, ReplicaOptions(least, int(arguments.get("max_replicas", least))))
