"""Identifiers in texts: which are found, in many notations and languages, and what is none."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.language.identifiers.mentions import (
    MAX_ASKED,
    MAX_IDENTIFIERS,
    asked_identifiers,
    find_identifiers,
    fold_notation,
    index_hashes,
)
from ecphora.language.identifiers.values import IdentifierKind

NUMBER, CODE, HEX, PATH, NAME, EMAIL, URL, PHONE, VERSION, ADDRESS, TAG = IdentifierKind


def certain(text: str) -> list[tuple[IdentifierKind, str]]:
    return [(one.kind, one.value) for one in find_identifiers(text) if one.is_certain]


def holds(memory: str, question: str, *, as_part: bool = False) -> bool:
    """Whether a memory holds all identifiers of a question, which has some; ``as_part``: whole or as parts."""
    stored = set(index_hashes(memory).tolist())
    asked = asked_identifiers(question)
    return bool(asked) and all(
        stored.intersection(one.whole) or (as_part and stored.intersection(one.part)) for one in asked
    )


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("What listens on port 8080?", NUMBER, "8080"),
        ("Das lauscht auf Port 8080.", NUMBER, "8080"),
        ("El servidor usa el puerto 443", NUMBER, "443"),
        ("ポート8080で待ち受けている", NUMBER, "8080"),
        ("端口8080被占用了", NUMBER, "8080"),
        ("8080端口被占用了", NUMBER, "8080"),
        ("порта 8080 не слышно", NUMBER, "8080"),
        ("المنفذ ٨٠٨٠ مفتوح", NUMBER, "8080"),
        ("order no. 88123", NUMBER, "88123"),
        ("Die Bestellnummer lautet 412.", NUMBER, "412"),
        ("注文番号は412です", NUMBER, "412"),
        ("订单号是412", NUMBER, "412"),
        ("invoice Nr. 47", NUMBER, "47"),
        ("issue #123", NUMBER, "123"),
        ("room 12b is free", CODE, "12b"),
        ("flight LH 123 is late", CODE, "lh123"),
        ("航班CA1234", CODE, "ca1234"),
        ("What is PAY-1482?", CODE, "pay1482"),
        ("シリアル番号はＡＢＣ１２３です。", CODE, "abc123"),
        ("the password is tulip-9431", CODE, "tulip9431"),
        ("| B-17 | 40 |", CODE, "b17"),
        ("CVE-2021-44228 is fixed", CODE, "cve2021-44228"),
        ("DE89 3704 0044 0532 0130 00", CODE, "de89370400440532013000"),
        ("commit a1b9f3c broke it", HEX, "a1b9f3c"),
        ("550E8400-e29b-41d4-a716-446655440000", HEX, "550e8400e29b41d4a716446655440000"),
        ("it fails with 0x80070005", HEX, "0x80070005"),
        ("see /etc/nginx/nginx.conf.", PATH, "/etc/nginx/nginx.conf"),
        (r"in C:\Users\me\notes.txt", PATH, "c:/users/me/notes.txt"),
        (r"C:\Program Files\App\app.exe", PATH, "c:/program files/app/app.exe"),
        ("at CartList (CartList.tsx:41:22)", PATH, "cartlist.tsx:41:22"),
        ("open src/cart/CartList.tsx", PATH, "src/cart/cartlist.tsx"),
        ("edit setup.cfg", PATH, "setup.cfg"),
        ("call max_retries", NAME, "max_retries"),
        ("set maxRetryCount to 3", NAME, "maxretrycount"),
        ("the PaymentService crashed", NAME, "paymentservice"),
        ("os.path.join is slow", NAME, "os.path.join"),
        ("call parse() first", NAME, "parse"),
        ("Cart::addItem is broken", NAME, "cart.additem"),
        ("run it with --dry-run", NAME, "--dry-run"),
        ("export $DATABASE_URL", NAME, "database_url"),
        ("write to J.Novak@Example.org.", EMAIL, "j.novak@example.org"),
        ("(https://Example.com:443/a%20b/?q=1).", URL, "example.com/a b/?q=1"),
        ("打开https://example.com/a吧", URL, "example.com/a"),
        ("+49 30 5550 1478", PHONE, "tel:+493055501478"),
        ("call 555 0142 now", PHONE, "tel:5550142"),
        ("since v2.3.1 it works", VERSION, "2.3.1"),
        ("1.4.0-RC1 is out", VERSION, "1.4.0-rc1"),
        ("version 2.3 is old", VERSION, "2.3"),
        ("ping 192.168.0.17", ADDRESS, "192.168.0.17"),
        ("00:1A:2B:3C:4D:5E", ADDRESS, "00:1a:2b:3c:4d:5e"),
        ("2001:0db8::8a2e", ADDRESS, "2001:db8:0:8a2e"),
        ("posted under #summerTrip", TAG, "#summertrip"),
        ("#旅行に行った", TAG, "#旅行に行った"),
        ("asked @marek", TAG, "@marek"),
        ('{"order_id":88123,"total":99999}', NUMBER, "88123"),
        ("level=info order_id=12 ms=4711", NUMBER, "12"),
    ],
)
def test_identifier_is_found_with_its_kind_and_value(text: str, kind: IdentifierKind, value: str) -> None:
    assert (kind, value) in certain(text)
    assert (kind, value) in certain(f"We know: {text}, thanks")


ORDINARY = """
five cats, 20 people, 5 kg, 5kg, 20 euros, $50, 49.90 EUR, EUR 50, 30%, 30 percent, 8000 €, £2,500, 12,500 people
In 1999 it sold 12500 copies. World War 2 ended in 1945. The 1990s, the mid-1990s, the 21st, a 3-day trip.
a 20-year-old, a well-known follow-up, top-10 and top 10, 24/7, and/or, km/h, he/she, AC/DC, TCP/IP, w/o, n/a
U.S.A., Ph.D., e.g. this, i.e. that, 7 a.m., 3pm, 10:30, 10:30:15, 2024-05-03, 03.05.2024, 5/3/24, May 5, 2024
2024-05-03T10:30:00Z, in 2019-2020, 1939-45, 4-4-2, a score of 2:1, pages 10-12, 500-1000 people, 3.14, 1e9
m² and 5 m², 100 MB, 5G, 4K, 24h, 2x, Q3, iPhone and eBay, McDonald met DeShawn and O'Neill, YouTube, C++, C#, R&D
Jean-Luc went to Baden-Baden with Mary-Jane. E-mail, x-ray, T-shirt, U-Bahn. We order 20 pizzas and book 3 rooms.
Er hat am 14. März 2023 um 10 Uhr 30 genau 1.200,50 Euro bezahlt und 12 Kekse gegessen. Die 80er waren schön.
En 2021, elle a vendu 300 livres à 12 euros. El 3 de mayo de 2022 vinieron 45 personas. Через 20 минут, 3000 рублей.
2023年5月12号，我们有20个人，花了300元。今日は3月1日、参加者は25人、1200円でした。오늘은 5월 3일이고 20명이 왔다.
What happened next.Then nothing. Is it true?Yes. The city has about 88123 people. No. 1 song, #1 hit, number 1 of 20.
"""


@pytest.mark.parametrize("text", ORDINARY.strip().splitlines())
def test_ordinary_text_has_no_identifier(text: str) -> None:
    assert certain(text) == []


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ('{"order_id": 88123, "status": "refunded"}', "What is the status of order 88123?"),
        ("nginx listens on 8080", "What is on port 8080?"),
        ("Der Server lauscht auf 8080.", "端口8080上是什么？"),
        ("ticket=PAY-1482 open", "pay 1482? PAY-1482?"),
        ("Seriennummer ＡＢＣ１２３", "abc-123"),
        ("The version is 2.3.1", "What changed in v2.3.1?"),
        (r"src\cart\list.py", "src/cart/list.py"),
        ("http://www.example.com/a%20b/", "https://example.com/a%20b"),
        ("invoice 004471", "invoice 4471"),
        ("MAC 00-1A-2B-3C-4D-5E", "00:1a:2b:3c:4d:5e"),
        ("uuid 550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        ("IBAN DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("order-88123 was shipped", "Where is order 88123?"),
    ],
)
def test_notations_of_one_identifier_meet(memory: str, question: str) -> None:
    assert holds(memory, question)


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("port 9080", "port 8080"),
        ("PAY-1428", "PAY-1482"),
        ("commit a1c9f3b", "commit a1b9f3c"),
        ("/etc/nginx/conf.d/api.conf", "/etc/nginx/nginx.conf"),
        ("j.novakova@example.org", "j.novak@example.org"),
        ("+49 30 5550 1874", "+493055501478"),
        ("https://status.example.com/incidents/4417", "https://status.example.com/incidents/4471"),
        ("CVE-20214-4228", "CVE-2021-44228"),
        ("the parcel weighs 88123 kg", "order 88123"),
        ('{"amount": 88123}', "order 88123"),
        ("we met 443 people", "port 443"),
        ("v2.3.10", "v2.3.1"),
    ],
)
def test_look_alikes_do_not_meet(memory: str, question: str) -> None:
    assert asked_identifiers(question)
    assert not holds(memory, question, as_part=True)


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("see /etc/nginx/nginx.conf", "nginx.conf"),
        ("see /etc/nginx/nginx.conf", "nginx/nginx.conf"),
        ("at CartList.tsx:41:22", "CartList.tsx"),
        ("CartList.tsx renders it", "src/cart/CartList.tsx"),
        ("https://status.example.com/incidents/4471", "status.example.com"),
        ("numpy.linalg.solve is fast", "linalg.solve"),
        ("commit a1b9f3c0d4e5f60718293a4b5c6d7e8f90a1b2c3", "commit a1b9f3c"),
        ("commit a1b9f3c", "commit a1b9f3c0d4e5f60718293a4b5c6d7e8f90a1b2c3"),
        ("192.168.0.17:8080", "192.168.0.17"),
        ("nginx runs on 80 and 443.", "port 443"),
        ("ticket PAY-4821", "ticket 4821"),
    ],
)
def test_part_of_an_identifier_is_weaker_than_the_whole(memory: str, question: str) -> None:
    assert not holds(memory, question)
    assert holds(memory, question, as_part=True)


NOTATIONS = (
    "+{c} {a} {x} {y}", "00{c} {a} {x}{y}", "+{c}{a}{x}{y}", "+{c} (0){a} {x}-{y}", "0{a} {x} {y}", "(0{a}) {x}-{y}",
    "0{a}/{x}{y}", "0{a}{x}{y}", "+{c}-{a}-{x}-{y}", "+{c} ({a}) {x}.{y}", "+{c}\u00a0{a}\u00a0{x}\u2011{y}",
)  # fmt: skip


@given(
    st.sampled_from(["49", "44", "33", "353", "420"]),
    st.integers(20, 99),
    st.integers(1000, 9999),
    st.integers(1000, 9999),
    st.sampled_from(NOTATIONS),
    st.sampled_from(NOTATIONS),
)
def test_notations_of_a_phone_number_meet(  # noqa: PLR0917
    c: str, a: int, x: int, y: int, one: str, other: str
) -> None:
    memory, question = (f"Her phone number is {notation.format(c=c, a=a, x=x, y=y)}." for notation in (one, other))
    assert holds(memory, question, as_part=True)
    another = f"Her phone number is {one.format(c=c, a=a, x=x, y=19_999 - y if y != 9999 else 1000)}."
    assert not holds(another, question, as_part=True) or another == memory


@pytest.mark.parametrize("question", ["(555) 123-4567", "555-123-4567", "+1 555 123 4567", "1-555-123-4567"])
def test_american_notations_meet(question: str) -> None:
    assert holds("Call 555.123.4567 at night.", question, as_part=True)


def test_certain_identifier_wins_over_a_number_that_may_be_a_count() -> None:
    assert certain("It runs on 80.") == []
    assert certain("It runs on port 80.") == [(NUMBER, "80")]
    assert holds("It runs on 80.", "port 80", as_part=True)


def test_question_with_many_identifiers_asks_for_none() -> None:
    rows = [f"A-{n}" for n in range(100, 100 + MAX_ASKED)]
    assert len(asked_identifiers(" ".join(rows))) == MAX_ASKED
    assert asked_identifiers(" ".join([*rows, "A-99"])) == ()


def test_number_of_identifiers_is_limited() -> None:
    assert len(find_identifiers(" ".join(f"A-{n}" for n in range(1000, 2000)))) == MAX_IDENTIFIERS


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    found = find_identifiers(text)
    assert all(one.value and one.text for one in found)
    assert fold_notation(fold_notation(text)) == fold_notation(text)


@given(st.text(alphabet="aB1_-./:\\@#+() 0x%éポ端口A\u00b2"))
def test_text_of_marks_can_be_read(text: str) -> None:
    assert all(one.value and one.text for one in find_identifiers(text))
    assert index_hashes(text).tolist() == sorted(set(index_hashes(text).tolist()))


@given(st.from_regex(r"\A(?:[A-Z]{2,5}-[1-9][0-9]{2,5}|[a-f]{3}[0-9]{3}[a-f]{3}|v[1-9]\.[0-9]\.[1-9])\Z"))
def test_value_is_an_identifier_with_the_same_value(text: str) -> None:
    (value,) = [value for _, value in certain(f"the code {text} is")]
    again = [one.value for one in find_identifiers(f"the code {value} is")]
    assert again == [value]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a-",
        "1 ",
        "/a",
        "\\a",
        "a b\\",
        "::a",
        "+1-",
        "%41",
        "http://a/",
        "AB12 ",
        "@a.",
        "no. 1 ",
        "ab:",
        "(0)+",
        "x1",
    ],
)
def test_time_is_linear_in_the_length(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        before = time.process_time()
        find_identifiers(text)
        return time.process_time() - before

    seconds(1000)
    assert seconds(100_000) < 20 * (seconds(20_000) + 0.02)  # five times, were it not for noise; quadratic: 25 times
