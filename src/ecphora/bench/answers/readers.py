"""Who answers in ``ecphora bench answer``: a language model of the settings, or one that only quotes."""

import json
import re
import time
from pathlib import Path

from ... import settings
from ...cli.context import open_context
from ...errors import InvalidInput
from ...language.terms import extract_terms
from ...language.token_count import estimate_tokens
from ...ports import LLM, Prompt, Reply
from ...prompts import quoting

MIN_TERM_OVERLAP = 0.5
"""The part of the question's words that a sentence must have, to be taken for an answer."""
_MEMORY = re.compile(r'<memory id="([^"]*)"[^>]*>\n(.*?)\n</memory>', re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*)\Z", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n+")


def make_reader(llm: str | None) -> LLM:
    """The reader of a setting, or of the environment's: a language model, or ``extractive``."""
    if llm == ExtractiveReader.name:
        return ExtractiveReader()
    made = open_context(
        as_json=True, llm=llm
    ).settings.make_llm()  # the notes are told once, where the embedder is made
    if made is None:
        raise InvalidInput(
            f"nobody is there to answer: give --llm {settings.LLM_CHOICES}, or {ExtractiveReader.name} for a trial"
        )
    return made


def reader_label(llm: str | None) -> str | None:
    """A setting as it goes on record: of a path only the file's name, for folders differ from machine to machine."""
    kind, colon, model = (llm or "").partition(":")
    return f"{kind}:{Path(model).name}" if colon and kind == "llamacpp" else llm


class ExtractiveReader:
    """Needs no model: it says the sentence of the memories that has most words of the question.

    It replies to the prompt ``answer`` as a model does, so that a whole run can be tried out anywhere. As a reader it
    is poor.
    """

    name = "extractive"

    def complete(self, prompt: Prompt, /) -> Reply:
        """The sentence nearest to the question in words, the first of equals; not held where none is near."""
        started = time.perf_counter()
        asked = _QUESTION.search(prompt.user)
        wanted = set(extract_terms(quoting.unescape(asked[1]))) if asked else set()
        best, said, ids = 0, "", []
        for id_, text in _MEMORY.findall(prompt.user):
            for sentence in filter(None, _SENTENCE.split(quoting.unescape(text))):
                found = len(wanted.intersection(extract_terms(sentence)))
                if found > best:
                    best, said, ids = found, sentence.strip(), [id_]
        held = best > 0 and best >= MIN_TERM_OVERLAP * len(wanted)
        text = json.dumps({"answer": said if held else "", "ids": ids if held else [], "held": held})
        return Reply(
            text,
            estimate_tokens(prompt.system) + estimate_tokens(prompt.user),
            estimate_tokens(text),
            time.perf_counter() - started,
        )
