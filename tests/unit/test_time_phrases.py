"""``time_mentions`` and ``time_spans`` in seven languages: the phrases of ``time_phrases/``, and what is no time.

``intervals.txt`` has a line for each meaning, with its interval at each of ``REFERENCE_TIMES``. The file of a language
has a line for each meaning, with texts that name exactly that time. ``more.txt`` has texts of all languages, each with
its interval at the first reference time.
"""

import re
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.dates.mentions import time_mentions, time_spans
from ecphora.model.types import Interval

FOLDER = Path(__file__).parent / "time_phrases"
REFERENCE_TIMES = tuple(
    map(datetime.fromisoformat, ("2026-03-18T10:00+00:00", "2025-01-05T22:15+09:00", "2024-07-01T08:00-05:00"))
)  # a Wednesday, a Sunday and a Monday
LANGUAGES = ("de", "en", "es", "fr", "ja", "pt", "zh")


def lines(name: str) -> list[tuple[str, str]]:
    """The lines of a file, each as what is before and what is after ": "."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return [(key, rest) for key, _, rest in (line.partition(": ") for line in text.splitlines())]


def interval(text: str, reference_time: datetime) -> Interval:
    start, end = (datetime.fromisoformat(day).replace(tzinfo=reference_time.tzinfo) for day in text.split(" to "))
    return Interval(start, end)


INTERVALS = {key: cells.split(" | ") for key, cells in lines("intervals")}
PHRASES = [
    (language, key, text) for language in LANGUAGES for key, texts in lines(language) for text in texts.split(" | ")
]

LOOK_ALIKES = """
Guten Morgen, wie geht es dir? | Herr Montag kommt | Frau Freitag war da | Das ist hier so
Jeden ersten Montag fege ich | Jeden Montag gehe ich schwimmen
Freitags esse ich Fisch | Das ist der Fall | Er hat einen Freitagsjob | Mai heißt meine Katze | Kapitel 1.2. ist lang
Es kostet 3.50 | am ersten Tisch saß ich
la segunda vez | Santo Domingo es bonito | Plácido Domingo cantó | Los domingos comemos paella | cada lunes corro
de lunes a viernes abrimos | por la mañana tomo café | las 3 de la tarde | hoy en día todo cambia | la tarde es larga
L'été est beau et j'ai été malade | Le fils de Mars | au fur et à mesure | le lundi je nage | Tous les lundis je nage
le premier lundi du mois | J'ai deux mois de vacances | les jours sont longs | Mars est une planète
a segunda parte | na segunda vez que fui lá | toda sexta jogamos | às segundas treino | Um homem à toa
de segunda a sábado trabalho | a última semana de provas | hoje em dia tudo muda
I sleep on the weekend with the sun | He sat on the second floor | We met on the third day | twenty-first century art
She lives on the 9th floor | version 3.11.7 is out
1号线很挤 | 二号楼在那边
三〇五号有人 | 3号地黑了 | 2号ポンプが鳴ってる | 二日は揚げられん
一日に三回飲みます | 最近很忙 | 每月5号发工资 | 1/2の確率です
"""


@pytest.mark.medium
@pytest.mark.parametrize(("language", "key", "text"), PHRASES)
def test_phrase_gives_its_interval_in_the_zone_of_the_reference_time(language: str, key: str, text: str) -> None:
    for reference_time, expected in zip(REFERENCE_TIMES, INTERVALS[key], strict=True):
        assert time_mentions(text, reference_time) == (interval(expected, reference_time),)


@pytest.mark.parametrize(("expected", "text"), lines("more"))
def test_other_phrase_gives_its_interval(expected: str, text: str) -> None:
    assert time_mentions(text, REFERENCE_TIMES[0]) == (interval(expected, REFERENCE_TIMES[0]),)


@pytest.mark.parametrize("text", [text for line in LOOK_ALIKES.strip().splitlines() for text in line.split(" | ")])
def test_look_alike_gives_no_interval(text: str) -> None:
    assert time_mentions(text, REFERENCE_TIMES[0]) == ()


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("What did I do on March 9?", ["on March 9"]),
        ("Was habe ich am 9. März gemacht, und gestern?", ["am 9. März", "gestern"]),
        ("¿A quién vi el lunes pasado en Roma?", ["el lunes pasado"]),
        ("Il y a trois jours, j'ai vu Ana ; hier aussi.", ["Il y a trois jours", "hier"]),
        ("Vi a Ana na segunda-feira passada, e em março de 2025.", ["na segunda-feira passada", "em março de 2025"]),
        ("我上周一做了什么？", ["上周一"]),
        ("先週の月曜日に何をしましたか？", ["先週の月曜日"]),
        ("Vom 3. Mai bis zum 7. Mai 2025 war ich weg.", ["Vom 3. Mai bis zum 7. Mai 2025"]),
        ("What did I do?", []),
    ],
)
def test_span_is_the_phrase_in_the_text(text: str, phrases: list[str]) -> None:
    assert [text[span.start : span.end] for span in time_spans(text, REFERENCE_TIMES[0])] == phrases


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a date without a year is in the year of its clause's tense, and the nearest one if its clause has none
        ("She got the job, start is 6 October.", "2026-10-06 to 2026-10-07"),
        ("They moved in, and it begins on 10 April.", "2026-04-10 to 2026-04-11"),
        ("We moved in on 10 April.", "2025-04-10 to 2025-04-11"),
        ("Wir sind am 10. April umgezogen.", "2025-04-10 to 2025-04-11"),
        ("Er hat gekündigt, der Neue kommt am 10. April.", "2026-04-10 to 2026-04-11"),
        ("Nos mudamos el 10 de abril.", "2025-04-10 to 2025-04-11"),
        ("Nous allons déménager en février.", "2027-02-01 to 2027-03-01"),
        ("Vou mudar em fevereiro.", "2027-02-01 to 2027-03-01"),
        ("Ich werde im Februar umziehen.", "2027-02-01 to 2027-03-01"),
        ("Voy a mudarme en febrero.", "2027-02-01 to 2027-03-01"),
        # a question in no tense asks for the past, one in the present tense for the nearest
        ("And the trip in August, how many were there?", "2025-08-01 to 2025-09-01"),
        ("The trip in August?", "2025-08-01 to 2025-09-01"),
        ("Is the trip in August?", "2026-08-01 to 2026-09-01"),
        ("They stay until January.", "2026-03-18 10:00 to 2027-02-01"),
        ("金曜は誰が行きます?", "2026-03-20 to 2026-03-21"),
        ("新しいかごは23日に動き出した。", "2026-02-23 to 2026-02-24"),
        # this night is the last one in the past tense
        ("Il a neigé cette nuit.", "2026-03-17 18:00 to 2026-03-18 06:00"),
        ("Heute Nacht wird es schneien.", "2026-03-18 18:00 to 2026-03-19 06:00"),
        # the day of a weekday decides on the month
        ("Nos vemos el viernes 3.", "2026-04-03 to 2026-04-04"),
        ("La pose est prévue le lundi 20 avril.", "2026-04-20 to 2026-04-21"),
        ("It was planned for Monday, 20 April.", "2026-04-20 to 2026-04-21"),
        ("It was planned for Monday, 20 April 2025.", "2025-04-20 to 2025-04-21"),
        # months of last year, and both ends of a range
        ("Im März letzten Jahres war ich in Rom.", "2025-03-01 to 2025-04-01"),
        ("From May 3, 2024 to May 7 I was away.", "2024-05-03 to 2024-05-08"),
        ("Le pagaron en marzo del año pasado.", "2025-03-01 to 2025-04-01"),
        ("We met a month ago today.", "2026-02-18 to 2026-02-19"),
    ],
)
def test_words_around_a_date_decide_on_its_year(text: str, expected: str) -> None:
    assert time_mentions(text, REFERENCE_TIMES[0]) == (interval(expected, REFERENCE_TIMES[0]),)


FRAGMENTS = sorted(
    {part for _, _, text in PHRASES for part in re.findall(r"\w+|\W", text)} | {"31", "0", "ſ", "İ", "٣"}
)


@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=25))
def test_any_words_of_the_phrases_give_valid_spans(parts: list[str]) -> None:
    text = " ".join(parts)
    for span in time_spans(text, REFERENCE_TIMES[0]):
        assert 0 <= span.start < span.end <= len(text)
        assert span.interval.start < span.interval.end


def test_day_and_month_are_in_the_order_of_the_language() -> None:
    for text, day in (
        ("The bill of 9/3/2026 is here.", "2026-09-03"),
        ("Die Rechnung vom 9/3/2026 ist da.", "2026-03-09"),
        ("La factura del 9/3/2026 llegó.", "2026-03-09"),
        ("La facture du 9/3/2026 est là.", "2026-03-09"),
        ("A fatura de 9/3/2026 chegou.", "2026-03-09"),
    ):
        assert [span.start.date().isoformat() for span in time_mentions(text, REFERENCE_TIMES[0])] == [day]
