"""The common form of a verb's forms in English, German, Spanish, French and Portuguese: "lent" and "lends" are "lend".

Irregular forms come from ``lexicon/roles.ini``; of other words, the stem is the common form.
"""

import threading
from functools import cache, lru_cache

import Stemmer

from ...model.lazy import lazy_pattern
from ..european_languages import European
from ..lexicon_file import lexicon_value
from ..terms import fold

_STEMMER_NAMES = {
    European.ENGLISH: "english",
    European.GERMAN: "german",
    European.SPANISH: "spanish",
    European.FRENCH: "french",
    European.PORTUGUESE: "portuguese",
}
_SEPARATED = lazy_pattern(
    r"(?P<prefix>an|auf|aus|bei|ein|mit|ab|zu|vor|nach|zurück|weg|her|hin)?(?P<form>ge\w{3,}(?:t|en))\Z"
)
_GERMAN_ENDING = lazy_pattern(r"(?:te?n?|en)\Z")
_stemmers = threading.local()


@lru_cache(maxsize=1 << 14)
def verb_form(word: str, language: European = European.ENGLISH) -> str:
    """The common form of a word in lower case: equal for all forms of a verb. Of other words than verbs, the stem."""
    lemma = _lemmas(language).get(fold(word)) or (_german_infinitive(word) if language is European.GERMAN else word)
    stemmers = _stemmers.__dict__
    stemmer = stemmers.get(language)  # a stemmer must not be shared between threads
    if stemmer is None:
        stemmer = stemmers[language] = Stemmer.Stemmer(_STEMMER_NAMES[language], 0)
    return str(stemmer.stemWord(lemma))


def _german_infinitive(word: str) -> str:
    """The likely infinitive of a regular German verb form, and of an irregular one behind a prefix that separates."""
    participle = _SEPARATED.match(word)
    if participle is not None:
        stem = _lemmas(European.GERMAN).get(fold(participle["form"]), "")
        return (participle["prefix"] or "") + (stem or _GERMAN_ENDING.sub("en", participle["form"].removeprefix("ge")))
    return _GERMAN_ENDING.sub("en", word) if len(word) > 4 else word


def may_be_participle(word: str) -> bool:
    """Whether an English word in lower case may be a participle of the perfect, or a past form."""
    return word.endswith("ed") or _lemmas(European.ENGLISH).get(word, word) != word


@cache
def _lemmas(language: European) -> dict[str, str]:
    """The first form of each row of irregular forms, by the folded forms of the row."""
    rows = lexicon_value("roles", language.section, "irregular forms").replace("\n", " ; ").split(" ; ")
    return {fold(form): row.split()[0] for row in rows if row for form in row.split()}
