"""JSON forms of results for which a command prints more than the result's own ``to_dict``."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..answering import Answer
    from ..doctor import Report
    from ..llm_client import LLMClient
    from ..model import UndoBatch
    from ..recollection import Recollection


def answer_to_dict(recollection: "Recollection", answer: "Answer", llm_client: "LLMClient | None") -> dict[str, Any]:
    """An answer with the memories that it cites."""
    return {
        "answer": answer.text,
        "is_answered": answer.is_answered,
        "cited_ids": list(answer.cited_ids),
        "is_extractive": answer.is_extractive,
        "error": answer.error,
        "evidence": answer.evidence.value,
        "confidence": round(recollection.confidence, 4),
        "llm": None if llm_client is None else llm_client.name,
        "usage": asdict(answer.usage),
        "exchange_id": answer.exchange_id,
        "notices": list(answer.notices),
        "memories": [hit.node.to_dict() for hit in recollection if hit.id in answer.cited_ids],
    }


def undo_batch_to_dict(batch: "UndoBatch") -> dict[str, Any]:
    """An undo batch that was undone."""
    return {"undo_batch": batch.id, "at": batch.at.isoformat(), "counts": dict(batch.counts)}


def report_to_dict(report: "Report") -> dict[str, Any]:
    """A doctor report on a file."""
    return {**asdict(report), "is_healthy": report.is_healthy}
