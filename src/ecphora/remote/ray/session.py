"""Starting and ending Ray: on this machine alone, or on a cluster that runs already.

Nothing of Ray is imported before its telemetry is switched off.
"""

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...errors import InvalidInput, ServerUnavailable
from ...models.http_client import is_loopback

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
