"""Questions about one person as that person would ask them: "Where do I live?" for "Where does Rosa live?".

What people say of themselves is in the first person, and so is a question that is near to it. English only.
"""

import re

from ..chat_roles import has_first_person
from .mentions import names

_VERBS = {"does": "do", "is": "am", "has": "have"}
_BEFORE_SUBJECT = "does|is|has|do|are|have|was|did|had|can|could|will|would|should|shall|must|may|might|were"
_BEFORE_OBJECT = "about|at|by|for|from|in|of|on|than|to|towards?|with|without|near|between|and|or|tell|gave|give|told"
_PRONOUNS = {
    "she": "I", "he": "I", "they": "I", "his": "my", "their": "my", "hers": "mine", "theirs": "mine", "him": "me",
    "them": "me", "himself": "myself", "herself": "myself", "themselves": "myself", "themself": "myself",
}  # fmt: skip
_AFTER_OBJECT = r"(?=\s*(?:[?.!,;]|$|(?:" + _BEFORE_OBJECT + r"|when|while|after|before|as|last|this|next)\b))"


def ask_oneself(question: str, person: str) -> str:
    """An English question about a person, asked by them; as it is if it names others too, or says "I" already.

    ``person`` is their full name, of which the question may use a part.
    """
    named = names(question)
    words = set(person.casefold().split())
    found = [name for name in named if words.issuperset(name.casefold().split())]
    if not found or len(found) < len(named) or has_first_person(question):
        return question
    name = "(?:" + "|".join(re.escape(one) for one in sorted(found, key=len, reverse=True)) + ")"
    text = re.sub(rf"\b{name}['’]s?(?!\w)", "my", question)
    text = _invert(text, rf"{name}\b(?!['’])")
    text = re.sub(rf"\b({_BEFORE_OBJECT})\s+{name}\b", r"\1 me", text, flags=re.IGNORECASE)
    text = re.sub(rf"^(who\s+\w+)\s+{name}\b", r"\1 me", text, flags=re.IGNORECASE)
    text = re.sub(rf"\b{name}\b{_AFTER_OBJECT}", "me", text)
    text = re.sub(rf"\b{name}\b", "I", text)
    return _replace_pronouns(text)


def _invert(text: str, subject: str) -> str:
    def write(found: re.Match[str]) -> str:
        verb = _VERBS.get(found[1].lower(), found[1])
        return f"{verb.capitalize() if found[1][0].isupper() else verb} I"

    return re.sub(rf"\b({_BEFORE_SUBJECT})\s+{subject}", write, text, flags=re.IGNORECASE)


def _replace_pronouns(text: str) -> str:
    text = _invert(text, r"(?:she|he)\b")
    text = re.sub(rf"\bher\b{_AFTER_OBJECT}", "me", text, flags=re.IGNORECASE)
    text = re.sub(r"\bher\b", "my", text, flags=re.IGNORECASE)
    pattern = r"\b(?:" + "|".join(_PRONOUNS) + r")\b"
    return re.sub(pattern, lambda found: _PRONOUNS[found[0].lower()], text, flags=re.IGNORECASE)
