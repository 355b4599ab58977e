"""Serves memories by replicas on Ray, until a signal stops it."""

import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...errors import InvalidInput
from ...settings import Settings
from ..server.app import ServerOptions, open_scopes
from ..server.listening import STOP_SIGNALS
from .session import LOCAL, check_ray, ray_session


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
