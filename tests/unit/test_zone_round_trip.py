"""An export that is imported where the user is in another zone, and exported again, is the same to the byte."""

from io import StringIO
from pathlib import Path

from ecphora import Episode, HashingEmbedder, Memory

EPISODES = (
    Episode(
        "I live in Kiel.", "kiel", "Ana", happened_at="2026-01-02T00:30", metadata={"at": "2026-01-02T00:30+05:45"}
    ),
    Episode("I moved to Porto.", "porto", "Ana", happened_at="2026-06-02T00:30-09:30", supersedes="kiel"),
)


def export(memory: Memory) -> list[str]:
    """The lines of an export without its header, which has the time of the export."""
    out = StringIO()
    memory.export(out)
    return out.getvalue().splitlines()[1:]


def test_times_come_back_as_they_were_told(tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "a.db", embedder=HashingEmbedder(16), zone="Pacific/Kiritimati") as memory,
        Memory(tmp_path / "b.db", embedder=HashingEmbedder(16), zone="America/St_Johns") as other,
    ):
        memory.remember(EPISODES)
        out = StringIO()
        memory.export(out)
        other.import_(StringIO(out.getvalue()))
        lines = export(memory)
        assert export(other) == lines
        for told in (
            "2026-01-02T00:30:00+14:00",
            '"at":"2026-01-02T00:30+05:45"',
            '"valid_to":"2026-06-02T00:30:00-09:30"',
        ):
            assert any(told in line for line in lines), told
