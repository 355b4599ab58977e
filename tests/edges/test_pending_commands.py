"""``updates --pending`` and ``accept``: updates of which consolidation is not sure, on the command line."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ecphora import HashingEmbedder, Memory
from ecphora.cli.main import main
from ecphora.model.types import Edge, Link, WriteBatch
from ecphora.retrieval.validity import MIN_CONFIDENCE

pytestmark = pytest.mark.medium


def ecphora(*args: str, code: int = 0) -> Result:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == code, result.output
    return result


def answer(*args: str, code: int = 0) -> Any:
    return json.loads(ecphora(*args, "--json", code=code).stdout)


@pytest.fixture(autouse=True)
def _doubtful(clean_environment: None) -> None:  # it makes the folder
    with Memory(Path("ecphora.db"), embedder=HashingEmbedder(), update_scorer=None) as memory:
        memory.remember("I live in Lisbon.", id="old", speaker="Ana", happened_at="2026-01-03")
        memory.remember("I moved to Porto.", id="new", speaker="Ana", happened_at="2026-05-03")
        memory.consolidate()
        edges, graph = memory.graph().edges, memory.graph()
        (row,) = graph.edges_of_link(Link.SUPERSEDES).tolist()
        later, earlier = (graph.id(int(edges[side][row])) for side in ("src", "dst"))
        doubtful = Edge(later, earlier, Link.SUPERSEDES, MIN_CONFIDENCE - 0.01)
        memory._scope_writer.commit(lambda _graph: WriteBatch(edges=(doubtful,)))


def test_pending_update_is_offered_and_accepted() -> None:
    assert "1 update is pending: ecphora updates --pending" in ecphora("updates", code=3).stderr
    assert "  ecphora accept old new\n  ecphora reject old new\n" in ecphora("updates", "--pending").stdout
    assert ecphora("accept", "old", "new").stdout == "accepted: new changes old\n"
    assert ecphora("updates", "--pending", code=3).stdout == ""
    (found,) = answer("updates")
    assert (found["old"]["id"], found["confidence"]) == ("old", 1.0)
    assert answer("undo")["counts"] == {"accepted": 1}
    assert len(answer("updates", "--pending")) == 1
