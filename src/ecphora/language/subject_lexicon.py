"""Words by which the subject of a clause is told: pronouns, possessives, nouns for persons, in six languages.

Those of a table are by language, for "on", "die" and "mia" are other words in English. The Romance languages have one
table, for short texts of theirs are easily confused; Italian is among them.
"""

from collections.abc import Mapping

from .european_languages import European, word_set

Words = Mapping[European, frozenset[str]]
"""Words by language."""


def _by_language(english: str, german: str, romance: str) -> Words:
    of_romance = word_set(romance)
    others = dict.fromkeys((European.SPANISH, European.FRENCH, European.PORTUGUESE), of_romance)
    return {European.ENGLISH: word_set(english), European.GERMAN: word_set(german), **others}


I_WORDS = _by_language(
    "i we i'm i've i'd i'll we're we've we'll we'd", "ich wir", "je j nous yo nosotros nosotras eu nós io noi"
)
"""The first person as a subject."""
WE_WORDS = _by_language("we us we're we've we'll we'd", "wir uns", "nous nosotros nosotras nós nos noi ci")
"""The first person of several."""
ME_WORDS = _by_language("me us mine ours myself", "mir mich uns", "me moi nous nos mim conmigo comigo mí ci")
"""The first person as an object."""
MY_WORDS = _by_language(
    "my our",
    "mein meine meiner meinem meinen meines unser unsere unserer unserem unseren",
    "mi mis nuestro nuestra nuestros nuestras mon ma mes notre nos meu minha meus minhas nosso nossa nossos nossas mio "
    "mia miei mie nostro nostra",
)
"""Possessives of the first person."""
YOU_WORDS = _by_language(
    "you your yours you're you've you'll",
    "du dein deine dir dich ihr euch",
    "tú tu ti usted ustedes vous toi votre você vocês tua teu ton ta",
)
"""The second person."""
OTHERS = _by_language(
    "he she they them him his her their he's she's they're everyone everybody someone somebody nobody people folks",
    "er ihn ihm man jemand niemand jeder alle leute",
    "él ella ellos ellas alguien nadie elle il ils elles eux on quelqu'un personne ele ela eles elas alguém ninguém "
    "lui lei loro qualcuno nessuno",
)
"""Pronouns of the third person, and words for people."""
ARTICLES = _by_language(
    "the a an this that one some",
    "der die das ein eine einer einem einen dem den",
    "el la l los las un una le les une des o os as um uma il lo gli i uno a",
)
"""Articles and the like."""
NAMELESS = _by_language("the a an this that", "ein eine einen einem einer", "un una une um uma uno")
"""Articles after which no person's name stands; "la Marta" and "o Lucas" are persons."""
PREPOSITIONS = _by_language(
    "in at to with from for on by near into onto about like than via without after before since until",
    "in im am an aus nach bei beim mit zu zum zur für über um durch ohne seit bis",
    "en con desde para por sin à au aux dans chez avec pour sur sans par em no na com pelo pela per tra su nel nella "
    "al alla ad",
)
"""What stands before a person or a place that is not the subject."""
OF_WORDS = _by_language("of", "von vom", "de del du d do da dos das di della dell a")
"""What stands before the owner of a thing, and before names that are no subjects."""
PERSON_NOUNS = word_set(
    "man men woman women guy guys girl girls boy boys lady kid kids child children parents grandparents family "
    "relatives guest guests student students customer client trainer caretaker janitor spouse person mum mom dad "
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
