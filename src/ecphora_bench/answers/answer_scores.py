"""Measures of answers, pure, as the scripts published with the sets define them: a reply and gold in, numbers out.

- LoCoMo (Adyasha Maharana and others, "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024,
  arXiv:2402.17753; ``task_eval/evaluation.py``): F1 over stemmed tokens, by category. Its NLTK stemmer departs from
  Porter's algorithm in rules of its own; here it is Porter's as Snowball has it, which tells apart or puts together
  otherwise 1.5% of the different words of locomo and realtalk.
- HotpotQA (Zhilin Yang and others, 2018, arXiv:1809.09600; ``hotpot_evaluate_v1.py``) and 2WikiMultihopQA (Xanh Ho and
  others, 2020, arXiv:2011.01060), whose script is the same: exact match and F1, with yes and no all or nothing.
- SQuAD (Pranav Rajpurkar and others, 2016 and 2018, arXiv:1606.05250 and 1806.03822), as MuSiQue's script has it, for
  all other sets: exact match and F1, the best over the answers; no answer is the empty one.

No judge: a long free answer that says the same in other words scores low.
"""

import re
import string
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import Stemmer

NO_ANSWER = "No information available"
"""The reply counted for a reader that finds no answer; LoCoMo's script looks for these words."""
NO_ANSWER_PHRASES = ("no information available", "not mentioned")
"""The words by which LoCoMo's script tells a refusal."""
MULTI_HOP, OPEN_DOMAIN, ADVERSARIAL = "multi-hop", "open-domain", "adversarial"
"""LoCoMo's categories 1, 3 and 5; 2, temporal, and 4, single-hop, are scored the plain way."""
LOCOMO_DATASETS = frozenset({"locomo", "realtalk"})
"""Sets of LoCoMo's categories."""
HOTPOTQA_DATASETS = frozenset({"hotpotqa", "hotpotqa_distractor", "2wikimultihopqa"})
"""Sets whose scripts take yes and no as all or nothing."""
ALL_OR_NOTHING_WORDS = frozenset({"yes", "no", "noanswer"})

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_ARTICLES_AND = re.compile(r"\b(a|an|the|and)\b")
_stemmers = threading.local()  # a stemmer must not be used by two threads


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """How right a reply is, each in 0..1; ``exact`` is None where the set's script has no such measure."""

    f1: float
    exact_match: float | None = None


def score_answer(
    dataset: str, category: str, answer: str, *, answered: bool, is_answerable: bool, gold_answers: Sequence[str]
) -> AnswerScore | None:
    """The score of a reply by the measure of its set; None if there is nothing to compare with.

    ``answer`` is the reply, ``answered`` whether it gives an answer at all. The right reply to an unanswerable question
    is that it has no answer.
    """
    if dataset in LOCOMO_DATASETS and category == ADVERSARIAL:
        return AnswerScore(locomo_score(category, answer, ""))
    if is_answerable and not gold_answers:
        return None
    if not is_answerable:
        return AnswerScore(float(not answered), None if dataset in LOCOMO_DATASETS else float(not answered))
    if dataset in LOCOMO_DATASETS:
        return AnswerScore(max(locomo_score(category, answer, gold) for gold in gold_answers))
    f1, reply = hotpotqa_f1 if dataset in HOTPOTQA_DATASETS else squad_f1, answer if answered else ""
    return AnswerScore(_best_score(f1, reply, gold_answers), _best_score(exact_match, reply, gold_answers))


def _best_score(measure: Callable[[str, str], float], answer: str, gold_answers: Sequence[str]) -> float:
    return max(measure(answer, gold) for gold in gold_answers)


# ---- LoCoMo


def locomo_score(category: str, answer: str, gold: str) -> float:
    """LoCoMo's score of a reply.

    An adversarial question is answered by a refusal alone, whatever the gold says. Of an open-domain answer only what
    stands before the semicolon counts: the rest is its reason.
    """
    if category == ADVERSARIAL:
        return float(any(words in answer.lower() for words in NO_ANSWER_PHRASES))
    if category == MULTI_HOP:
        return locomo_multi_answer_f1(answer, gold)
    return locomo_f1(answer, gold.split(";", maxsplit=1)[0].strip() if category == OPEN_DOMAIN else gold)


def locomo_f1(answer: str, gold: str) -> float:
    """F1 over the stems of the words, without a, an, the and and."""
    return _f1(_stems(answer), _stems(gold))


def locomo_multi_answer_f1(answer: str, gold: str) -> float:
    """For answers of several parts, between commas: for each part of the gold the best F1 of any part of the reply."""
    answer_parts = answer.split(",")
    parts = gold.split(",")
    return sum(max(locomo_f1(one, part) for one in answer_parts) for part in parts) / len(parts)


def _stems(text: str) -> list[str]:
    stemmer = getattr(_stemmers, "porter", None)
    if stemmer is None:
        stemmer = _stemmers.porter = Stemmer.Stemmer("porter")
    stems: list[str] = stemmer.stemWords(normalize(text, _ARTICLES_AND).split())
    return stems


# ---- SQuAD, HotpotQA


def normalize(text: str, articles: re.Pattern[str] = _ARTICLES) -> str:
    """A text as answers are compared: lower case, without ASCII punctuation and articles, single spaces."""
    return " ".join(articles.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> float:
    """1 if both are the same once normalised, else 0."""
    return float(normalize(answer) == normalize(gold))


def squad_f1(answer: str, gold: str) -> float:
    """F1 over words; of two that are both empty 1."""
    ours, theirs = normalize(answer).split(), normalize(gold).split()
    return _f1(ours, theirs) if ours and theirs else float(ours == theirs)


def hotpotqa_f1(answer: str, gold: str) -> float:
    """F1 over words; where either is yes or no, and not both, 0."""
    ours, theirs = normalize(answer), normalize(gold)
    return (
        0.0
        if ours != theirs and not ALL_OR_NOTHING_WORDS.isdisjoint((ours, theirs))
        else _f1(ours.split(), theirs.split())
    )


def _f1(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of words, each counted as often as it stands there."""
    same = (Counter(ours) & Counter(theirs)).total()
    return 2 * same / (len(ours) + len(theirs)) if same else 0.0
