"""Which status and which error answers a request that fails because of the server."""

import logging
from pathlib import Path
from typing import Any

import pytest

from ecphora import errors
from ecphora.errors import EcphoraError, InvalidInput, PluginError, ServerError
from ecphora.remote.server.app import memory_opener
from ecphora.remote.server.failures import answer_error, error_dict, status_of
from ecphora.settings import Settings

from .conftest import Server


def test_only_errors_that_nobody_expected_have_the_status_500() -> None:
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, EcphoraError)]
    assert len(classes) > 20
    statuses = {cls.__name__: status_of(cls("x")) for cls in classes}
    assert set(statuses.values()) == {400, 409, 503, 507}
    assert {name for name, status in statuses.items() if status == 409} == {
        "IdCollision", "StaleWrite", "EmbedderMismatch",
    }  # fmt: skip
    assert statuses["PluginError"] == statuses["StoreDamaged"] == statuses["WrongVector"] == 503
    assert status_of(RuntimeError("x")) == 500
    assert error_dict(RuntimeError("a secret"))["error"]["type"] == "InternalError"
    assert "secret" not in str(error_dict(RuntimeError("a secret")))


@pytest.mark.medium
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PluginError("the embedder plug-in 'mine' fails"), "PluginError"),
        (InvalidInput("the weights w.json cannot be read"), "ServerError"),
    ],
)
def test_settings_that_fail_later_are_an_error_of_the_server(  # noqa: PLR0917
    error: Exception, kind: str, server: Server, scope: str, token: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fail(_settings: Settings) -> None:
        raise error

    monkeypatch.setattr(Settings, "make_reranker", fail)
    with caplog.at_level(logging.ERROR, "ecphora.remote.server"):
        for path in ("/v1/count", "/v1/export"):
            answer = server.post(path, {}, token=token, scope=scope)
            assert (answer.status_code, answer.json()["error"]["type"]) == (503, kind)
            assert str(error) in answer.json()["error"]["message"]
    assert len(caplog.records) == 2
    monkeypatch.undo()
    assert server.post("/v1/count", token=token, scope=scope).json() == 0


def test_settings_are_wrong_and_not_the_request(tmp_path: Path) -> None:
    open_memory = memory_opener(Settings(db=tmp_path / "m.db", embedder="hashing", strategy="nothing"))
    with pytest.raises(ServerError, match="the server cannot open this memory: no strategy is called 'nothing'"):
        open_memory("ana")


def test_busy_file_may_be_tried_again_and_is_not_logged(caplog: Any) -> None:
    with caplog.at_level(logging.DEBUG, "ecphora.remote.server"):
        assert answer_error(errors.StoreBusy("locked")).headers["Retry-After"] == "1"
        assert "Retry-After" not in answer_error(errors.StoreReadOnly("x")).headers
    assert caplog.records == []
