"""PostgreSQL fulfills the contract of stores, with plain and with partitioned tables."""

from collections.abc import Callable
from functools import partial

import pytest

from ecphora.stores.postgres.store import PostgresStore
from ecphora.testing import Locations, StoreContract


@pytest.mark.medium
class TestPostgres(StoreContract):
    supports_processes = True

    @pytest.fixture
    def locations(self, new_database: Callable[[], str]) -> Locations:
        return lambda: partial(PostgresStore, new_database())


@pytest.mark.medium
class TestPartitions(StoreContract):
    supports_processes = True

    @pytest.fixture
    def locations(self, new_database: Callable[[], str]) -> Locations:
        return lambda: partial(PostgresStore, new_database(), partitions=4)
