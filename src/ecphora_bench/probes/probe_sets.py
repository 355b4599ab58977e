"""Writes probes as benchmark sets, for `ecphora bench recall` and `ecphora learn`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ecphora.errors import InvalidInput

from ..conversion.dataset_files import write_lines
from .probe import Probe, worlds


def write_sets(probes: Sequence[Probe], folder: Path) -> dict[str, int]:
    """Write a set for each kind and half, as ``probes-days-learn.docs.jsonl`` and ``….questions.jsonl``.

    A world is a space, the sort of a probe its category. Lines also have the ``language``, ``form`` and ``resembles``,
    which other commands ignore. Returns the number of questions by the name of the set; raises ``InvalidInput`` if the
    folder cannot be written.
    """
    by_name: dict[str, list[Probe]] = {}
    for probe in probes:
        by_name.setdefault(set_name(probe), []).append(probe)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, some in by_name.items():
            write_lines(folder / f"{name}.docs.jsonl", _documents(some))
            write_lines(folder / f"{name}.questions.jsonl", _questions(some))
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be written ({error}); choose another folder") from error
    return {name: len(some) for name, some in by_name.items()}


def set_name(probe: Probe) -> str:
    """The name of the set that a probe belongs to: its kind and half."""
    return f"probes-{probe.kind}-{probe.half}"


def _documents(probes: Sequence[Probe]) -> Iterator[Mapping[str, object]]:
    for world, some in worlds(probes).items():
        for memory in some[0].memories:
            time = None if memory.time is None else memory.time.isoformat()
            yield {"space": world, "id": memory.id, "text": memory.text, "speaker": memory.speaker, "time": time}


def _questions(probes: Sequence[Probe]) -> Iterator[Mapping[str, object]]:
    for probe in probes:
        yield {
            "space": probe.world,
            "id": probe.id,
            "question": probe.question,
            "category": probe.sort,
            "evidence": sorted(probe.gold),
            "answerable": probe.is_answerable,
            "asked_at": probe.now.isoformat(),
            "language": probe.language,
            "form": probe.form,
            "resembles": probe.resembles,
        }
