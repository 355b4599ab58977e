"""Checks of the media of an episode, and of a query by media."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real

from .errors import InvalidInput, InvalidText
from .model import Media, MediaKind, MediaQuery
from .reprs import show
from .validate import check_items, check_name, check_unicode

MAX_MEDIA = 100
"""The most media of one memory."""
MAX_REFERENCE_CHARS = 4_096
"""Characters of the longest reference."""
MAX_CAPTION_CHARS = 4_000
"""Characters of the longest caption: captions are embedded with the text."""
MAX_DIM = 16_384
"""The most numbers of a vector."""


def check_media(media: object) -> tuple[Media, ...]:
    """Check the media of an episode."""
    if isinstance(media, Mapping | str):
        raise InvalidInput(f"media is {show(media)}; give a tuple of Media objects")
    checked = tuple(_check_medium(one) for one in check_items("media", media, "a tuple of Media objects"))
    if len(checked) > MAX_MEDIA:
        raise InvalidInput(f"{len(checked):,} media are too many for one memory; the limit is {MAX_MEDIA}")
    return checked


def guess_kind(reference: str) -> MediaKind:
    """What a medium is by the ending of its reference; a picture if that says nothing."""
    from mimetypes import MimeTypes  # noqa: PLC0415  # only tools need it

    type_, _ = MimeTypes().guess_type(reference)  # the built-in table, which is the same on every machine
    kinds = {"audio": MediaKind.SOUND, "video": MediaKind.VIDEO, "image": MediaKind.PICTURE, None: MediaKind.PICTURE}
    return kinds.get(type_ and type_.partition("/")[0], MediaKind.OTHER)


def _check_medium(one: object) -> Media:
    if not isinstance(one, Media):
        raise InvalidInput(f"one of media is {show(one)}; give Media('photo.jpg', caption='The beach.')")
    for field, value, limit in (
        ("reference", one.reference, MAX_REFERENCE_CHARS),
        ("caption", one.caption, MAX_CAPTION_CHARS),
    ):
        if not isinstance(value, str):
            raise InvalidText(f"the {field} of a medium is {show(value)}; give a str")
        if len(value) > limit:
            raise InvalidText(f"a {field} of {len(value):,} characters is too long; the limit is {limit:,}")
        check_unicode(field, value)
    if not one.reference.strip():
        raise InvalidText("the reference of a medium is empty; give a URI or path")
    if not isinstance(one.kind, str) or one.kind not in set(MediaKind):
        known = ", ".join(repr(kind.value) for kind in MediaKind)
        raise InvalidInput(f"the kind of a medium is {show(one.kind)}; give one of {known}")
    vector = check_vector(one.vector)
    if bool(vector) is (one.model is None):
        raise InvalidInput("a medium has a vector without a model, or a model without a vector; give both or none")
    model = None if one.model is None else check_name("model", one.model)
    return replace(one, kind=MediaKind(one.kind), vector=vector, model=model)


def check_vector(vector: object) -> tuple[float, ...]:
    """Check the vector of a medium; it is scaled to unit length. Empty means that there is none."""
    if isinstance(vector, str) or not isinstance(vector, Iterable):
        raise InvalidInput(f"vector is {show(vector)}; give a sequence of numbers")
    numbers = list(vector)
    if len(numbers) > MAX_DIM:
        raise InvalidInput(f"a vector of {len(numbers):,} numbers is too long; the limit is {MAX_DIM:,}")
    if not all(isinstance(one, Real) and not isinstance(one, bool) for one in numbers):
        raise InvalidInput("vector has something that is no number; give a sequence of numbers")
    try:
        length = math.hypot(*map(float, numbers))
    except OverflowError:
        length = math.inf
    if numbers and not 0 < length < math.inf:
        problem = "the length 0" if length == 0 else "numbers that are not finite or too large"
        raise InvalidInput(f"vector has {problem}; give it as the embedder returned it")
    return tuple(float(one) / length for one in numbers)


def check_media_query(query: object) -> MediaQuery | None:
    """Check a query by media, or None."""
    if query is None:
        return None
    if not isinstance(query, MediaQuery):
        raise InvalidInput(f"media_query is {show(query)}; give MediaQuery(vector, model='clip')")
    if not (vector := check_vector(query.vector)):
        raise InvalidInput("the vector of media_query is empty; give a sequence of numbers")
    return MediaQuery(vector, check_name("model", query.model))
