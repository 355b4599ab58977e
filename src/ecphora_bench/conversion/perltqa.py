"""PerLTQA as SynapticRAG's authors use it (papers.md 1.9): its dialogues, and the questions about each dialogue.

Two files of objects from the id of a dialogue: to its turns, a list of texts, and to its questions, a list of
``{Question, Answer}``. These are the authors' ``filtered_dialogue.json`` and ``filtered_qa.json``; in Chinese, they end
in ``_zh``. The gold of a question is the turn most similar to its answer, so it depends on the embedder. A question and
its answer are stored before the next is asked: every question is a space of its own, with all that was said before it.
"""

from pathlib import Path

import numpy as np

from ecphora.model.ports import Embedder
from ecphora.model.types import Vectors

from .dataset_files import Conversion, Task, Turn, field_at, list_at, object_at, read_json, text_at

MIN_COSINE = 0.5
"""The least cosine of an answer and its turn, as published, for text-embedding-3-large."""
CATEGORY = "dialogue"


def convert_perltqa(
    dialogues: Path, questions: Path, embedder: Embedder, *, min_cosine: float = MIN_COSINE
) -> Conversion:
    """The recall tasks of two files; raises ``InvalidRecord``.

    Questions whose answer has no turn with at least ``min_cosine`` are dropped and counted, as are dialogues without
    questions and questions without a dialogue.
    """
    conversion = Conversion()
    all_questions = object_at(read_json(questions), f"{questions}")
    all_turns = object_at(read_json(dialogues), f"{dialogues}")
    for _ in all_questions.keys() ^ all_turns.keys():
        conversion.drop("dialogue without questions, or questions without a dialogue")
    for id_, texts in all_turns.items():
        if id_ in all_questions:
            where = f"{dialogues}, {id_!r}"
            turns = [text_at(text, where) for text in list_at(texts, where)]
            pairs = _pairs(all_questions[id_], f"{questions}, {id_!r}")
            if turns and pairs:
                answers = embedder.embed([answer for _, answer in pairs])
                cosines = np.vecdot(answers[:, None], embedder.embed(turns))
                _add_tasks(conversion, id_, turns, pairs, np.where(cosines >= min_cosine, cosines, -np.inf))
            else:
                conversion.drop("dialogue without turns or questions")
    return conversion


def _pairs(questions: object, where: str) -> list[tuple[str, str]]:
    return [
        (text_at(field_at(pair, "Question", where), where), text_at(field_at(pair, "Answer", where), where))
        for pair in list_at(questions, where)
    ]


def _add_tasks(
    conversion: Conversion, id_: str, texts: list[str], pairs: list[tuple[str, str]], cosines: Vectors
) -> None:
    """Add the tasks of a dialogue; ``cosines`` are those of each answer with each turn, -inf where too low."""
    turns = [Turn(f"t{place}", text, "dialogue") for place, text in enumerate(texts)]
    for place, (question, answer) in enumerate(pairs):
        best = int(cosines[place].argmax())
        if cosines[place, best] == -np.inf:
            conversion.drop("question whose answer has no similar turn")
            continue
        conversion.tasks.append(Task(f"{id_}/{place}", question, tuple(turns), (turns[best].id,), CATEGORY, (answer,)))
        turns += [Turn(f"q{place}", question, "questions"), Turn(f"a{place}", answer, "questions")]
