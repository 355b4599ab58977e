"""How two names may be one person's: short forms, fuller forms, other spellings. Of normal forms, without any text.

Names are compared as :func:`~.names.key` gives them. What is said here is possible, not so: whether two names that may
be one are one is for the memories to show.
"""

from .common import COMMON, ENDINGS, FOREIGN, STARTERS

_TABLE = """
abigail abby abbie; albert bert bertie; alexander alex alec sandy xander sasha; alexandra alex sandra sasha lexi;
alfred alf fred freddie; allison ali allie; amanda mandy; andrew andy drew; angela angie; anthony tony ant; antonio
toni tony; barbara barb babs; benjamin ben benny benji; bradley brad; caroline carrie caro; catherine cathy cat kate
katie kitty; charles charlie chuck chas; charlotte charlie lottie lotte; christina chris tina chrissy; christine chris
tina chrissy; christopher chris kit topher; cynthia cindy; daniel dan danny; david dave davey; deborah deb debbie;
dorothy dot dottie dolly; edward ed eddie ned ted teddy; eleanor ellie nell nora; elizabeth liz lizzie beth betty
betsy eliza libby bess; emily em emmy; eugene gene; florence flo flossie; frances fran frankie; francis frank;
frederick fred freddie; gabriel gabe; gabriella gabby ella; gerald gerry jerry; gregory greg; harold harry hal; henry
harry hank hal; isabella bella izzy; isabel izzy bella; jacob jake; james jim jimmy jamie jem; jennifer jen jenny
jenna; jessica jess jessie; joanna jo; john jack johnny; jonathan jon jonny nathan; joseph joe joey; joshua josh;
judith judy; katherine kate katie kathy kat kitty kit; kathleen kathy kath kate; kenneth ken kenny; kimberly kim
kimmy; lawrence larry laurie; leonard len lenny leo; lillian lily lil; louis lou louie; louise lou lulu; lucas luke;
madeleine maddy; madison maddie; margaret maggie meg peg peggy marge greta daisy; martha marty; martin marty; mary
molly polly; matthew matt matty; maximilian max; megan meg; melanie mel; melissa mel missy lissa; michael mike mikey
mick mickey; michelle shelly; mildred millie; natalie nat; nathaniel nate nat nathan; nicholas nick nicky klaus;
nicole nicky nikki; olivia liv livvy; oliver ollie; pamela pam; patricia pat patty tricia trish; patrick pat paddy
rick; penelope penny; peter pete; philip phil pip; phillip phil pip; rachel rae; raymond ray; rebecca becca becky;
richard rich rick ricky dick richie; robert bob bobby rob robbie bert; roberta bobbie; ronald ron ronnie; rosemary
rose rosie; russell russ; samantha sam sammy; samuel sam sammy; sarah sally sadie; sebastian seb bas; stephanie steph
stevie; stephen steve stevie; steven steve stevie; susan sue susie suzy; susannah sue susie; tabitha tabby; teresa
tess terry tessa; theodore ted teddy theo; theresa tess terry tessa; thomas tom tommy; timothy tim timmy; tobias toby;
valerie val; vanessa nessa; veronica ronnie vera; victor vic; victoria vicky tori vic; vincent vince vinny; virginia
ginny; walter walt wally; william will bill billy willy liam; winifred winnie; zachary zach zack
"""

NICKNAMES: dict[str, frozenset[str]] = {}
"""The usual English short forms of a given name."""
FORMAL: dict[str, frozenset[str]] = {}
"""The given names that a short form usually stands for."""
for _given, *_short in (entry.split() for entry in _TABLE.split(";")):
    NICKNAMES[_given] = frozenset(_short)
    for _one in _short:
        FORMAL[_one] = FORMAL.get(_one, frozenset()) | {_given}

SHORTEST = 3
"""Letters of the shortest beginning of a name that may stand for it."""
SPELLED = 5
"""Letters of the shortest name that may be misspelled; names of fewer are too near to others."""
TYPED = 7
"""Letters of the shortest name in which any inner letter may be a slip of the pen."""

_TITLES = frozenset(("dr", "prof", "professor", "coach"))
_FIRM = frozenset(("inc", "ltd", "llc", "corp", "gmbh", "plc"))
_SPACES = 2
_SOUNDS = ("iyj", "ckq", "sz", "vw")
_VOWELS = "aeiou"
_JOINING = frozenset(
    ("of", "van", "von", "der", "den", "de", "del", "della", "di", "da", "do", "dos", "la", "le", "al", "bin")
)
_NUMERALS = frozenset("ivx")
_SEXED = frozenset(("a", "e", "i", "o", "s", "na", "ne", "us", "ie", "y", "ia", "ina", "ette", "el", "l", "h"))


def is_person(name: str) -> bool:
    """Whether a normal form can be one person's name: one to four words, letters only."""
    words = name.split()
    return 0 < len(words) <= 4 and all(word.isalpha() for word in words) and words[0] not in STARTERS


def ordinary(name: str) -> bool:
    """Whether a word of a name is an ordinary one as well, such as "park": then it may not be a person's."""
    words = [word for word in name.split() if word not in _JOINING]
    return any(word in COMMON or word in FOREIGN or word.endswith(ENDINGS) for word in words) or doing(name)


def doing(name: str) -> bool:
    """Whether a word of a name says what is done, as in "hiring stephanie": then it is no part of the name."""
    words = (word for word in name.split() if word not in _JOINING)
    return any(word in STARTERS or (len(word) > 5 and word.endswith("ing")) for word in words)


def firm(short: str, full: str) -> bool:
    """Whether a name is another without its legal form: "acme" of "acme inc"."""
    head, _, last = full.rpartition(" ")
    return last in _FIRM and head == short


def possible(short: str, full: str) -> bool:
    """Whether one of the rules below has something to say of two names."""
    given = full.partition(" ")[0]
    return bool(
        fuller(short, full)
        or firm(short, full)
        or (" " not in short and nickname(short, given))
        or respelled(short, full)
    )


def related(name: str, other: str) -> bool:
    """Whether two names can be one person's: no two given names, nor two of a family."""
    if " " in name and " " in other:
        return one_person(name, other) or respelled(name, other)
    given, others = name.partition(" ")[0], other.partition(" ")[0]
    return possible(name, other) or possible(other, name) or bool(nickname(given, others) or nickname(others, given))


def fuller(short: str, full: str) -> bool:
    """Whether a single name is the first or the last word of a fuller one; a doctor's counts without the title."""
    words, title = full.split(), short.split()
    if len(title) == 2 and title[0] in _TITLES:
        return is_person(full) and len(words) > 1 and words[-1] == title[1] and words[0] not in _TITLES
    return len(title) == 1 and is_person(full) and len(words) > 1 and short in (words[0], words[-1])


def one_person(name: str, other: str) -> bool:
    """Whether two names of several words can be one person's: of one first and one last name."""
    words, others = name.split(), other.split()
    return words[0] == others[0] and words[-1] == others[-1]


def nickname(short: str, given: str) -> float:
    """How well a name may be the short form of a given name: by the table, or as its beginning; 0 if not."""
    if short in NICKNAMES.get(given, ()):
        return 1.0
    return 0.5 if len(short) >= SHORTEST and given.startswith(short) and given != short else 0.0


def sexed(short: str, given: str) -> bool:
    """Whether a name and its beginning are as likely two names: "paul" and "paula"."""
    return given.removeprefix(short) in _SEXED


def acronym(short: str, full: str) -> bool:
    """Whether a name is made of the first letters of another."""
    words = [word for word in full.split() if word not in ("of", "the", "and", "for", "de", "in")]
    return len(words) > 2 and short == "".join(word[0] for word in words)


def respelled(name: str, other: str) -> bool:
    """Whether two names may be one, spelled in two ways: they differ by spaces, or by one letter of one word.

    That is doubled, or sounds the same, or changed places with the next; in a long word it may be any inner one. First
    and last letters stand: "maria" is not "mario", nor "plan" "plans". A family's name may differ by a double alone.
    """
    if name[0] != other[0] or name[-1] != other[-1] or abs(len(name) - len(other)) > _SPACES or name == other:
        return False
    words, others = name.split(), other.split()
    if not _letters([*words, *others]):
        return False
    if "".join(words) == "".join(others):
        return len("".join(words)) >= SPELLED
    differing = [pair for pair in zip(words, others, strict=False) if len(set(pair)) > 1]
    if len(words) != len(others) or len(differing) != 1:
        return False
    family = len(words) > 1 and words[-1] != others[-1]
    return _one_word(*sorted(differing[0], key=len), family=family)


def usual(name: str) -> bool:
    """Whether a name begins with a usual given name or a short form of one: then it is no slip of the pen."""
    given = name.partition(" ")[0]
    return given in NICKNAMES or given in FORMAL


def _one_word(short: str, long: str, *, family: bool) -> bool:
    """Whether two words may be one spelled in two ways; a family's name by a double alone."""
    if len(short) < SPELLED or short[0] != long[0] or short[-1] != long[-1]:
        return False
    doubled = _single(short) == _single(long) and len(long) - len(short) == 1
    return doubled or (not family and _slipped(short, long))


def _slipped(short: str, long: str) -> bool:
    """Whether two words of one first and last letter differ as a slip of the pen may make them."""
    at = next((place for place, letter in enumerate(short) if letter != long[place]), len(short) - 1)
    if len(short) == len(long):
        if short[at + 2 :] == long[at + 2 :] and short[at : at + 2] == long[at : at + 2][::-1]:
            return True
        sound = any(short[at] in letters and long[at] in letters for letters in _SOUNDS)
        vowels = short[at] in _VOWELS and long[at] in _VOWELS and len(short) >= TYPED
        return short[at + 1 :] == long[at + 1 :] and (sound or vowels)
    return len(long) == len(short) + 1 and short[at:] == long[at + 1 :] and len(short) >= TYPED


def _letters(words: list[str]) -> bool:
    return all(word.isalpha() and not _NUMERALS.issuperset(word) for word in words)


def _single(word: str) -> str:
    return "".join(letter for letter, before in zip(word, " " + word, strict=False) if letter != before)
