"""Function words of Dutch, French, German, Italian, Portuguese and Spanish: words without topical content.

They are left out of questions only. What is stored is indexed with them, whatever its language.
"""

FUNCTION_WORDS = {
    "Dutch": """
        de het een en is niet ik wij we jij je zij ze hij te met op voor van den in bij hoe waar wie wanneer
        waarom wat welke welk hoeveel heeft hebben had hadden heb hebt ben bent zijn was waren wordt worden werd
        werden ook maar nog al mijn jouw jullie haar hun ons onze mij hem er als of naar uit over tot geen dat
        die dit deze om aan kan kunnen kon moet moeten moest zal zullen zou zouden wil willen wilde dus toch dan
        door na zonder tegen onder tussen sinds waarmee waarvan waarheen waarin wel zelf eens toen want u uw
    """,
    "French": """
        le la les l' un une des du de d' et est ce c' cet cette ces ça cela il elle ils elles on je j' tu nous
        vous me m' te t' se s' lui leur leurs y en ne n' pas que qu' qui quoi quel quelle quels quelles quand où
        comment pourquoi combien lequel laquelle dont dans sur sous avec sans pour par chez entre vers à au aux
        mon ma mes ton ta tes son sa ses notre nos votre vos mais ou donc or ni car si très aussi déjà puis ont
        a as ai avons avez avait avaient avoir suis es sommes êtes sont était étaient être fut sera peut peux
        doit t jusqu' lorsqu' lorsque puisqu' puisque depuis parce quelqu'
    """,
    "German": """
        der die das den dem des ein eine einen einem einer eines und oder aber ist sind war waren bin bist sei
        wird werden wurde wurden worden hat haben hatte hatten habe hast ich du er sie es wir ihr mich mir dich
        dir ihn ihm ihnen uns euch sich mein meine meinen meinem meiner dein deine deinen deinem deiner sein
        seine seinen seinem seiner seines ihre ihren ihrem ihrer ihres unser unsere unseren unserem unserer euer
        eure nicht kein keine keinen keinem keiner wie wo wer wen wem wessen wann was warum wieso weshalb welche
        welcher welches welchem welchen wohin woher womit wofür worüber wovon woran worauf mit von vom zu zum
        zur für auf an am im in ins aus bei beim nach vor über unter um bis seit durch gegen ohne zwischen als
        ob dass wenn weil denn doch auch noch nur schon so dann da dort hier diese dieser dieses diesem diesen
        jene jener kann können konnte soll sollen sollte will wollen wollte muss müssen musste darf man
    """,
    "Italian": """
        il lo la l' i gli le di d' del dello della dell' dei degli delle e ed è un un' uno una io tu lui lei noi
        voi loro mi ti ci vi si che ch' chi cosa cos' quando dove dov' come com' perché quale quali qual quanto
        quanta quanti quante per con senza in nel nello nella nell' nei negli nelle su sul sullo sulla sull' sui
        sugli sulle al allo alla all' ai agli alle a da dal dallo dalla dall' dai dagli dalle mio mia miei mie
        tuo tua tuoi tue suo sua suoi sue nostro nostra vostro vostra non ma o anche se sono sei siamo siete era
        erano essere ho hai ha abbiamo avete hanno aveva avevano avere questo questa questi queste quest' quello
        quella quelli quelle quell' ne c' tra fra già
    """,
    "Portuguese": """
        o os a as de do da dos das e é um uma uns umas eu tu você vocês ele ela nós eles elas que quê quem
        quando onde como qual quais quanto quanta quantos quantas porque porquê por pelo pela pelos pelas para
        pra pro com sem em no na nos nas ao aos à às se seu sua seus suas meu minha meus minhas teu tua nosso
        nossa não mas ou também já foi foram ser sou são era eram está estão estou estava estavam esteve tem têm
        tinha tinham teve ter há este esta isto esse essa isso aquele aquela aquilo deste desta desse dessa
        neste nesta nesse nessa num numa me te lhe lhes sobre entre até desde muito
    """,
    "Spanish": """
        el la los las lo un una unos unas de del al a y e o u que qué quién quien quiénes quienes cuándo cuando
        dónde donde adónde cómo como cuál cuáles cual cuales cuánto cuánta cuántos cuántas cuanto por para con
        sin en entre sobre desde hasta hacia es son era eran fue fueron ser soy eres somos está están estoy
        estaba estaban estuvo ha han he has había habían hay haber yo tú él ella ellos ellas usted ustedes
        nosotros me te se le les nos mi mis tu tus su sus nuestro nuestra no sí si pero ni ya también muy este
        esta estos estas esto ese esa esos esas eso aquel aquella porque pues
    """,
}
"""By language, its articles, pronouns, prepositions, conjunctions, question words and auxiliaries, as they are written.

A prefix before an apostrophe (``l'``) is written with it. Words that are also common nouns are not among them ("été").
"""

GIVEN_NAMES = frozenset("al ben dan ella mia per wil will".split())  # noqa: SIM905  # as the lists above
"""Function words that are also given names: with a capital inside a sentence they are names."""
