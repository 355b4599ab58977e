"""Words by which the subject of a clause is told: pronouns, possessives, nouns for persons, in six languages."""

from .european_languages import word_set

I_WORDS = word_set("i we ich wir je j nous yo nosotros nosotras eu nós io noi i'm i've i'd i'll we're we've we'll")
"""The first person as a subject."""
WE_WORDS = word_set("we wir nous nosotros nosotras nós noi us uns nos we're we've we'll")
"""The first person of several."""
ME_WORDS = word_set("me us mine ours myself mir mich uns moi nos mim conmigo comigo mí ci")
"""The first person as an object."""
MY_WORDS = word_set(
    "my our mein meine meiner meinem meinen unser unsere unserer unserem unseren mi mis nuestro nuestra nuestros "
    "nuestras mon ma mes notre meu minha meus minhas nosso nossa nossos nossas mio mia miei mie nostro nostra"
)
"""Possessives of the first person."""
YOU_WORDS = word_set("you your yours du dein deine dir dich ihr euch tú tu usted ustedes vous toi votre você vocês tua")
"""The second person."""
OTHERS = word_set(
    "he she they him them his her their everyone everybody someone somebody nobody people folks ihn ihm er man "
    "jemand niemand jeder alle leute él ella ellos ellas alguien nadie elle ils elles eux on quelqu'un personne "
    "ele ela eles elas alguém ninguém lui lei loro qualcuno nessuno"
)
"""Pronouns of the third person, and words for people."""
ARTICLES = word_set(
    "the a an this that one some der die das ein eine einer einem einen el la los las un una le les une des o os "
    "as um uma il lo gli i uno"
)
"""Articles and the like."""
PERSON_NOUNS = word_set(
    "man men woman women guy guys girl girls boy boys lady kid kids child children parents grandparents family "
    "relatives guest guests student students customer client trainer caretaker janitor spouse person mum mom dad "
    "grandma grandpa mann männer frau frauen kinder eltern großeltern familie leute gast gäste kunde hausmeister "
    "junge mädchen hombre mujer niños padres familia gente cliente homme femme enfants famille gens homem mulher "
    "crianças pais família uomo donna bambini genitori famiglia stepfather stepmother godmother godfather ex "
    "fiancé twin"
)
"""Nouns for persons that are no relation of :mod:`.relation_lexicon`."""
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
