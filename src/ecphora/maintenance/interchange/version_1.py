"""Reading of exports in format 1, which had other names for some keys and values; see docs/backup.md."""

from typing import Any

_RECORDS = {"superseded": "validity_end", "forgotten": "tombstone"}
_KEYS = {"edge": {"evidence": "provenance"}, "access": {"touch": "kind"}}
_ACCESS_KINDS = {"protected": "pinned", "released": "unpinned", "returned": "unarchived"}


def upgrade_header(record: dict[str, Any]) -> dict[str, Any]:
    """Convert a header of format 1 to the current format."""
    return {"needs_full_log" if key == "whole_log" else key: value for key, value in record.items()}


def upgrade_record(record: dict[str, Any]) -> dict[str, Any]:
    """Convert a record of format 1 to the current format; anything else is left as it is."""
    return {_RECORDS.get(name, name): _upgrade_item(name, item) for name, item in record.items()}


def _upgrade_item(name: str, item: object) -> object:
    if not isinstance(item, dict):
        return item
    keys = _KEYS.get(name, {})
    upgraded = {keys.get(key, key): value for key, value in item.items()}
    if name == "access" and isinstance(upgraded.get("kind"), str):
        upgraded["kind"] = _ACCESS_KINDS.get(upgraded["kind"], upgraded["kind"])
    return upgraded
