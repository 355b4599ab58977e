"""The readers of ``ecphora bench answer``: a language model of the settings, or one that only quotes."""

import json
import re
import time
from pathlib import Path

from ecphora.cli.context import open_context
from ecphora.errors import InvalidInput
from ecphora.language.terms import estimate_tokens, extract_terms
from ecphora.model.ports import LLM, Prompt, Reply
from ecphora.models.llms.from_setting import LLM_CHOICES
from ecphora.models.prompts import quoting

MIN_TERM_OVERLAP = 0.5
"""The part of the question's words that a sentence must have to be taken as an answer."""
_MEMORY = re.compile(r'<memory id="([^"]*)"[^>]*>\n(.*?)\n</memory>', re.DOTALL)
_QUESTION = re.compile(r"^Question: (.*)\Z", re.DOTALL | re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*|\n+")


def make_reader(llm: str | None) -> LLM:
    """The reader named by the argument or else the environment: a language model, or ``extractive``."""
    if llm == ExtractiveReader.name:
        return ExtractiveReader()
    reader = open_context(
        as_json=True, llm=llm
    ).settings.make_llm()  # the notes are printed once, when the embedder is made
    if reader is None:
        raise InvalidInput(
            f"nobody is there to answer: give --llm {LLM_CHOICES}, or {ExtractiveReader.name} for a trial"
        )
    return reader


def reader_label(llm: str | None) -> str | None:
    """The name of a reader in records: of a path only the file name, as folders differ between machines."""
    kind, colon, model = (llm or "").partition(":")
    return f"{kind}:{Path(model).name}" if colon and kind == "llamacpp" else llm


class ExtractiveReader:
    """A reader without a model: quotes the sentence of the memories that shares most words with the question.

    It replies to the prompt ``answer`` as a model does, so a whole run can be tried anywhere. It reads poorly.
    """

    name = "extractive"

    def complete(self, prompt: Prompt, /) -> Reply:
        """Reply with the first sentence that shares most words with the question; no answer if none is near."""
        start = time.perf_counter()
        match = _QUESTION.search(prompt.user)
        question_terms = set(extract_terms(quoting.unescape(match[1]))) if match else set()
        best, quotation, ids = 0, "", []
        for id_, text in _MEMORY.findall(prompt.user):
            for sentence in filter(None, _SENTENCE.split(quoting.unescape(text))):
                shared_count = len(question_terms.intersection(extract_terms(sentence)))
                if shared_count > best:
                    best, quotation, ids = shared_count, sentence.strip(), [id_]
        is_answered = best > 0 and best >= MIN_TERM_OVERLAP * len(question_terms)
        text = json.dumps(
            {"answer": quotation if is_answered else "", "ids": ids if is_answered else [], "held": is_answered}
        )
        return Reply(
            text,
            estimate_tokens(prompt.system) + estimate_tokens(prompt.user),
            estimate_tokens(text),
            time.perf_counter() - start,
        )
