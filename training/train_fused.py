"""Train the weights of ``fused`` with a reranker: training/train_fused.py WORK SET=FOLDER … [--out FILE] [--report].

Every question of the sets is asked in a memory of its space with the default embedder and reranker; what the reranker
says of the candidates is a feature like all others. Two rounds: the candidates of the first are those of the weights of
the package. WORK keeps the examples of each set, which take most of the time. With ``--report`` the figures of each set
are printed, with weights trained without the spaces of its fold. With ``--genre``, the weights of the other genres stay
as they are in the package, with ``--confidence`` those of all.

The sets of the package: see lab/fused.md.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import pickle
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ecphora import __version__
from ecphora.maintenance.learn.datasets import Case, read_cases
from ecphora.maintenance.learn.embedding_cache import CachingEmbedder
from ecphora.maintenance.learn.fused_training import UNTRAINED, FusedExample, FusedModel, train, train_answerability
from ecphora.maintenance.learn.metrics import auroc, recall_any_at_k, recall_at_k
from ecphora.maintenance.learn.query_spaces import QuerySpace
from ecphora.maintenance.learn.training_examples import space_parts
from ecphora.maintenance.learn.weight_files import Json, format_fused_model
from ecphora.models.embedders.from_setting import DEFAULT_EMBEDDER
from ecphora.models.rerankers.late_interaction import LateInteractionReranker
from ecphora.recall.candidate_reranking import CandidateReranking
from ecphora.strategies.baselines import Dense
from ecphora.strategies.fused import weights
from ecphora.strategies.fused.candidate_pool import build_pool
from ecphora.strategies.fused.feature_matrix import (
    FORMER_STATE,
    MISSING_NAMES,
    NOT_A_FACT,
    SUBJECT_AGREEMENT,
    FeatureMatrix,
    Genre,
    build_feature_matrix,
)
from ecphora.strategies.fused.ranker import Ranker
from ecphora.strategies.fused.reranking import MAX_LOG_ODDS, RERANKING_FEATURES, SECOND_RERANKING, RerankPolicy
from ecphora_bench.spaces import temporary_memory

FOLDS = 3
"""The folds of spaces of a report."""
MIN_SPACES = 3
"""With fewer spaces, a set is divided by its questions."""
PART_SIZES = (3, 12)
"""The memories of the parts of spaces, from which the confidence learns how small memories look."""
QUESTIONS_IN_PARTS = 60
"""The answerable questions of a set in parts of one size."""
RIDGE = 30.0
LONG_BM25 = "bm25 of long question"
LEAST_WEIGHTS = {SUBJECT_AGREEMENT: 1.0, NOT_A_FACT: -2.0, FORMER_STATE: -2.0, MISSING_NAMES: -1.0, LONG_BM25: 0.3}
"""The least weights of some features for statements: few questions of the sets need them, and what people tell a
memory does; few are long. The first three are about those that the probes alone give."""


def main() -> None:
    """Make the examples, train, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path, help="folder of the examples")
    parser.add_argument("sets", nargs="+", metavar="SET=FOLDER[:EVERY]", help="a data set, and each EVERYth space")
    parser.add_argument("--out", type=Path, help="file of the weights")
    parser.add_argument("--report", action="store_true", help="print cross-validated figures of each set")
    parser.add_argument("--test", action="append", default=[], metavar="SET", help="a set that only the report has")
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--genre", choices=[genre.label for genre in Genre], help="train anew only its weights, and the confidence"
    )
    part.add_argument("--confidence", action="store_true", help="train anew only the confidence")
    options = parser.parse_args()
    genre = next((one for one in Genre if one.label == options.genre), None)
    options.work.mkdir(parents=True, exist_ok=True)
    examples: dict[str, list[FusedExample]] = {}
    for one in options.sets:
        name, _, source = one.partition("=")
        folder, _, every = source.partition(":")
        examples[name] = load_examples(options.work, name, Path(folder), int(every or 1))
        print(f"{name}: {len(examples[name])} questions", file=sys.stderr)
    learned = {name: group for name, group in examples.items() if name not in options.test}
    if options.report:
        for name, group in examples.items():
            print(report_line(name, group, learned), flush=True)
    if options.out:
        group = [one for group in learned.values() for one in group]
        model = with_confidence(packaged_ranker(), group) if options.confidence else fit(group, genre)
        provenance: dict[str, Json] = {
            "ecphora": __version__,
            "command": "training/train_fused.py" + (f" --genre {genre.label!r}" if genre is not None else ""),
            "questions": {name: len(group) for name, group in learned.items()},
        }
        if options.confidence:
            provenance["command"] = "training/train_fused.py --confidence"
        if options.confidence or genre is not None:  # the other weights stay as they were trained
            part_name = "confidence" if genre is None else genre.label
            provenance = {**weights.load_fused_provenance(), part_name: provenance}
        options.out.write_text(format_fused_model(model, provenance), encoding="utf-8")


def load_examples(work: Path, name: str, folder: Path, every: int) -> list[FusedExample]:
    """The examples of a set, from ``work`` or made and kept there."""
    cases = list(read_cases(name, folder))
    if len(cases) >= MIN_SPACES:
        cases = [case for case in cases if zlib.crc32(case.space.encode()) % every == 0]
    else:
        cases = [replace(case, questions=case.questions[::every]) for case in cases]
    with CachingEmbedder(DEFAULT_EMBEDDER(), work / "embeddings") as embedder:
        found = keep_examples(work / f"{name}.pkl", lambda: read_examples(name, cases, embedder))
        for size in PART_SIZES:
            parts = thin(list(space_parts(cases, size)))
            part_name = f"{name} in parts of {size}"
            found += keep_examples(
                work / f"{part_name}.pkl",
                lambda parts=parts, part_name=part_name: read_examples(part_name, parts, embedder, is_full_space=False),  # type: ignore[misc]
            )
    return found


def keep_examples(path: Path, make: Callable[[], list[FusedExample]]) -> list[FusedExample]:
    """The examples in a file, or those that are made and kept there."""
    if path.exists():
        found: list[FusedExample] = pickle.loads(path.read_bytes())  # noqa: S301  # own files
        return found
    found = make()
    path.write_bytes(pickle.dumps(found))
    return found


def thin(parts: Sequence[Case]) -> list[Case]:
    """Parts spread evenly, with about ``QUESTIONS_IN_PARTS`` answerable questions in total, and as many others."""
    total = sum(len(part.questions) // 2 for part in parts)
    return list(parts[:: max(1, round(total / QUESTIONS_IN_PARTS))])


def read_examples(
    name: str, cases: Sequence[Case], embedder: CachingEmbedder, *, is_full_space: bool = True
) -> list[FusedExample]:
    """The examples of some spaces; from parts of spaces only the confidence learns."""
    found = [example for case in cases for example in space_examples(name, case, embedder)]
    return [replace(example, is_full_space=is_full_space) for example in found]


def space_examples(name: str, case: Case, embedder: CachingEmbedder) -> Iterator[FusedExample]:
    """The examples of a space, each with its candidates read."""
    reranker, policy = LateInteractionReranker(), RerankPolicy(weights.load_recency_preferences())
    ranker, answerability = weights.load_fused_model(embedder.name)
    embedder.embed([question.text for question in case.questions], is_query=True)
    with temporary_memory(case, Dense(), embedder) as (memory, clock):
        end, graph = clock.now, memory.graph()
        read_nodes, score_codes = memory._scope_writer.node_source(graph), memory._scope_writer.code_source  # noqa: SLF001
        space = QuerySpace.from_graph(case, graph, [])
        for question in case.questions:
            clock.now = question.asked_at or end
            query = memory.build_query(question.text)
            pool = build_pool(graph, query)
            if not len(pool.rows):
                continue
            matrix = build_feature_matrix(pool)
            reading = CandidateReranking(reranker, graph, query, read_nodes, is_mandatory=True, score_codes=score_codes)
            matrix = policy.rerank(pool, matrix, ranker.score(matrix), ranker, answerability, 0.0, reading)
            gold = frozenset(space.number_by_document[id_] for id_ in question.gold)
            yield FusedExample(
                dataset=name,
                space=case.space,
                question_id=question.id,
                is_full_space=True,
                matrix=with_all_features(matrix),
                document_numbers=space.document_numbers[matrix.rows],
                gold=gold,
                is_answerable=question.is_answerable,
            )


def with_all_features(matrix: FeatureMatrix) -> FeatureMatrix:
    """A matrix that has the features of reading, also if nothing was read."""
    zeros = np.zeros(len(matrix), np.float32)
    return replace(matrix, features={**dict.fromkeys(RERANKING_FEATURES, zeros), **matrix.features})


def fit(examples: Sequence[FusedExample], genre: Genre | None = None) -> FusedModel:
    """Train on questions as they were read; passages, and the confidence, also as if they had not been.

    The same weights choose what is read and rank what was. The other genres rank no better with both. With a genre,
    only its weights and the confidence are trained; the other weights are those of the package.
    """
    prior = UNTRAINED if genre is None else FusedModel(packaged_ranker(except_for=genre), UNTRAINED.answerability)
    learned = with_unread(examples) if genre is Genre.PASSAGE else examples
    model = with_least_weights(train(learned, prior, ridge=RIDGE, genre=genre))
    return with_confidence(model.ranker, examples)


def with_confidence(ranker: Ranker, examples: Sequence[FusedExample]) -> FusedModel:
    """A ranker with a confidence trained on questions as they were read, as if once only, and as if not at all."""
    once = [replace(one, matrix=without_second_reranking(one.matrix)) for one in examples]
    return FusedModel(ranker, train_answerability([*with_unread(examples), *once], ranker, UNTRAINED.answerability))


def with_least_weights(model: FusedModel) -> FusedModel:
    """A model whose weights of statements are at least ``LEAST_WEIGHTS``, in their direction."""
    models = list(model.ranker.models)
    of_statements = models[Genre.STATEMENT]
    least = {
        name: weight
        for name, weight in LEAST_WEIGHTS.items()
        if abs(of_statements.weights.get(name, 0.0)) < abs(weight)
    }
    models[Genre.STATEMENT] = replace(of_statements, weights={**of_statements.weights, **least})
    return replace(model, ranker=Ranker(*models))


def packaged_ranker(*, except_for: Genre | None = None) -> Ranker:
    """The ranker of the package, untrained for one genre."""
    ranker, _ = weights.load_fused_model(DEFAULT_EMBEDDER().name)
    models = list(ranker.models)
    if except_for is not None:
        models[except_for] = UNTRAINED.ranker.models[except_for]
    return Ranker(*models)


def with_unread(examples: Sequence[FusedExample]) -> list[FusedExample]:
    """Questions as they were read, and as if they had not been."""
    return [*examples, *(replace(one, matrix=without_reranking(one.matrix)) for one in examples)]


def without_reranking(matrix: FeatureMatrix) -> FeatureMatrix:
    """A matrix as if nothing had been read."""
    zeros = np.zeros(len(matrix), np.float32)
    features = {**matrix.features, **dict.fromkeys(RERANKING_FEATURES, zeros)}
    return replace(matrix, features=features, reranker_scores=np.full(len(matrix), np.nan, np.float32))


def without_second_reranking(matrix: FeatureMatrix) -> FeatureMatrix:
    """A matrix as if nothing had been read again."""
    reranker_scores = matrix.reranker_scores - matrix.features[SECOND_RERANKING]
    reranker_scores[matrix.reranker_scores <= -MAX_LOG_ODDS] = -MAX_LOG_ODDS  # no answer, whatever the reranker says
    features = {**matrix.features, SECOND_RERANKING: np.zeros(len(matrix), np.float32)}
    return replace(matrix, features=features, reranker_scores=reranker_scores)


def report_line(name: str, group: Sequence[FusedExample], learned: dict[str, list[FusedExample]]) -> str:
    """The figures of a set, each question ranked by weights that did not learn from its fold."""
    others = [one for other, rest in learned.items() if other != name for one in rest]
    by_fold: defaultdict[int, list[FusedExample]] = defaultdict(list)
    has_spaces = len({one.space for one in group}) >= MIN_SPACES
    for one in group:
        key = one.space if has_spaces else one.question_id
        by_fold[zlib.crc32(key.encode()) % FOLDS].append(one)
    firsts, confidences = [], defaultdict(list)
    for fold, tested in sorted(by_fold.items()):
        own = [one for number, rest in by_fold.items() if number != fold for one in rest] if name in learned else []
        model = fit([*others, *own])
        for one in tested:
            ranked_pool = model.ranker.score(one.matrix)
            confidences[one.is_answerable].append(model.answerability.probability(one.matrix, ranked_pool))
            if one.is_answerable is not False and one.gold:
                order = np.argsort(-ranked_pool.scores, kind="stable")
                ranked = tuple(map(str, dict.fromkeys(one.document_numbers[order].tolist())))
                gold = frozenset(map(str, one.gold))
                firsts.append(
                    [recall_any_at_k(ranked, gold, 1), recall_any_at_k(ranked, gold, 3)]
                    + [recall_at_k(ranked, gold, k) for k in (5, 10)]
                )
    figures = " ".join(f"{value:.3f}" for value in np.mean(firsts, axis=0))
    right, wrong = np.array(confidences[True]), np.array(confidences[False])
    apart = f"AUROC {auroc(right, wrong):.3f}" if len(right) and len(wrong) else ""
    bands = "".join(
        f" {label} {np.mean(values >= 0.5):.3f}/{np.mean(values < 0.2):.3f}"
        for label, values in (("answerable", right), ("unanswerable", wrong))
        if len(values)
    )
    return f"{name} ({len(firsts)}) {figures} {apart}{bands}"


if __name__ == "__main__":
    main()
