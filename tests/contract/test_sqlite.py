"""The SQLite store fulfills the contract of stores."""

from functools import partial

import pytest

from ecphora.stores.sqlite import SQLiteStore
from ecphora.testing import Locations, StoreContract


@pytest.mark.usefixtures("migrations")
@pytest.mark.medium
class TestSQLite(StoreContract):
    supports_processes = True

    @pytest.fixture
    def locations(self, tmp_path_factory: pytest.TempPathFactory) -> Locations:
        return lambda: partial(SQLiteStore, tmp_path_factory.mktemp("store") / "memory.db")

    @pytest.mark.medium
    def test_incremental_graph_equals_reloaded_graph_while_the_log_expires(
        self, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        small = {"keep_last": 2, "min_log_growth": 3}
        self.test_incremental_graph_equals_reloaded_graph(
            lambda: partial(SQLiteStore, tmp_path_factory.mktemp("store") / "memory.db", **small)
        )
