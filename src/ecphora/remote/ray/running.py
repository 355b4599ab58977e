"""Starting and ending Ray: on this machine alone, or on a cluster that runs already.

Nothing of Ray is imported before its telemetry is switched off.
"""

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput, ServerUnavailable
from ...models.http_client import is_loopback
from ...settings import Settings
from ..server.app import ServerOptions, open_scopes
from ..server.listening import STOP_SIGNALS

LOCAL = "local"
"""The address that stands for a Ray of this process's own."""
OBJECT_STORE_BYTES = 256 << 20
"""The shared memory of a local Ray: bodies of requests and results of bulk work, no memories."""
VARIABLES = {
    "RAY_USAGE_STATS_ENABLED": "0",  # Ray's telemetry
    "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH": "ecphora.remote.ray.routing:proxy_middleware",
}
"""The environment of Ray's processes, as far as nothing else is set."""
LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With 0, Ray's processes listen on the loopback alone, as they do on Windows and macOS by default."""


def check_ray() -> None:
    """Raise ``InvalidInput`` if Ray is not installed."""
    found = importlib.util.find_spec("ray")
    if found is None or found.origin is None:  # a folder of this name, as Ray itself makes one, is no package
        raise InvalidInput("Ray is not installed; install it with: pip install 'ecphora[ray]'")


@contextmanager
def ray_session(address: str) -> Iterator[Any]:
    """Ray, the module, connected to the cluster at ``address``, or to one of its own that ends with the block.

    A local Ray listens on the loopback alone and has no dashboard. Raises ``InvalidInput`` if Ray is not installed and
    ``ServerUnavailable`` if there is no cluster at the address.
    """
    check_ray()
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    if address == LOCAL or is_loopback(address.rpartition(":")[0]):
        os.environ.setdefault(LOOPBACK_VARIABLE, "0")
    import ray  # noqa: PLC0415  # an extra, and only after its variables are set

    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address == LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
        _leave_out_usage_statistics()
    else:
        options["runtime_env"] = {"env_vars": {name: os.environ[name] for name in VARIABLES}}
    try:
        ray.init(address, **options)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ServerUnavailable(f"Ray cannot be reached at {address} ({error}); check the address") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _leave_out_usage_statistics() -> None:
    """Do not start Ray's server of the dashboard.

    Without the dashboard it has usage statistics alone, and asks which cloud this machine is in even if they are off.
    """
    from ray._private.node import Node  # noqa: PLC0415  # tests/ray/test_egress.py notices if it changes

    Node.start_api_server = lambda *_, **__: None


def run_on_ray(
    settings: Settings,
    options: ServerOptions,
    *,
    address: str,
    replicas: tuple[int, int],
    host: str,
    port: int,
    otlp: str | None,
    on_start: Callable[[str], object],
) -> None:
    """Serve the memories by replicas on Ray until a signal stops it. ``on_start`` gets the URL once they answer.

    ``replicas`` are the least and the most. On a cluster, each node with a replica listens on ``host`` and ``port``,
    and the application is ended at the end; what else the cluster runs stays. Raises ``InvalidInput`` if Serve listens
    elsewhere already.
    """
    check_ray()
    settings = replace(settings, db=settings.db.absolute())  # replicas may start in another folder
    open_scopes(settings, options).close()  # says what is wrong with the settings, and makes the tables once
    port = port or _free_port(host)
    stop = threading.Event()
    with ray_session(address):
        from ray import serve  # noqa: PLC0415  # see ray_session

        from .application import APPLICATION, ReplicaOptions, make_application  # noqa: PLC0415

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        least, most = replicas
        cpus = min(1.0, (os.cpu_count() or 1) / (most + 1)) if address == LOCAL else 1.0
        serve.start(
            proxy_location="HeadOnly" if address == LOCAL else "EveryNode", http_options={"host": host, "port": port}
        )
        _check_place(serve, host, port)
        previous = {name: signal.signal(name, lambda *_: stop.set()) for name in STOP_SIGNALS}
        try:
            application = make_application(settings, options, ReplicaOptions(least, most, cpus, otlp))
            serve.run(application, name=APPLICATION, route_prefix="/")
            on_start(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
            stop.wait()
        finally:
            for name, handler in previous.items():
                signal.signal(name, handler)
            serve.delete(APPLICATION)
            if address == LOCAL:
                serve.shutdown()


def _check_place(serve: Any, host: str, port: int) -> None:
    """Serve listens where it was first told to, whatever it is told later."""
    found = serve.context._get_global_client().http_config  # noqa: SLF001  # nothing public says it
    if (found.host, found.port) != (host, port):
        raise InvalidInput(
            f"Serve listens on {found.host}, port {found.port} of this cluster already; give --host and --port so"
        )


def _free_port(host: str) -> int:
    try:
        with socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
            return int(free.getsockname()[1])
    except OSError as error:
        raise InvalidInput(f"cannot listen on {host} ({error}); choose another address") from error
