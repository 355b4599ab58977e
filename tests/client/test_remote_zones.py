"""Where the user of a remote memory is: ``connect(..., zone=...)``, and times that mean the same as in the process."""

import asyncio
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest

from ecphora import Filter
from ecphora.errors import InvalidInput, UnknownName
from ecphora.remote.client.async_remote_memory import connect_async
from ecphora.remote.client.remote_memory import RemoteMemory, connect

from .conftest import Server

KIRITIMATI = "Pacific/Kiritimati"
DAY = Filter(after="2026-03-02", before="2026-03-03")
HALF_PAST_MIDNIGHT = datetime(2026, 3, 2, 0, 30)  # noqa: DTZ001  # the zone is what is tested


@pytest.mark.parametrize("zone", [KIRITIMATI, ZoneInfo(KIRITIMATI)], ids=["name", "ZoneInfo"])
@pytest.mark.medium
def test_zone_is_that_of_the_client(server: Server, scope: str, zone: str | tzinfo) -> None:
    with connect(server.url, server.token(f"{scope} zone"), scope, zone=zone) as memory:
        id_ = memory.remember("I came home.", happened_at=HALF_PAST_MIDNIGHT).id
        stored = memory.get(id_)
        assert stored is not None
        assert stored.happened_at.isoformat() == "2026-03-02T00:30:00+14:00"
        found = memory.recall("Did I come home?", where=DAY)
        assert [hit.id for hit in found] == [id_]
        assert found.query.now.utcoffset() == timedelta(hours=14)
    with connect(server.url, server.token(f"{scope} none"), scope) as elsewhere:
        assert elsewhere.count(where=DAY) == 0


@pytest.mark.medium
def test_zone_is_that_of_the_async_client(server: Server, scope: str) -> None:
    async def remember_and_count() -> int:
        async with connect_async(server.url, server.token(scope), scope, zone=KIRITIMATI) as memory:
            await memory.remember("I came home.", happened_at=HALF_PAST_MIDNIGHT)
            return await memory.count(where=DAY)

    assert asyncio.run(remember_and_count()) == 1


@pytest.mark.parametrize(
    ("zone", "error"), [("Nowhere", UnknownName), (timezone(timedelta(hours=2)), InvalidInput), (3, InvalidInput)]
)
def test_zone_that_cannot_be_sent_is_refused(zone: tzinfo, error: type[Exception]) -> None:
    with pytest.raises(error, match="zone"):
        connect("http://127.0.0.1:1", zone=zone)


@pytest.mark.medium
def test_instant_stays_an_instant_over_the_wire(remote: RemoteMemory) -> None:
    noon = datetime(2026, 5, 3, 12, tzinfo=UTC)
    remote.remember("I swam.", happened_at=noon + timedelta(milliseconds=500))
    assert not remote.recall("Did I swim?", as_of=noon).hits
    assert remote.recall("Did I swim?", as_of="2026-05-03T12:00:00Z").hits
