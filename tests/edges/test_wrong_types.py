"""Values of wrong types in public calls raise one of our own errors or none, and an error writes nothing."""

import inspect
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import ecphora
from ecphora import AutoConsolidate, Episode, EvidenceBands, Filter, LLMClient, Memory, RecallOptions, errors
from ecphora.errors import EcphoraError, InvalidInput
from ecphora.maintenance import learn
from ecphora.maintenance.learn.side_network_training import ContrastiveExample
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.strategies.eisa.side_network import SideNet
from ecphora.testing import NOON, FakeClock, sample_vector

UNSURE = RecallOptions(explain=cast("bool", "no"))


class UnprintableRepr:
    """An object whose repr cannot be encoded."""

    def __repr__(self) -> str:
        return "half a smile \ud83d"


class RaisingRepr:
    """An object whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 3, 10**30, 10**5000, 0.5, float("nan"), float("inf"), -0.0, 1 + 2j, "", "x", "3",
    "\ud83d", "a\0b", b"x", bytearray(b"x"), [], ["x"], [5], [None], [["x"]], (), ("x", 5), {}, {"k": "v"},
    {"k": [1]}, {1: 2}, {"x"}, frozenset({5}), object(), UnprintableRepr(), RaisingRepr(), int, HashingEmbedder, Memory,
    len, lambda: None,
    NOON, NOON.date(), NOON.replace(tzinfo=None), timedelta(1), timedelta(-1), range(2), np.int64(3), np.float32(0.5),
    np.bool_(1), np.zeros(2), np.array(["x"]), np.array(object()), Path("x"), io.StringIO("x"), io.BytesIO(b"x"),
    Episode("x"), Episode(5), Episode("Ana.", id=5, trust=[], metadata=3),  # type: ignore[arg-type]
    Filter(), Filter(speakers=5), Filter(speakers=[5]), Filter(not_sources=[5]), Filter(sources=b"x"),  # type: ignore[arg-type]
    Filter(min_trust=5), Filter(min_trust="x"), Filter(metadata={"k": [1]}),  # type: ignore[arg-type]
    AutoConsolidate(), EvidenceBands(), HashingEmbedder(8), FakeClock(),
)  # fmt: skip
"""Values that are wrong for almost every parameter."""
ITERATORS: tuple[Callable[[], Any], ...] = (lambda: iter([5]), lambda: iter("x"), lambda: (one for one in (b"x", None)))
"""Functions that make iterators, which can be read once."""


def wrong_values() -> Iterator[Any]:
    """Every wrong value."""
    yield from WRONG
    for make in ITERATORS:
        yield make()


def describe(value: Any) -> str:
    try:
        return ascii(value)[:60]
    except Exception:  # noqa: BLE001
        return f"a {type(value).__name__}"


def foreign_errors(calls: Mapping[str, Callable[[], object]], state: Callable[[], object]) -> list[str]:
    """The calls that raise a foreign error, or change the state and raise."""
    found = []
    for name, call in calls.items():
        before = state()
        try:
            call()
        except EcphoraError as error:
            if state() != before:
                found.append(f"{name}: {error} (something was written)")
            message = str(error).encode("utf-8", "replace").decode()
            if message != str(error) or not 0 < len(message) < 500:
                found.append(f"{name}: an error that cannot be printed, or of {len(message)} characters")
        except Exception as error:  # noqa: BLE001
            found.append(f"{name}: {type(error).__name__}: {str(error)[:80]}")
    return found


def calls_with_wrong_values(
    function: Callable[..., object], arguments: Mapping[str, Any]
) -> dict[str, Callable[[], object]]:
    """Calls of a function with every wrong value for each parameter, and right values for the others."""
    calls: dict[str, Callable[[], object]] = {}
    for one in inspect.signature(function).parameters.values():
        if one.kind is one.VAR_KEYWORD:
            continue
        for number, value in enumerate(wrong_values()):
            if one.name == "epochs" and isinstance(value, int) and value > 10:
                continue  # valid, but takes too long
            call_arguments = {**arguments, one.name: value}
            first = () if one.kind is not one.POSITIONAL_ONLY else (call_arguments.pop(one.name),)
            calls[f"{one.name}={describe(value)} ({number})"] = partial(function, *first, **call_arguments)
    return calls


# ---- every method of Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", embedder=HashingEmbedder(16), clock=FakeClock()) as opened:
        opened.remember(
            [
                Episode("Ana lives in Porto.", id="porto", speaker="Ana"),
                Episode("Ben has a boat.", id="boat", speaker="Ben", happened_at="2026-02-01"),
            ]
        )
        yield opened


QUESTION = "Where does Ana live?"
METHOD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "answer": {"question": QUESTION},
    "archive": {"ids": "porto"},
    "build_query": {"question": QUESTION},
    "export": {"out": io.StringIO()},
    "feedback": {"used_ids": ["porto"]},
    "record_response": {"text": "In Porto."},
    "get": {"id": "porto"},
    "history": {"id": "porto"},
    "import_": {"lines": []},
    "merge": {"name": "Ana", "other": "Ben"},
    "pin": {"ids": "porto"},
    "recall": {"question": QUESTION},
    "reject": {"old": "porto", "new": "boat"},
    "remember": {"content": "Something else."},
    "split": {"name": "Ana", "other": "Ben"},
    "update": {"id": "porto", "text": "Ana lives in Faro.", "mode": "supersede"},
    "why_not": {"question": QUESTION, "id": "boat"},
}
"""The arguments that make a call valid."""
# test_backup.py tests the paths of backup; here it would write to the valid ones
METHODS = sorted(
    name
    for name in dir(Memory)
    if not name.startswith("_") and name != "backup" and inspect.isfunction(getattr(Memory, name))
)


@pytest.mark.medium
@pytest.mark.parametrize("name", [name for name in METHODS if name != "close"])
def test_methods_raise_only_our_errors_for_wrong_values(name: str, memory: Memory) -> None:
    arguments = dict(METHOD_ARGUMENTS.get(name, {}))
    if name in {"feedback", "record_response"}:
        arguments["recollection"] = memory.recall(QUESTION)
    found = foreign_errors(
        calls_with_wrong_values(getattr(memory, name), arguments), lambda: memory._flushed_writer().graph().revision
    )
    assert found == []


@pytest.mark.parametrize("name", [name for name in METHODS if name != "close"])
def test_methods_reject_any_object(name: str, memory: Memory) -> None:
    function, arguments = getattr(memory, name), dict(METHOD_ARGUMENTS.get(name, {}))
    if name in {"feedback", "record_response"}:
        arguments["recollection"] = memory.recall(QUESTION)
    for one in inspect.signature(function).parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            with pytest.raises(InvalidInput, match=r"give|must be a str|use a temporary folder"):
                function(**{**arguments, one.name: object()})


def test_answer_checks_the_options_of_recall(memory: Memory) -> None:
    bad_options: tuple[dict[str, Any], ...] = (
        {"limit": "3"},
        {"strategy": 5},
        {"where": "Ana"},
        {"as_of": 5},
        {"options": ""},
    )
    for call_arguments in bad_options:
        with pytest.raises(InvalidInput, match="give"):
            memory.answer(QUESTION, **call_arguments)


# ---- other public calls


def closing_result(make: Callable[..., object]) -> Callable[..., None]:
    """Wrap a constructor so that the result is closed."""

    def make_and_close(*args: Any, **call_arguments: Any) -> None:
        close = getattr(make(*args, **call_arguments), "close", None)
        if close is not None:
            close()

    make_and_close.__signature__ = inspect.signature(make)  # type: ignore[attr-defined]
    return make_and_close


NET = SideNet(np.zeros((16, 2), np.float32), np.zeros((16, 2), np.float32))
EXAMPLE = ContrastiveExample(sample_vector("a"), sample_vector("b")[None], sample_vector("c")[None])
PUBLIC_CALLS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "Episode": (Episode, {"text": "x"}),
    "Filter": (Filter, {}),
    "LLMClient": (LLMClient, {"llm": ecphora.OpenAILLM("m")}),
    "HashingEmbedder": (HashingEmbedder, {}),
    "E5Embedder": (ecphora.E5Embedder, {}),
    "LlamaCppLLM": (ecphora.LlamaCppLLM, {"path": "x.gguf"}),
    "Memory": (Memory, {"path": "memory.db", "embedder": HashingEmbedder(16)}),
    "MiniLMEmbedder": (ecphora.MiniLMEmbedder, {}),
    "OpenAILLM": (ecphora.OpenAILLM, {"model": "m"}),
    "OpenAIEmbedder": (ecphora.OpenAIEmbedder, {"model": "m"}),
    "SQLiteStore": (ecphora.SQLiteStore, {"path": "memory.db"}),
    "SentenceTransformersEmbedder": (ecphora.SentenceTransformersEmbedder, {"model": "m"}),
    "AutoConsolidate": (AutoConsolidate, {}),
    "EvidenceBands": (EvidenceBands, {}),
    "train_side_network": (learn.train_side_network, {"net": NET, "examples": [EXAMPLE], "epochs": 1}),
    "load_side_network": (learn.load_side_network, {"path": "net.json"}),
    "examples_from_log": (learn.examples_from_log, {}),
    "reembed": (ecphora.reembed, {"path": "memory.db", "embedder": HashingEmbedder(16)}),
    "clone_scope": (ecphora.clone_scope, {"path": "memory.db", "scope": "default", "new_name": "copy"}),
    "copy_scopes": (ecphora.copy_scopes, {"source": "memory.db", "target": "copy.db", "scopes": ["default"]}),
    "rechunk": (ecphora.rechunk, {"path": "memory.db", "embedder": HashingEmbedder(16)}),
    "rename_scope": (ecphora.rename_scope, {"path": "memory.db", "scope": "default", "new_name": "new"}),
    "save_side_network": (
        learn.save_side_network,
        {"net": NET, "path": "net.json", "info": learn.TrainingInfo("hashing/16", 16, "", "")},
    ),
}
"""Public constructors and functions with the arguments that make a call valid."""


@pytest.mark.parametrize("name", [name for name in PUBLIC_CALLS if name not in {"Episode", "Filter"}])
def test_public_calls_reject_any_object(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, arguments = PUBLIC_CALLS[name]
    for parameter in inspect.signature(function).parameters:
        with pytest.raises(InvalidInput, match=r"give|must be a str|use a temporary folder"):
            function(**{**arguments, parameter: object()})


@pytest.mark.medium
@pytest.mark.parametrize("name", PUBLIC_CALLS)
def test_public_calls_raise_only_our_errors_for_wrong_values(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, arguments = PUBLIC_CALLS[name]
    assert foreign_errors(calls_with_wrong_values(closing_result(function), arguments), lambda: None) == []


def test_invalid_arguments_create_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments in (
        {"scope": 5},
        {"clock": 5},
        {"strategy": 5},
        {"embedder": HashingEmbedder},
        {"auto_consolidate": "daily"},
        {"evidence_bands": (0.5, 0.2)},
    ):
        with pytest.raises(InvalidInput, match="give"):
            Memory("memory.db", **arguments)
    assert list(tmp_path.iterdir()) == []


# ---- messages


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda memory: memory.recall("Ana", limit="3"), "limit is '3'; give a whole number of at least 1"),
        (lambda memory: memory.recall("Ana", limit=True), "limit is True; give a whole number"),
        (lambda memory: memory.recall("Ana", limit=float("nan")), "limit is nan; give a whole number"),
        (lambda memory: memory.recall("Ana", limit=2.0), "limit is 2.0; give a whole number"),
        (lambda memory: memory.recall("Ana", budget="x"), "budget is 'x'; give a whole number"),
        (lambda memory: memory.recall("Ana", strategy=5), "strategy is 5, .* give a name, such as one of fused"),
        (lambda memory: memory.recall("Ana", where="Ana"), "where is 'Ana'; give a Filter"),
        (lambda memory: memory.recall("Ana", where=Filter(speakers="")), "speakers is ''; give a text"),
        (lambda memory: memory.recall("Ana", options=UNSURE), "explain is 'no'; give True or False"),
        (lambda memory: memory.forget(5), "ids is 5; give an id, a str such as hit.id, or a list"),
        (lambda memory: memory.forget(["porto", 5]), "one of ids is 5; give a str, such as hit.id"),
        (lambda memory: memory.forget({"porto": 1}), "give an id, a str such as hit.id, or a list"),
        (lambda memory: memory.forget(memory.recall("Ana")[0]), "ids is .*; give an id, a str such as hit.id"),
        (lambda memory: memory.feedback("x", ["porto"]), "recollection is 'x'; give what recall returned"),
        (lambda memory: memory.get(5), "id is 5; give a str"),
        (lambda memory: memory.consolidate(seconds=-1), "seconds is -1; give a number above 0"),
        (lambda memory: memory.consolidate(seconds=float("nan")), "seconds is nan; give a number above 0"),
        (lambda memory: memory.consolidate(llm=LLMClient), "llm is the class LLMClient; give a language model"),
        (lambda memory: memory.remember("x", trust=True), "trust is True; give a number from 0 to 1"),
        (lambda memory: memory.remember("x", trust=None), "trust is None; give a number from 0 to 1"),
        (lambda memory: memory.remember("x", metadata=()), "metadata is a tuple; give a mapping"),
        (lambda memory: memory.remember("x", progress=lambda _: None), "give a function of two numbers"),
        (lambda memory: memory.import_("dump.jsonl"), "lines is 'dump.jsonl'; give .*: a file opened as text"),
        (lambda memory: memory.export(io.BytesIO()), "give a file opened as text"),
        (lambda _: AutoConsolidate(after_idle=3600), "after_idle is 3600; give a timedelta above 0, or None"),  # type: ignore[arg-type]
        (lambda _: AutoConsolidate(every_turns="5"), "every_turns is '5'; give a whole number"),  # type: ignore[arg-type]
        (lambda _: Memory("memory.db", evidence_bands=0.7), r"evidence_bands is 0.7; give EvidenceBands\(strong"),  # type: ignore[arg-type]
        (lambda _: LLMClient(5), "llm is 5, which has no method complete; give a language model"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_error_names_the_value_and_the_remedy(call: Callable[[Any], object], message: str, memory: Memory) -> None:
    before = memory.graph().nodes["ids"].tolist()
    with pytest.raises(InvalidInput, match=message):
        call(memory)
    assert memory.graph().nodes["ids"].tolist() == before


@pytest.mark.parametrize("names", [[], (), set(), iter(())], ids=["list", "tuple", "set", "iterator"])
def test_forget_of_nobody_erases_nothing_and_of_all_but_nobody_is_refused(names: Any, memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="an empty filter would erase the whole scope"):
        memory.forget(where=Filter(not_speakers=names))
    assert not memory.forget(where=Filter(speakers=names))
    assert len(memory) == 2


def test_filter_takes_any_iterable_of_names(memory: Memory) -> None:
    for names in (["Ana"], {"Ana"}, ("Ana",), "Ana", (name for name in ["Ana"])):
        found = memory.recall("Who?", where=Filter(speakers=names), options=RecallOptions(log_access=False))  # type: ignore[arg-type]
        assert [hit.id for hit in found] == ["porto"]


def test_numpy_numbers_are_accepted(memory: Memory) -> None:
    assert len(memory.recall("Ana", limit=np.int64(1))) == 1  # type: ignore[arg-type]
    assert len(memory.recall("Ana", limit=10**30, budget=10**500)) == 2
    memory.remember("It rains.", id="rain", trust=np.float32(0.5))  # type: ignore[arg-type]
    assert memory.get("rain").trust == 0.5  # type: ignore[union-attr]


@pytest.mark.parametrize("now", [None, 5, NOON.replace(tzinfo=None)], ids=repr)
def test_clock_without_a_time_zone_is_rejected(now: Any, tmp_path: Path) -> None:
    with (
        Memory(tmp_path / "memory.db", embedder=HashingEmbedder(16), clock=lambda: now) as memory,
        pytest.raises(InvalidInput, match="return a datetime with a time zone"),
    ):
        memory.remember("It rains.")


# ---- the errors


def test_every_error_is_an_ecphora_error() -> None:
    found = {name: one for name, one in vars(errors).items() if inspect.isclass(one) and issubclass(one, Exception)}
    assert len(found) > 20
    assert all(issubclass(one, EcphoraError) for one in found.values())
    assert ecphora.InvalidInput is errors.InvalidInput
    assert ecphora.EcphoraError is EcphoraError
