"""The names in a text."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ecphora.language.names.mentions import names, normalize_name
from ecphora.model.types import Extraction, Mention
from ecphora.models.rule_extractor import RuleExtractor

TEXTS_WITH_NAMES: list[tuple[str, tuple[str, ...]]] = [
    # people
    ("Yesterday I met Marta at the lake.", ("Marta",)),
    ("My cousin Odile and her friend Bram came over.", ("Odile", "Bram")),
    ("Ludwig Mies van der Rohe built it with Ana and Teo.", ("Ludwig Mies van der Rohe", "Ana", "Teo")),
    ("A letter from J. R. R. Tolkien was sold.", ("J. R. R. Tolkien",)),
    ("We read J.K. Rowling aloud.", ("J.K. Rowling",)),
    ("I called Dr. Okafor about it.", ("Dr. Okafor",)),
    ("The book is by Sinéad O'Brien and Jean-Luc Picot.", ("Sinéad O'Brien", "Jean-Luc Picot")),
    ("We discussed Simone de Beauvoir and Omar al-Bashir.", ("Simone de Beauvoir", "Omar al-Bashir")),
    ("A print by Vincent van Gogh hangs there.", ("Vincent van Gogh",)),
    ("His teacher was Martin Luther King Jr. himself.", ("Martin Luther King Jr.",)),
    ("They voted for Sammy Davis, Jr. twice.", ("Sammy Davis, Jr.",)),
    ("The statue shows Alexander the Great.", ("Alexander the Great",)),
    ("She is a niece of Lothair I of the Franks.", ("Lothair I of the Franks",)),
    ("He married Anna, Countess of Holmgard.", ("Anna, Countess of Holmgard",)),
    ("It was built for Edmund Hale, 3rd Baron Hale.", ("Edmund Hale, 3rd Baron Hale",)),
    ("Ban Ki-moon spoke first.", ("Ban Ki-moon",)),
    ("Alice'll bring the salad.", ("Alice",)),
    ("I saw Anna 3 times this week.", ("Anna",)),
    ("I think Will is late again.", ("Will",)),
    ("My sister Hope is here.", ("Hope",)),
    # greetings and possessives
    ("Hey Nina! Thanks for the cake.", ("Nina",)),
    ("Thanks Nina, you saved me.", ("Nina",)),
    ("Congrats Pavel!! So proud of you", ("Pavel",)),
    ("Wow, Priya, that's great news!", ("Priya",)),
    ("We had coffee at Hailey's bakery.", ("Hailey",)),
    ("That is the Joneses' dog.", ("Joneses",)),
    ("Hey Mel I was there too.", ("Mel",)),
    ("Did Ravi's brother call?", ("Ravi",)),
    # places and organisations
    ("When I lived in St. Louis I was poor.", ("St. Louis",)),
    ("The U.S. is large.", ("U.S.",)),
    ("She studies at the University of the Arts in New York.", ("University of the Arts", "New York")),
    ("The Battle of the Bulge began in December 1944.", ("Battle of the Bulge",)),
    ("My LGBTQ group meets at the YMCA.", ("LGBTQ", "YMCA")),
    ("Is Rio de Janeiro or La Paz higher?", ("Rio de Janeiro", "La Paz")),
    ("A Chicago-based firm, AT&T, hired her.", ("Chicago", "AT&T")),
    ("He works in IT for the WHO in the US.", ("IT", "WHO", "US")),
    ("We flew from Stratford-upon-Avon to Guinea-Bissau.", ("Stratford-upon-Avon", "Guinea-Bissau")),
    ("Johnson & Johnson moved.", ("Johnson & Johnson",)),
    # things, events, digits inside names
    ("Apollo 11 landed on the Moon.", ("Apollo 11", "Moon")),
    ("My first computer ran Windows 95.", ("Windows 95",)),
    ("She won at the 1984 Summer Olympics.", ("1984 Summer Olympics",)),
    ("The COVID-19 vaccine and GPT-4 came later.", ("COVID-19", "GPT-4")),
    ("I bought an iPhone on eBay.", ("iPhone", "eBay")),
    ("We loved the film 12 Angry Men.", ("12 Angry Men",)),
    ("In May John moved to Paris.", ("John", "Paris")),
    ("On Tuesday Alma starts work.", ("Alma",)),
    ("The shops are full on Black Friday.", ("Black Friday",)),
    # works
    ('I am reading "The Old Man and the Sea" again.', ("The Old Man and the Sea",)),
    ('They staged "Romeo and Juliet" in Verona.', ("Romeo and Juliet", "Verona")),
    ("She hummed “Clair de Lune” all day.", ("Clair de Lune",)),
    ("Her favourite is 'The Glass Orchard' by Ines Roth.", ("The Glass Orchard", "Ines Roth")),
    ("Which film is older, The Heart Of Winter or A Star Is Made?", ("The Heart Of Winter", "A Star Is Made")),
    ("We rented Mina: A Quiet Story.", ("Mina: A Quiet Story",)),
    # words that only open a sentence
    ("Pottery calms me, said Ida. Kandinsky helps too.", ("Ida", "Kandinsky")),
    ("Rose is here. I gave Rose the key.", ("Rose",)),
    ("Zarathustra spoke.", ("Zarathustra",)),
    ("We read chapter B. Then Omar left.", ("Omar",)),
    # other languages in scripts with capitals
    ("Ayer visité a Lucía en San Sebastián.", ("Lucía", "San Sebastián")),
    ("Hier, j'ai vu Amélie à Aix-en-Provence.", ("Amélie", "Aix-en-Provence")),
    ("Gestern war ich mit Jürgen in Köln.", ("Jürgen", "Köln")),
    ("Вчера я видел Анну Каренину в Москве.", ("Анну Каренину", "Москве")),
    ("Ο φίλος μου μένει στην Αθήνα.", ("Αθήνα",)),
    # Chinese, Japanese, Korean
    ("我昨天看了《流浪的河》。", ("流浪的河",)),
    ("张伟先生住在北京市海淀区。", ("张伟", "北京市", "海淀区")),
    ("我叫李晓梅，在Google工作。", ("李晓梅", "Google")),
    ("王老师毕业于清华大学。", ("王老师", "清华大学")),
    ("欧阳明教授去了广东省。", ("欧阳明", "广东省")),
    ("昨日田中さんとスターバックスに行った。", ("田中", "スターバックス")),
    ("「青い鳥の庭」という本を東京駅で買った。", ("青い鳥の庭", "東京駅")),
    ("レオナルド・ダ・ヴィンチの絵が好きです。", ("レオナルド・ダ・ヴィンチ",)),
    ("김민수 씨는 서울대학교에 다닌다.", ("김민수", "서울대학교")),
]

TEXTS_WITHOUT_NAMES = [
    "",
    "   \n\t ",
    "no capitals here at all",
    "I'm fine. It's late. That's all. Don't worry, we'll see.",
    "Wow! Yes! Thanks so much! Hmm. Ohhh. Sooo good!",
    "However, I think so. Yesterday I slept. Sounds great!",
    "Kickboxing is fun. Determination helps. Setbacks happen.",
    "See you on Monday, or in July 2021, or next Friday.",
    "On 10 October 2009 it rained.",
    "WOW SO HAPPY! THIS IS GREAT!",
    "Good morning! Happy Birthday!",
    '"I love it," she said. "Yes!" "Why not?"',
    "12 34 56 %% ?? -- !!",
    "'' \"\" “” 《》 「」",
    "When? Where? Who? Why not?",
    "Gonna nap. Gotta run. Dont ask. Thats it.",
    "我今天很高兴，在超市买了东西。",
    "这个小区的公司很多。他说“好的”。",
    "お母さんとコーヒーを飲んだ。「ありがとう」と言った。",
    "政府は地区の大学を助けた。",
    "오늘은 날씨가 좋다. 고객님 감사합니다.",
    "mail me at a.b@c.org or see https://x.org/Some/Path",
]


@pytest.mark.parametrize(("text", "expected"), TEXTS_WITH_NAMES)
def test_names_are_found_in_order(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize("text", TEXTS_WITHOUT_NAMES)
def test_texts_without_names_give_none(text: str) -> None:
    assert names(text) == ()


def test_repeated_name_is_listed_once_in_its_first_form() -> None:
    assert names("I saw The Beatles. Then José met the Beatles, and Jose left.") == ("The Beatles", "José")


def test_word_also_in_lower_case_is_not_a_name() -> None:
    assert names("Macramé is slow. I like macramé. Zorbing is loud; I love zorbing.") == ()


def test_very_long_span_is_not_a_name() -> None:
    assert names("he wrote " + "Xan " * 30 + "today") == ()


def test_rule_extractor_finds_the_names_of_each_text() -> None:
    assert RuleExtractor().extract(["Hi Ana!", "", "Omar likes Porto."]) == [
        Extraction((Mention("Ana"),)),
        Extraction(),
        Extraction((Mention("Omar"), Mention("Porto"))),
    ]


_PIECES = st.sampled_from(
    [
        *"AZaz09.,;:!?'’\"“”「」《》()&- \n",
        " of the ",
        "The ",
        "I ",
        "'s ",
        " May ",
        "王",
        "ア",
        "さん",
        "市",
        "김",
        "É",
        "ß",
        "ſ",
        "İ",
    ]
)
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join))


@given(_TEXTS)
@example("\ud800 A\u0301\u0345 İI ﬃ")
def test_names_of_any_text_have_distinct_keys(text: str) -> None:
    keys = [normalize_name(name) for name in names(text)]
    assert len(set(keys)) == len(keys)
    assert all(keys)


@pytest.mark.medium
@pytest.mark.parametrize(
    "unit",
    [
        "A ",
        '"',
        "A. ",
        "I ",
        "The ",
        "A, 1st Duke ",
        "A of the ",
        "'A",
        "(",
        "x(a)",
        "市",
        "ア・",
        " ",
        "Hey ",
        "王先生",
    ],
)
def test_name_search_takes_linear_time(unit: str, cpu_growth: Callable[[Callable[[int], object]], float]) -> None:
    def search(size: int) -> None:
        text = unit * (size * 2_500)
        names(text)
        normalize_name(text)

    assert cpu_growth(search) < 9
