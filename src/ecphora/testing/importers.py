"""The contract of importers."""
# ruff: noqa: S101, PLC0415  # these are tests; pytest is imported by the test that needs it

from pathlib import Path

from ..memory import Memory
from ..model.ports import Importer
from ..model.types import Episode, Omission
from ..models.embedders.hashing import HashingEmbedder
from ..remember.documents import check_episode
from .samples import NOON, FakeClock


class ImporterContract:
    """The contract of every importer.

    The fixture ``importer`` returns the one to test, ``sample`` the path of a file or folder in its format that holds
    at least one memory.
    """

    def test_sample_gives_episodes(self, importer: Importer, sample: str) -> None:
        """Every item is an episode that can be remembered."""
        found = list(importer.read(str(sample)))
        assert _episodes(importer, sample)
        for one in found:
            assert isinstance(one, Episode | Omission)
            if isinstance(one, Episode):
                check_episode(one, NOON)

    def test_sample_gives_the_same_episodes_again(self, importer: Importer, sample: str) -> None:
        """Reading does not depend on chance, on the clock, or on what was read before."""
        assert list(importer.read(str(sample))) == list(importer.read(str(sample)))

    def test_second_import_adds_nothing(self, importer: Importer, sample: str, tmp_path: Path) -> None:
        """Episodes have an id or a time, so that a later import finds them stored."""
        clock = FakeClock()
        with Memory(tmp_path / "contract.db", embedder=HashingEmbedder(16), clock=clock, zone="UTC") as memory:
            first = memory.remember(_episodes(importer, sample))
            clock.advance(days=1)
            second = memory.remember(_episodes(importer, sample))
        assert first.created
        assert second.created == ()

    def test_progress_grows_to_the_total(self, importer: Importer, sample: str) -> None:
        """An importer may report nothing; the reported count never falls and never exceeds the total."""
        reports: list[tuple[int, int]] = []
        for _ in importer.read(str(sample), progress=lambda done, total: reports.append((done, total))):
            pass
        assert reports == sorted(reports)
        assert all(0 <= done <= total for done, total in reports)
        assert not reports or reports[-1][0] == reports[-1][1]

    def test_file_of_another_format_is_invalid_input(self, importer: Importer, tmp_path: Path) -> None:
        """Bytes of no format raise ``InvalidInput``, no error of a parser."""
        import pytest

        from ..errors import InvalidInput

        other = tmp_path / "other"
        other.write_bytes(bytes(range(256)) * 4)
        with pytest.raises(InvalidInput):
            list(importer.read(str(other)))


def _episodes(importer: Importer, sample: str) -> list[Episode]:
    return [one for one in importer.read(str(sample)) if isinstance(one, Episode)]
