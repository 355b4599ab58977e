"""Turns the first person into the third: what someone says, or asks, about themselves, as others would put it."""

import re

PAST = frozenset(
    {
        "beat",
        "became",
        "began",
        "bought",
        "broke",
        "came",
        "chose",
        "did",
        "drew",
        "drove",
        "fell",
        "felt",
        "forgot",
        "found",
        "froze",
        "gave",
        "got",
        "grew",
        "had",
        "heard",
        "kept",
        "lay",
        "left",
        "lent",
        "let",
        "lost",
        "made",
        "met",
        "paid",
        "put",
        "quit",
        "ran",
        "read",
        "rode",
        "said",
        "sat",
        "saw",
        "sent",
        "slept",
        "sold",
        "spent",
        "stood",
        "swam",
        "threw",
        "told",
        "took",
        "was",
        "went",
        "woke",
        "won",
        "wrote",
    }
)
MODAL = frozenset(
    {
        "can",
        "cannot",
        "could",
        "may",
        "might",
        "must",
        "shall",
        "should",
        "used",
        "will",
        "would",
    }
)
ADVERBS = frozenset(
    {
        "also",
        "already",
        "always",
        "finally",
        "just",
        "longer",
        "never",
        "no",
        "now",
        "only",
        "really",
        "still",
        "usually",
    }
)
IRREGULAR = {"am": "is", "have": "has", "do": "does", "go": "goes", "don't": "doesn't", "were": "was", "was": "was"}
PLURAL = {"am": "are", "was": "were"}

_INVERTED = re.compile(r"\b(am|do|have|did|was|may|should|can|could|must|would|might)( I| we)\b", re.IGNORECASE)
_WORDS = re.compile(
    r"\b(?P<contracted>I'm|I've|I'd|I'll)(?![\w'])"
    r"|\b(?P<subject>I|[Ww]e)(?P<verbs>(?: (?:" + "|".join(sorted(ADVERBS)) + r"))* [a-z']+)?(?![\w'])"
    r"|\b(?P<my>[Mm]y|[Oo]ur)\b|\b(?P<me>me|us)\b|\b(?P<self>myself|ourselves)\b|\b(?P<mine>mine|ours)\b"
)
_CONTRACTED = {"I'm": ("is", "are"), "I've": ("has", "have"), "I'd": ("would", "would"), "I'll": ("will", "will")}
_SENTENCE_START = re.compile(r"(?<=[a-z][.!?] )t(?=he user\b|hey\b|heir\b)")
_ASKED = re.compile(r"\b(remind|tell) me\b", re.IGNORECASE)


def third_person(verb: str) -> str:
    """The form of a verb after "she", given the one after "I"."""
    if verb in IRREGULAR:
        return IRREGULAR[verb]
    if verb in PAST or verb in MODAL or verb.endswith("ed"):
        return verb
    if re.search(r"(s|sh|ch|x|o|z)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def about(text: str, name: str) -> str:
    """A statement or question in the first person, about ``name``, such as "the user"; quotations stay as they are.

    The first mention is by name, the others are "they" and "their".
    """
    teller = _Teller(name)
    parts = text.split('"')
    parts[::2] = [teller.tell(part) for part in parts[::2]]
    whole = _SENTENCE_START.sub(lambda found: found[0].upper(), '"'.join(parts))
    return whole[:1].upper() + whole[1:] if text[:1].isupper() else whole


class _Teller:
    def __init__(self, name: str) -> None:
        self.name = name
        self.is_named = False

    def tell(self, text: str) -> str:
        text = _ASKED.sub(lambda found: f"{found[1]} \0", text)
        text = _INVERTED.sub(self._invert, text)
        return _WORDS.sub(self._replace, text).replace("\0", "me")

    def _first(self, named: str, again: str) -> str:
        self.is_named, was_named = True, self.is_named
        return again if was_named else named

    def _invert(self, found: re.Match[str]) -> str:
        verb = found[1].lower()
        self.is_named = True
        new = third_person(verb)
        return f"{new.capitalize() if found[1][0].isupper() else new} {self.name}"

    def _replace(self, found: re.Match[str]) -> str:
        if found["contracted"]:
            one, many = _CONTRACTED[found["contracted"]]
            return self._first(f"{self.name} {one}", f"they {many}")
        if found["subject"]:
            *adverbs, verb = (found["verbs"] or "").split() or [""]
            singular, plural = third_person(verb) if verb else "", PLURAL.get(verb, verb)
            return self._first(
                " ".join(filter(None, (self.name, *adverbs, singular))),
                " ".join(filter(None, ("they", *adverbs, plural))),
            )
        if found["my"]:
            return self._first(f"{self.name}'s", "Their" if found["my"][0].isupper() else "their")
        if found["me"]:
            return self._first(self.name, "them")
        if found["mine"]:
            return self._first(f"{self.name}'s", "theirs")
        return self._first(self.name, "themselves")
