"""What the HTTP server offers: each method of ``Memory`` and its views that can be called over the wire.

Methods that hand out the graph or a query with its vectors, for strategies in the process, stay local.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...consolidation.run import ConsolidationResult, RunLimits
from ...memory import Entities, Facts, Maintenance, Memory
from ...model.ports import LLM
from ...model.validation import check_flag
from ...models.llm_client import LLMClient
from ...recall.recollection import Recollection
from .tokens import Right

READ, WRITE, CHANGE = (Right.READ,), (Right.WRITE,), (Right.READ, Right.WRITE)
"""The rights that an operation needs: to read, to add, and to change what is there, which shows what is there."""
_QUESTION = {"question": "Where does Ana live?"}
_IDS = {"ids": ["9f2c41d07a5be683"]}


@dataclass(frozen=True, slots=True)
class Operation:
    """A method that a server offers. ``name`` is the method's, a view's after a dot: ``facts.updates``.

    ``rights`` are all the rights that a token must have in the scope. ``example`` is the body of a request.
    """

    name: str
    function: Callable[..., Any]
    rights: tuple[Right, ...]
    example: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The path of its route."""
        return "/v1/" + self.name.replace(".", "/").replace("_", "-")

    @property
    def id(self) -> str:
        """The name of the operation in the OpenAPI document: the method's."""
        return self.name.replace(".", "_")

    @property
    def view(self) -> str | None:
        """The view that has the method, None if it is the memory's own."""
        return self.name.partition(".")[0] if "." in self.name else None

    @property
    def title(self) -> str:
        """What its types are called in the OpenAPI document: ``why_not`` is ``WhyNot``."""
        return "".join(part.title() for part in re.split(r"[._]", self.name))

    @property
    def answer(self) -> Any:
        """The type that the method returns."""
        return inspect.get_annotations(self.function, eval_str=True)["return"]

    @property
    def description(self) -> str:
        """The documentation of the method, as Markdown."""
        text = re.sub(r":\w+:`[~.]?([^`]+)`", r"`\1`", inspect.getdoc(self.function) or "")
        return text.replace("``", "`")

    def call(self, memory: Memory, arguments: Mapping[str, Any], **local_arguments: Any) -> Any:
        """Call the method on a memory."""
        owner = memory if self.view is None else getattr(memory, self.view)
        return self.function(owner, **arguments, **local_arguments)


FEEDBACK = Operation("feedback", Memory.feedback, WRITE)
RECORD_RESPONSE = Operation("record_response", Memory.record_response, WRITE)
ANSWER = Operation("answer", Memory.answer, READ, _QUESTION)
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "remember",
        Memory.remember,
        WRITE,
        {"content": "Ana moved to Porto.", "speaker": "Ana", "happened_at": "2026-05-03"},
    ),
    Operation("recall", Memory.recall, READ, {**_QUESTION, "limit": 5, "as_of": "2026-06-01"}),
    Operation("why_not", Memory.why_not, READ, {**_QUESTION, "id": "9f2c41d07a5be683"}),
    FEEDBACK,
    RECORD_RESPONSE,
    ANSWER,
    Operation("get", Memory.get, READ, {"id": "9f2c41d07a5be683"}),
    Operation("chunks", Memory.chunks, READ, {"id": "9f2c41d07a5be683"}),
    Operation("find", Memory.find, READ, {"where": {"speakers": "Ana", "after": "2026-01-01"}, "limit": 20}),
    Operation("count", Memory.count, READ, {"where": {"metadata": {"year": {"$gte": 2026}}}}),
    Operation("history", Memory.history, READ, {"id": "9f2c41d07a5be683"}),
    Operation(
        "update",
        Memory.update,
        CHANGE,
        {"id": "9f2c41d07a5be683", "text": "Ana moved to Lisbon.", "mode": "supersede"},
    ),
    Operation("forget", Memory.forget, CHANGE, _IDS),
    Operation("maintenance.undo", Maintenance.undo, CHANGE),
    Operation("insights", Memory.insights, READ, {"limit": 5}),
    Operation("facts.updates", Facts.updates, READ, {"limit": 5}),
    Operation("facts.accept", Facts.accept, CHANGE, {"old": "9f2c41d07a5be683", "new": "04b7e8c9d2a16f35"}),
    Operation("facts.reject", Facts.reject, CHANGE, {"old": "9f2c41d07a5be683", "new": "04b7e8c9d2a16f35"}),
    Operation("entities.merge", Entities.merge, CHANGE, {"name": "Ana", "other": "Ana Costa"}),
    Operation("entities.split", Entities.split, CHANGE, {"name": "Ana", "other": "Ana Lima"}),
    Operation("maintenance.batches", Maintenance.batches, READ),
    Operation("maintenance.decayed", Maintenance.decayed, READ, {"limit": 5}),
    Operation("maintenance.pin", Maintenance.pin, CHANGE, _IDS),
    Operation("maintenance.unpin", Maintenance.unpin, CHANGE, _IDS),
    Operation("maintenance.archive", Maintenance.archive, CHANGE, _IDS),
    Operation("maintenance.unarchive", Maintenance.unarchive, CHANGE, _IDS),
)
"""The operations whose answer is the JSON of what the method returns."""
CONSOLIDATE = Operation("consolidate", Memory.consolidate, CHANGE, {"seconds": 60})
SCOPES = Operation("scopes", Memory.scopes, READ)
EXPORT = Operation("export", Memory.export, READ, {"vectors": False})
IMPORT = Operation("import", Memory.import_, WRITE)
BACKUP = Operation("backup", Memory.backup, (Right.ADMIN,))
"""The operations with a route of their own: a job, the list of scopes, and streams."""
LOCAL_METHODS = frozenset({"build_query", "graph", "close", "is_read_only", "unlogged_count", "tools"})
"""The public names of ``Memory`` that are not methods to call over the wire."""


def with_vector(memory: Memory, recollection: Recollection | None) -> Recollection | None:
    """A recollection that came over the wire, with the vector of its question, which the wire leaves out."""
    if recollection is None:  # the method says what is wrong
        return None
    query = recollection.query
    return replace(recollection, query=replace(query, vector=memory.build_query(query.text).vector))


def run_operation(operation: Operation, memory: Memory, arguments: dict[str, Any], llm: LLM | None) -> Any:
    """Call an operation with the arguments of a request, and with what the server adds to them."""
    if operation is FEEDBACK:
        arguments = {**arguments, "recollection": with_vector(memory, arguments["recollection"])}
    if operation is ANSWER:
        return operation.call(memory, arguments, llm=None if llm is None else LLMClient(llm))
    return operation.call(memory, arguments)


def check_consolidate(arguments: Mapping[str, Any]) -> None:
    """Check the arguments of a consolidation before its job starts, as the method does."""
    RunLimits(arguments.get("seconds"), arguments.get("tokens"))
    check_flag("dry_run", arguments.get("dry_run", False))


def consolidate(
    memory: Memory, arguments: Mapping[str, Any], llm: LLM | None, progress: Callable[[int, int], None]
) -> ConsolidationResult:
    """Consolidate a scope as a job does."""
    client = None if llm is None else LLMClient(llm)
    result: ConsolidationResult = CONSOLIDATE.call(memory, arguments, llm=client, progress=progress)
    return result
