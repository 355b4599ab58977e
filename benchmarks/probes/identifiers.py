"""Probes about things with an identifier, beside look-alikes that differ in a character or a part."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from ecphora_bench.probes.probe import Form, Half, Kind

from .draw import Draw
from .lists import Lists
from .worlds import Draft

ALPHABETS = {
    "#": "0123456789",
    "%": "0123456789abcdef",
    "^": "ABCDEFGHJKLMNPRSTUVWXYZ",
    "~": "abcdefghijklmnoprstuvwz",
    "*": "ABCDEFGHJKLMNPRSTUVWXYZ0123456789",
}
SEPARATE_WORDS = ("word", "ext", "surname", "domain")
UNANSWERED = 0.5
"""The part of the sorts of a world that have a question without answer."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of an identifier: fixed, or drawn from an alphabet or from a section of the lists."""

    text: str
    alphabet: str = ""
    section: str = ""


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier as its pieces."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        """The identifier as it is written."""
        return "".join(part.text for part in self.parts)

    def look_alike(self, draw: Draw) -> "Identifier":
        """Another identifier: two neighbors are swapped, a character is another one, or a word is."""
        while True:
            parts = list(self.parts)
            place = draw.rng.choice([place for place, part in enumerate(parts) if part.alphabet or part.section])
            part = parts[place]
            if part.section:
                parts[place] = Part(draw.rng.choice(draw.lists.get(part.section)), section=part.section)
            elif [one.alphabet for one in parts[place + 1 : place + 2]] == [part.alphabet] and draw.chance(0.6):
                parts[place : place + 2] = parts[place + 1], part
            else:
                parts[place] = Part(draw.rng.choice(part.alphabet), part.alphabet)
            if parts != list(self.parts) and not (parts[0].text == "0" and parts[0].alphabet == ALPHABETS["#"]):
                return Identifier(tuple(parts))


def draw_identifier(template: str, draw: Draw) -> Identifier:
    """An identifier of a format; its first digit is no zero, and of hexadecimal digits some are letters."""
    parts: list[Part] = []
    rest = template
    while rest:
        section = rest[1 : rest.find(">")] if rest[0] == "<" else ""
        if section in SEPARATE_WORDS:
            parts.append(Part(draw.rng.choice(draw.lists.get(section)), section=section))
            rest = rest[len(section) + 2 :]
            continue
        alphabet = ALPHABETS.get(rest[0], "")
        is_first = not parts or parts[-1].alphabet != alphabet
        choices = alphabet[1:] if rest[0] == "#" and is_first else alphabet
        parts.append(Part(draw.rng.choice(choices) if alphabet else rest[0], alphabet))
        rest = rest[1:]
    found = Identifier(tuple(parts))
    needs_letter = "%%%" in template and not any(part.text.isalpha() for part in parts if part.alphabet)
    return draw_identifier(template, draw) if needs_letter else found


def other_notation(phone: str, draw: Draw) -> str:
    """A phone number as telephones and people write it: together, with 00, or without the country."""
    country, area, number = phone.split(" ")
    pairs = " ".join(number[place : place + 2] for place in range(0, len(number), 2))
    notations = {
        Half.LEARN: (f"{country}{area}{number}", f"{country}-{area}-{number}", f"{country} {area} {pairs}"),
        Half.TEST: (
            f"00{country[1:]} {area} {number}",
            f"00{country[1:]}{area}{number}",
            f"{country} ({area}) {number[:3]}-{number[3:]}",
            f"0{area}/{number}",
        ),
    }
    return draw.rng.choice(notations[draw.lists.half])


def make(half: Half, worlds: int, rng: Random) -> Iterator[Draft]:
    """The worlds of this kind."""
    lists = Lists(half, ("names", "around", "identifiers"))
    for form in Form:
        for number in range(worlds):
            draft = Draft(f"identifiers-{half}-{form}-{number}", Kind.IDENTIFIERS, form, half, Draw(rng, lists))
            for sort in lists.names("format"):
                _probe_sort(draft, sort)
            _probe_amounts(draft)
            draft.surround()
            yield draft


def _probe_sort(draft: Draft, sort: str) -> None:
    draw = draft.draw
    right = draw_identifier(draw.pick(f"{sort} format"), draw)
    wrong = right.look_alike(draw)
    absent = right.look_alike(draw)
    while str(absent) in {str(right), str(wrong)}:
        absent = right.look_alike(draw)
    asked = []
    for identifier in (right, wrong):
        thing = draw.pick(f"{sort} thing")
        statement = draw.pick(f"{sort} statement")
        key = draft.tell(draw.fill(statement, id=str(identifier), thing=thing))
        asked.append(draft.ask(sort, _question(sort, identifier, draw), [key]))
    if draw.chance(UNANSWERED):
        draft.ask(sort, _question(sort, absent, draw), resembles=asked[0])


def _question(sort: str, identifier: Identifier, draw: Draw) -> str:
    written = str(identifier)
    return draw.fill(draw.pick(f"{sort} question"), id=other_notation(written, draw) if sort == "phone" else written)


def _probe_amounts(draft: Draft) -> None:
    """Amounts with the same number and another unit; the question writes the unit otherwise."""
    draw = draft.draw
    for n in map(str, draw.rng.sample(range(11, 89), 2)):
        rows = [draw.pick("amount row").split(" => ") for _ in range(3)]
        told = rows[:2]
        asked = [
            draft.ask("amount", question.replace("<n>", n), [draft.tell(statement.replace("<n>", n))])
            for statement, question in told
        ]
        draft.ask("amount", rows[2][1].replace("<n>", n), resembles=asked[0])
