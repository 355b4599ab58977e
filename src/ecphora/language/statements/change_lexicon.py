"""English phrases for a change, an end, a resumption, a correction, and related signals, from ``lexicon/changes.ini``.

The file says what each of them means. The patterns below are of the structure of a sentence.
"""

import re

from ...model.lazy import lazy_pattern
from ..lexicon_file import lexicon_words, phrase_pattern

CHANGE = phrase_pattern("changes", "english", "change")
CURRENT = phrase_pattern("changes", "english", "current")
END = phrase_pattern("changes", "english", "end")
RESUMPTION = phrase_pattern("changes", "english", "resumption")
CORRECTION = phrase_pattern("changes", "english", "correction")
PARTIAL_CHANGE = phrase_pattern("changes", "english", "partial change")
NEUTRAL = phrase_pattern("changes", "english", "neutral")
NEGATION = phrase_pattern("changes", "english", "negation")
START = phrase_pattern("changes", "english", "start")
NO_CHANGE = phrase_pattern("changes", "english", "no change")
SUBSTITUTION = phrase_pattern("changes", "english", "substitution")
NEVER = phrase_pattern("changes", "english", "never")
NON_OCCURRENCE = phrase_pattern("changes", "english", "non occurrence")
HYPOTHESIS = phrase_pattern("changes", "english", "hypothesis")
ADDITION = phrase_pattern("changes", "english", "addition")
NO_STATE_CHANGE = phrase_pattern("changes", "english", "no state change")
EVENT_VERB = phrase_pattern("changes", "english", "event verb")
PAST_STATE = phrase_pattern("changes", "english", "past state")
NEVER_CLAUSE = lazy_pattern(
    r"\b(?:i|we)(?:['’]ve| have)? never\b[^,;.!?]{3,90}|\b(?:i|we) haven['’]t (?:\w+ )?ever\b[^,;.!?]{3,90}",
    re.IGNORECASE,
)
"""A clause that says what has never been."""
QUESTION = lazy_pattern(
    r"^(?:\W|(?:so|and|but|oh|hey|hi|wait|btw|ok|okay|hm+|well|\w+,)\s)*(?:did|do|does|are|is|was|were|have|has|had|"
    r"will|would|"
    r"should|shall|who|what|when|where|why|how|which|whose|isn['’]t|aren['’]t|didn['’]t|don['’]t|haven['’]t|"
    r"hasn['’]t)\b"
    r"[^.!]*\?\s*$",
    re.IGNORECASE,
)
"""A question, which states nothing."""
FORMER_VALUE = lazy_pattern(
    r"\b(?:(?:mov|switch|chang|went|gone|upgrad|up|down|rais|increas|shift|migrat|transfer|convert|extend|push|bump|"
    r"cut|drop|grow|"
    r"grew|fell|rose|improv|back)\w*(?: (?!to\b)[\w’'-]+){0,5}? from|instead of|rather than|in place of|"
    r"as opposed to|no longer(?: in| at| on)?|left|used to (?:\w+ )?(?:in|at|"
    r"for)?|replac(?:ed|es|ing)(?: the| my| our)?|swapped(?: the| my| our)?|traded(?: in)?(?: the| my| our)?|"
    r"ditched(?: the| my)?|"
    r"sold(?: the| my)?|goodbye to) "
    r"(?P<what>(?:the |my |our )?[\w$€£%:.'’-]+(?: (?!to\b|for\b|with\b|and\b|but\b|in\b|on\b|at\b|is\b|it\b|now\b|"
    r"as\b)"
    r"[\w$€£%:.'’-]+){0,2})",
    re.IGNORECASE,
)
"""A value named as no longer so, or never so."""
CORRECTED_VALUE = lazy_pattern(
    r"\b(?:not|wasn['’]t|isn['’]t|was|said)(?: on| at| in| for)? (?P<what>(?:the )?[\w$€£%:.'’-]+(?: (?!to\b|but\b|"
    r"it\b)[\w$€£%:.'’-]+)?)",
    re.IGNORECASE,
)
"""A value that a correction names as wrong."""
RELATION_NOUN = lazy_pattern(
    r"\bmy (?:\w+ )?(?P<kin>sister|brother|mom|mum|mother|dad|father|wife|husband|son|daughter|cousin|aunt|uncle|"
    r"boss|manager|"
    r"roommate|flatmate|neighbou?r|grandma|grandpa|grandmother|grandfather|niece|nephew|partner|girlfriend|"
    r"boyfriend|fiancée?|"
    r"friend|colleague|coworker|co-worker|landlord|coach|teacher|parents|kids|ex)(?:['’]s)?\b",
    re.IGNORECASE,
)
"""A person named by the relation to the speaker."""
ATTRIBUTES = ("home", "work", "partner", "diet", "car", "commute")
"""The single-valued attributes of a person."""
ATTRIBUTE_PATTERNS = {name: phrase_pattern("changes", "attributes", name) for name in ATTRIBUTES}
ATTRIBUTE_STEMS = {name: lexicon_words("changes", "attribute stems", name) for name in ATTRIBUTES}
"""The stems by which a question asks about an attribute, and by which memories about it are looked up."""
FILLER_STEMS = lexicon_words("changes", "stems", "filler")
"""Stems of words without topical content in a claim."""
