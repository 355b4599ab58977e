"""Words by which the subject of a clause is told: pronouns, possessives, nouns for persons, in six languages.

They are by language, for "on", "die" and "mia" are other words in English. The Romance languages have one table, for
short texts of theirs are easily confused; Italian is among them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

from .european_languages import European, word_set


@dataclass(frozen=True, slots=True)
class SubjectWords:
    """Words by which the persons of a clause are told.

    ``i``, ``we`` (of several), ``me`` (objects) and ``my`` are of the first person, ``you`` of the second, ``others``
    of the third and for people. ``nameless`` are articles after which no person's name stands, though it may stand
    after others ("la Marta"). ``prepositions`` are before what is no subject, ``of`` before the owner of a thing, and
    before names that are no subjects.
    """

    i: frozenset[str]
    we: frozenset[str]
    me: frozenset[str]
    my: frozenset[str]
    you: frozenset[str]
    others: frozenset[str]
    articles: frozenset[str]
    nameless: frozenset[str]
    prepositions: frozenset[str]
    of: frozenset[str]


def _words(**texts: str) -> SubjectWords:
    return SubjectWords(**{name: word_set(text) for name, text in texts.items()})


_ENGLISH = _words(
    i="i we i'm i've i'd i'll we're we've we'll we'd",
    we="we us we're we've we'll we'd",
    me="me us mine ours myself",
    my="my our",
    you="you your yours you're you've you'll",
    others="he she they them him his her their he's she's they're everyone everybody someone somebody nobody "
    "people folks",
    articles="the a an this that one some",
    nameless="the a an this that",
    prepositions="in at to with from for on by near into onto about like than via without after before since until",
    of="of",
)
_GERMAN = _words(
    i="ich wir",
    we="wir uns",
    me="mir mich uns",
    my="mein meine meiner meinem meinen meines unser unsere unserer unserem unseren",
    you="du dein deine dir dich ihr euch",
    others="er ihn ihm man jemand niemand jeder alle leute",
    articles="der die das ein eine einer einem einen dem den",
    nameless="ein eine einen einem einer",
    prepositions="in im am an aus nach bei beim mit zu zum zur für über um durch ohne seit bis",
    of="von vom",
)
_ROMANCE = _words(
    i="je j nous yo nosotros nosotras eu nós io noi",
    we="nous nosotros nosotras nós nos noi ci",
    me="me moi nous nos mim conmigo comigo mí ci",
    my="mi mis nuestro nuestra nuestros nuestras mon ma mes notre nos meu minha meus minhas nosso nossa "
    "nossos nossas mio mia miei mie nostro nostra",
    you="tú tu ti usted ustedes vous toi votre você vocês tua teu ton ta",
    others="él ella ellos ellas alguien nadie elle il ils elles eux on quelqu'un personne ele ela eles elas "
    "alguém ninguém lui lei loro qualcuno nessuno",
    articles="el la l los las un una le les une des o os as um uma il lo gli i uno a",
    nameless="un una une um uma uno",
    prepositions="en con desde para por sin à au aux dans chez avec pour sur sans par em no na com pelo pela per "
    "tra su nel nella al alla ad",
    of="de del du d do da dos das di della dell a",
)
_WORDS_BY_LANGUAGE = {
    European.ENGLISH: _ENGLISH,
    European.GERMAN: _GERMAN,
    **dict.fromkeys((European.SPANISH, European.FRENCH, European.PORTUGUESE), _ROMANCE),
}


@cache
def subject_words(languages: tuple[European, ...]) -> SubjectWords:
    """The words of a text that may be in any of some languages."""
    found = [_WORDS_BY_LANGUAGE[one] for one in languages]
    return SubjectWords(
        **{
            one.name: frozenset[str]().union(*(getattr(words, one.name) for words in found))
            for one in fields(SubjectWords)
        }
    )


PERSON_NOUNS = word_set(
    "man men woman women guy guys girl girls boy boys lady kid kids child children parents grandparents family "
    "relatives guest guests student students customer client trainer caretaker janitor person mum mom dad "
    "grandma grandpa mann männer frau frauen kinder eltern großeltern familie leute gast gäste kunde hausmeister "
    "junge mädchen hombre mujer niños padres familia gente cliente homme femme enfants famille gens homem mulher "
    "crianças pais família uomo donna bambini genitori famiglia stepfather stepmother godmother godfather ex "
    "fiancé twin"
)
"""Nouns for persons that are no relation of :mod:`.relation_lexicon`."""
KIN_NAMES = word_set(
    "mom mum mama dad papa grandma grandpa granny nana granddad auntie oma opa mamá papá maman mamie papi mamma papà "
    "nonna nonno vovó"
)
"""Nouns for kin that are used as names."""
RELATION_LANGUAGES: Mapping[European, tuple[str, ...]] = {
    European.ENGLISH: ("en",),
    European.GERMAN: ("de",),
    **dict.fromkeys((European.SPANISH, European.FRENCH, European.PORTUGUESE), ("es", "fr", "it", "pt")),
}
"""The languages of :mod:`.relation_lexicon` whose nouns a text may have."""
FIRST_PERSON_VERBS = word_set(
    "vivo trabajo tengo soy estoy voy he quiero bebo como juego estudio toco nací compré cambié mudé empecé dejé "
    "moro trabalho tenho sou estou vou jogo estudo nasci comprei mudei comecei deixei ho sono lavoro abito studio "
    "suono bevo gioco"
)
"""Frequent verbs that say "I" without the pronoun, in Spanish, Portuguese and Italian."""
THIRD_PERSON_VERBS = word_set(
    "is was are were has had have will can could would may must does did and got went gave told said made took "
    "came ran bought sold sent lent met left lost won wrote found kept taught thinks likes loves wants needs says "
    "lives works goes isn't wasn't doesn't didn't won't can't es está fue era tiene vive trabaja dijo ha dio va a "
    "quiere gusta est était habite travaille dit donne veut aime é foi tem mora trabalha disse deu quer gosta "
    "lavora abita dice"
)
"""Frequent verbs after a name."""
