"""What an import may do with which rights."""

import json
from typing import Any

import pytest

from .conftest import Server


@pytest.mark.medium
def test_import_needs_the_right_to_read_to_change_what_is_there(server: Server, scope: str) -> None:
    """A token that may only write does not archive the memories of others, nor learn whether an id exists."""
    writer, owner = server.token(scope, rights=("write",)), server.token(scope)
    (known,) = server.post("/v1/remember", {"content": "Ana lives in Lisbon."}, token=owner, scope=scope).json()["ids"]

    def archive(id_: str, token: str, **flags: str) -> Any:
        access = {"access": {"node": id_, "at": "2026-05-03T00:00:00+00:00", "kind": "archived"}}
        return server.client.post(
            "/v1/import",
            content="".join(json.dumps(record) + "\n" for record in ({"ecphora": 2}, access)),
            params={"scope": scope, **flags},
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/x-ndjson"},
        )

    def exported() -> list[str]:
        lines: list[str] = server.post("/v1/export", {}, token=owner, scope=scope).text.splitlines()
        return lines[1:]

    before = exported()
    found = [archive(id_, writer).json() for id_ in (known, "nobody")]
    assert found[0] == found[1]
    assert (found[0]["accesses"], found[0]["skipped"]) == (0, 1)
    assert archive(known, writer, change_existing="true").status_code == 403
    assert exported() == before
    assert archive(known, owner, change_existing="true").json()["accesses"] == 1
