"""The command ``ecphora-mcp``: ``ecphora mcp`` under a name that ``uvx`` finds, with a memory in the data folder.

A host starts its servers in a folder of its own choice, so a file in the working directory would be lost.
"""

import os
import sys
from collections.abc import Sequence

from ecphora.cli.main import main as ecphora
from ecphora.settings import Settings, load, user_db

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``ecphora mcp`` with the arguments, by default of this process, and exit."""
    if not os.environ.get("ECPHORA_DB") and _is_db_unset():
        path = user_db()
        path.parent.mkdir(parents=True, exist_ok=True)
        os.environ["ECPHORA_DB"] = str(path)  # the option --db still comes first
    ecphora(["mcp", *(sys.argv[1:] if arguments is None else arguments)], prog_name="ecphora")


def _is_db_unset() -> bool:
    """Whether no settings say where the memory is; broken ones are reported by the command."""
    try:
        settings = load()
    except Exception:  # noqa: BLE001  # whatever it is, the command meets it again
        return False
    return settings.store is None and settings.db == Settings().db
