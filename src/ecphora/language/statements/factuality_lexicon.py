"""Phrases of what is supposed, advised or reported, in seven languages.

Plain statements have none of the alternatives: "one day I'll" and not "one day", "heard that" and not "heard". This
file has no logic.
"""

from collections.abc import Mapping
from re import Pattern

from ...model.lazy import lazy_pattern
from ..european_languages import European, any_of

SUPPOSED: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:if|unless) (?:i|we|he|she|they|you|it|there|my \w+|our \w+|the \w+)\b<ON>(?:would|wouldn't)
        (?:if|unless) (?:i|we|he|she|they|you|it|there|my \w+|our \w+) <ON>(?:i|we|he|she|they|you|it)'d
        (?:would|wouldn't|i'd|we'd|he'd|she'd|they'd)\b<ON>\bif (?:i|we|he|she|they|it|there|my \w+|our \w+|only)
        if only (?:i|we|he|she|they|it|there|my|our) ; if i ever ; (?:if|were) (?:i|we) (?:were|rich|famous|you)
        what if (?:i|we|he|she|they|my|our) ; as if (?:i|we|he|she|they|it|you) ; had i (?:\w+ )?\w+ed
        <START>(?:let's |let us |just )?(?:imagine|suppose|supposing|say)(?: that)? (?:i|we|he|she|they|you|there|
            my \w+|
            our \w+|the \w+|\w+) (?:\w+ )?(?:had|were|was|lived|could|would|owned|worked|broke|lost|won|live|work|own)
        imagin(?:e|ing) (?:living|having|being|owning|working|moving)
        wish(?:ed|ing)? (?:that )?(?:i|we|he|she|it|they|there|you)
        (?:i|we) wish(?:ed)? (?:that )?(?:my|our|the|his|her) (?:\w+ ){1,3}(?:was|were|had|did|could|would|\w+n't|
            \w+ed)
        (?:would|i'd|we'd|he'd|she'd|they'd) (?:\w+ )?(?:love|like|rather|prefer)(?: to)? (?:live|own|work|move|
            become|learn|work|study|visit|travel|
            drive|play|be an?|have an?)(?! (?:\w+ ){0,9}please)
        would(?:n't)? (?:have|live|move|want|choose|pick|be(?! happy| glad| grateful| pleased| delighted))
        (?<!'ve )(?<!have )(?<!has )(?<!am )(?<!'m )(?<!is )(?<!are )(?<!was )(?<!were )(?<!'s )(?:almost|nearly|
            just about) (?:\w+ed|went|bought|took|had|got|became|left|quit|sold|chose|fell|gave|made|rented|won|lost)
        (?:i|we|he|she|they|my \w+) (?:was|were) (?:about|going) to ; (?:i|we|he|she|they) might(?: \w+)? \w+
        (?:maybe|perhaps) (?:i|we)(?:'ll| will| should| could| might|'d)
        (?:could|should|would)(?:n't| not)? have (?!to\b)\w+ ; (?:came|were|was) (?:very |so |this )?close to \w+ing
        (?:toy|toyed|toying|play|played|playing) with the idea ; my (?:biggest |big )?dream (?:is|was|would)
        pretend (?:that )?(?:i|we|you|to be)
        dream(?:s|ed|t|ing)? (?:of|about) ; dream(?:ed|t) (?:that )?(?:i|we|my|he|she|they) ; in (?:my|a|the) dream
        (?:some ?day|one day),? (?:i|we|he|she|they|my \w+)(?:'ll|'d| will| would| want| hope| might| may| could)
        (?:i|we|he|she|they)(?:'ll|'d| will| would| want| hope| might| may| could| plan)\b<ON> (?:some ?day|
            one day)\W*$
        think(?:ing)? (?:of|about) \w+ing ; thought (?:of|about) \w+ing ; consider(?:ed|ing) \w+ing
        as a (?:child|kid|boy|girl) (?:i|he|she) wanted ; wanted to (?:be|become) ; no idea (?:whether|if)
        <START>in (?:my|our|the|this|that|his|her|a) (?:\w+ ){0,2}(?:novel|story|book|game|film|movie|play|screenplay|
            comic|campaign|fan ?fiction|fairy tale|series|show)(?:,|(?= (?:i|my|the|he|she|they|a|we|you|everyone)\b))
        (?:hero|heroine|character|characters|protagonist|villain|narrator) (?:of|in|from) (?:my|our|the|this|his|her|a)
        (?:did|do|does|will|would|have|has)(?: not|n't) (?:[\w-]+ ){0,8}after all\W*$
        (?:am|is|are|i'm|we're|isn't|aren't) (?:not )?\w+ing (?:[\w-]+ ){0,8}after all\W*$
        (?:fell|falls) through ; decided against ; (?:plan|move|trip|wedding|deal|sale|purchase) was called off
        changed my mind about
        """
    ),
    European.GERMAN: any_of(
        r"""
        wenn (?:ich|wir|er|sie|man|es|meine?|unsere?)\b<ON>\b(?:wäre|wären|hätte|hätten|würde|würden|könnte|könnten|
            dürfte|müsste)
        <START>(?:wäre|hätte|würde|könnte) (?:ich|wir|er|sie|man)(?! bitte| gern)
        (?:ich|wir) (?:würde|würden|hätte|hätten|wäre|wären) (?:\w+ )?(?:gern|gerne|lieber|am liebsten)(?![^.!?]*bitte)
        stell(?:t euch|en sie sich| dir) vor\b<ON>\b(?:wäre|wären|hätte|hätten|würde|würden|könnte|könnten)
        <START>(?:mal |nehmen wir )?angenommen,? ; (?:fast|beinahe) (?:wäre|hätte)
        (?:wäre|hätte|wären|hätten) (?:\w+ ){0,3}(?:fast|beinahe)
        (?:habe|haben|hat|bin|sind|ist) (?:\w+ ){0,4}?(?:fast|beinahe) ge\w+ ; wollte (?:\w+ )?(?:immer )?werden
        (?:ich|wir) wünschten? ; (?:mein|unser) (?:großer )?traum (?:ist|wäre|war) ; <START>(?:fast|beinahe) hätten
        (?:mein|ein|unser) (?:vorschlag|tipp|rat) (?:wäre|ist)
        vielleicht (?:ziehe|kaufe|nehme|werde|gehe|ziehen|kaufen|nehmen|werden|gehen) (?:ich|wir)
        (?:träume|träumte|träumen) (?:davon|von) ; (?:habe|hat) geträumt ; in (?:mein|ein)em traum
        eines tages (?:\w+ ){0,2}?(?:werde|möchte|will|würde|ziehe|kaufe|habe) (?:ich|wir)
        (?:werde|möchte|will|würde|hoffe)\b<ON>\beines tages
        (?:ich|wir) (?:überlege|überlegen)(?: gerade| noch| schon)*, ; überlege (?:mir|ob)
        (?:denke|denken) darüber nach
        <START>in (?:meinem|meiner|dem|der|einem|einer|diesem|unserem|seinem|ihrem) (?:\w+ )?(?:roman|geschichte|buch|
            spiel|
            film|märchen|serie|comic) (?!habe ich|steht)\w+
        <START>im (?:roman|buch|spiel|film|märchen) (?:bin|ist|hat|lebt|wohnt|sind|heißt)
        (?:heldin|held|figur|hauptfigur|schurke|erzähler) (?:in|aus|von) (?:meine|eine|de|diese)\w
        doch nicht (?:\w+ ){0,5}(?:\w*ge\w+(?:t|en)|gemietet|umgezogen|\w+iert)\W*$
        """
    ),
    European.SPANISH: any_of(
        r"""
        ojalá ; (?:quizás?|tal vez) (?!sea|te|le|les|os|es)\w+
        si (?:yo |no )?(?:\w+(?:ara|iera|era|ase|iese)|fuera|tuviera|pudiera|viviera)
        imag[ií]na(?:te)? (?:que|si|por) ; sup[oó]n(?:gamos)? que
        casi (?:me|nos) \w+ ; casi \w{3,}[éíó] ; casi (?:compro|acepto|firmo|elijo|cambio|dejo|pierdo|gano|vendo|voy)
        (?:(?:me|nos) (?:gustaría|encantaría)|preferiría) (?:mucho )?(?:vivir|tener|ser|mudar\w+|aprender|trabajar|
            viajar|
            comprar|estudiar|ir|irme|visitar|poder)
        estuv(?:e|imos) a punto de ; por poco (?:me|nos) ; (?:mi|nuestro) sueño es ; sueñ[oa] con
        soñé (?:que|con) ; algún día ; al final no
        (?:estoy|estamos) pensando en \w+ ; quería ser
        <START>en (?:mi|la|el|su|este|esta) (?:novela|cuento|historia|libro|juego|sueño|película|serie)(?=,| )
        (?:héroe|heroína|protagonista|personaje) de (?:mi|la|el|su|un)
        """
    ),
    European.FRENCH: any_of(
        r"""
        si (?:j'|je |on |nous |tu |il |elle )(?:\w+ )?\w+(?:ais|ait|ions|aient) ; imagine[zs]? (?:que|si|un)
        suppos(?:ons|e|ez) (?:que|qu') ; (?:j')?(?:ai|a|avons|ont) failli
        presque (?:acheté|signé|déménagé|accepté|quitté|choisi|pris|vendu|loué|adopté|épousé)
        (?:j'|je |on |nous )?(?:aimerais?|aimerions|préférerais?|voudrais?) (?:bien |tant |beaucoup )?(?:vivre|habiter|
            avoir|être|déménager|apprendre|travailler|voyager|acheter|étudier|aller|visiter|posséder|devenir)
        peut-être que ; (?:je|nous|on|j') ?\w+ peut-être
        (?:aurais|aurions) (?:bien )?(?:aimé|voulu|pu|dû|été) ; (?:mon|notre) rêve (?:est|serait)
        rêv(?:e|ons|ais) (?:de|d') ; ai rêvé ; dans (?:mon|un) rêve
        un jour,? (?:je|j'|nous|on) ?\w+r(?:ai|ons|ais|a|ait) ; \w+r(?:ai|ons|ais)\b<ON> un jour\W*$
        finalement pas (?:\w+ )*\w+[éis]\W*$
        je voulais (?:être|devenir) ; (?:pense|pensons|envisage|envisageons) (?:à|de) \w+er
        <START>dans (?:mon|le|la|son|ma|ce|cette|sa) (?:roman|histoire|livre|jeu|film|conte|série|pièce)(?=,| )
        (?:héros|héroïne|protagoniste|personnage) d(?:e|u) (?:mon|ma|roman|la|livre|jeu|film|conte|l'histoire)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        se (?:eu |nós |a gente |ele |ela )?(?:\w+sse|\w+ssemos|\w+ssem) ; imagin[ae] (?:que|se) ; suponha(?:mos)? que
        tomara ; quem me dera ; talvez (?:eu|nós|a gente|me|nos)
        talvez (?:vá|compre|mude|faça|aceite|seja um|seja uma)
        quase (?:me|nos) \w+ ; quase (?!sempre|nunca|não)\w+(?:ei|i|ou|ámos|amos|emos|imos)
        (?:gostaria|gostava|adoraria|preferiria) (?:muito )?(?:de )?(?:viver|morar|ter|ser|mudar|aprender|trabalhar|
            viajar|
            comprar|estudar|ir|visitar|poder)
        quase a \w+r ; o (?:meu|nosso) sonho é ; meu sonho é ; sonh(?:o|ei|amos) (?:com|em|que)
        um dia,? (?:eu |nós |ainda )?(?:vou|quero|gostaria|hei|vamos|\w+rei|\w+ria|\w+remos)
        (?:quero|gostaria|adoraria|espero|vou|\w+rei)\b<ON> um dia\W*$
        (?:estou|estamos) a pensar em \w+ ; pensando em \w+r ; afinal não
        queria ser ; <START>n[oa] (?:meu|minha)? ?(?:romance|história|livro|jogo|filme|conto|sonho|série)(?=,| )
        (?:herói|heroína|protagonista|personagem) d[oae] (?:meu|minha|romance|livro|jogo|filme)
        """
    ),
}
"""What is supposed, wished, made up, or nearly was."""
JOKE = any_of(
    r"""
    (?<!no )(?:kidding|joking) ; (?:said|told|wrote|says|claimed)\b<ON> as a joke
        as a joke,? (?:i|we) (?:said|told|wrote)
    (?:nur (?:ein )?|ein )(?:spaß|scherz)\W*$ ; nur (?:ein )?(?:spaß|scherz) ; (?:im|zum) scherz (?:gesagt|behauptet)
    e(?:s|ra) broma ; (?:de|en) broma ; je plaisante ; c'(?:est|était) une blague ; pour rire
    (?:era|é|foi) (?:uma )?(?:brincadeira|piada)
    """
)
"""A joke, which takes back what is said next to it."""
JOKE_CJK = lazy_pattern(r"开玩笑|開玩笑|冗談(?:だ|です|で)")
"""The same of Chinese and Japanese."""
ADVICE: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        you (?:could|should|ought to|might|may)(?: also| even| perhaps| always| just)? (?!(?:\w+ ){0,2}(?:me|my|us|
            our)\b|
            know|call|reply|respond|answer|address|remember|note|be aware|always|never|use|write)\w+
        you (?:could|might)(?: also| even| perhaps| always| just| instead)? use (?!(?:me|my|us|our)\b)
        you(?:'d| had) better ; you (?:might|may) want to ; you can (?:also|try|start|consider|opt|add|make|choose|
            look into|create)(?! (?:me|my|us|our)\b)
        how about(?! you) ; what about (?:\w+ing|an?) ; have you (?:thought|considered|tried|ever)
        if (?:i|we) were you
        why not \w+ (?:an?|the|some|it|your|with|to) ; why (?:don't you|don't we)
        (?:i|we)(?:'d| would| can| could) (?:suggest|recommend|advise|propose)
        (?:i|we) (?:suggest|recommend|advise|propose)
        (?:<START>|please |maybe |perhaps |also |or )try(?:ing)? (?:an?|the|some|to|out|it|\w+ing)
        (?:<START>|please |maybe |perhaps |also |or )consider (?:an?|the|some|\w+ing)
        let me know if you(?:'d| would| need| want| have) ; would you like (?:me )?(?:to|an?|some|help)
        feel free to(?! call| reach| contact| write| ask| text| email| ring| knock)
        (?:could|would|might|may) be (?:suitable|worth|helpful|ideal|an? (?:\w+ )?(?:idea|option|choice|way|fit))
        (?:an?|another|one|the) (?:good|simple|nice|great|popular|best|easy) (?:idea|option|choice|way|
            tip)\b<ON>\b(?:would|could|
            might)
        here(?: are|'s| is) (?:some|a few|several|\w+) (?:\w+ )?(?:tips|tip|ideas|suggestions|options|ways|steps|
            advice|
            recommendations)
        my (?:suggestion|advice|tip)(?: would be| is)?
        (?:some|many) (?:people|\w+ers) (?:like|prefer|find|enjoy|choose|use|swear|love)
        """
    ),
    European.GERMAN: any_of(
        r"""
        (?:du|ihr|sie) (?:könntest|könntet|könnten|solltest|solltet|sollten)(?! mich| mir| uns| wissen)
        (?:könntest|solltest|könnten|sollten) (?:du|sie|ihr)(?! mich| mir| uns| bitte) ; wie wäre es ; wie wär's
        du kannst (?:auch|versuchen|es|zum beispiel|einfach|damit) ; hast du (?:schon|mal|es) ; haben sie (?:schon|mal)
        <START>probier(?:e|en sie|t)? (?:es|doch|mal|einmal|\w+) ; <START>versuch(?:e|en sie|t)? (?:es|mal|doch|einmal)
        (?:ich|wir) (?:empfehle|empfehlen|rate|raten|würde \w+ empfehlen|würde \w+ raten)
        ich schlage (?:\w+ ){0,4}vor
        warum (?:nicht|versuchst du|probierst du)
        hier (?:sind|ist) (?:einige|ein paar|drei|fünf) (?:tipps|ideen|vorschläge)
        """
    ),
    European.SPANISH: any_of(
        r"""
        podrías(?! llamarme| decirme| me) ; deberías ; (?:podría|debería) usted ; usted (?:podría|debería)
        has (?:pensado|probado|considerado|intentado) ; ha considerado usted
        qué tal (?:si|un|una|el|la|probar|ir) ; por qué no (?:pruebas|intentas|vas|haces|te|usas|compras|tomas)
        (?:te |le |os )?(?:recomiendo|recomendaría|sugiero|aconsejo)
        <START>(?:prueba|intenta|pruebe|intente) (?:a|con|el|la|un|una|\w+r)
        aquí (?:tienes|hay) (?:algunos|unos|varios)
        """
    ),
    European.FRENCH: any_of(
        r"""
        (?:tu|vous) (?:pourrais|pourriez|devrais|devriez)(?! m'| me| nous)
        (?:tu peux|vous pouvez) (?:aussi|essayer|utiliser|commencer|envisager)
        (?:as-tu|avez-vous|tu as|vous avez) (?:déjà )?(?:pensé à|essayé|envisagé) ; pourquoi (?:pas|ne pas)
        (?:je )(?:te |vous )?(?:recommande|recommanderais|suggère|conseille|conseillerais)
        <START>(?:essaie|essaye|essayez|envisage|envisagez) ; et si (?:tu|vous|on)
        voici (?:quelques|des|trois|cinq) (?:\w+ )?(?:conseils|idées|suggestions|astuces)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        (?:você|tu) (?:poderia|poderias|deveria|deverias|podia|podias|devia|devias)(?! me| nos)
        (?:poderias|deverias|devias) ; (?:você|tu) (?:pode|podes) (?:tentar|experimentar|usar|considerar|começar|
            também)
        já (?:pensou|pensaste|experimentou|experimentaste|considerou|consideraste) (?:em|num|numa|um|uma|o|a|\w+r)
        que tal (?:se|um|uma|o|a|experimentar|ir|tentar) ; por que não (?:experimenta|tenta|vai|faz|compra|usa|toma)\w*
        recomendo ; recomendaria ; (?:te |lhe )?sugiro ; aconselho
        <START>(?:experimenta|experimente|tenta|tente|considere|considera) ; aqui (?:estão|vão) (?:algumas|alguns)
        """
    ),
}
"""What is proposed to somebody."""
REPORTED: Mapping[European, Pattern[str]] = {
    European.ENGLISH: any_of(
        r"""
        (?:people|some|everybody|everyone|experts|many) (?:says?|claims?|thinks?|believes?)(?! hi\b| hello| ["“])
        (?:<START>|as )they (?:say|claim) ; it is said ; i hear (?:that|you|he|she|they|it|\w+ (?:is|has|was|are))
        heard (?:that|somewhere|people|rumou?rs?|say|it said|a rumou?r|on the (?:radio|news|grapevine))
        heard (?!from |back |of |about )(?:\w+ ){1,3}(?:is|are|has|have|had|will|might|may|moved|left|got|married|
            bought|sold)
        read (?:somewhere|online|that(?! (?:book|novel|story|paper|one|magazine|article|report|poem)s?\b))
        read (?:on|in) (?:the|an?|some) (?:\w+ )?(?:internet|news\w*|paper|magazine|article|forum|web\w*|blog|report|
            brochure|
            study|post)
        (?:supposedly|allegedly|reportedly)(?! i\b| i'm| my| we\b)
        (?<!'m )(?<!am )apparently,?(?! i\b| i'm| we\b| we're| my| our)
        rumou?r has it ; word is(?: that)? ; (?:someone|somebody|people) told (?:me|us)
        (?:i|we) (?:was|were) told that ; there(?:'s| is| are) (?:a )?rumou?rs?(?!-)
        rumou?rs? (?:say|says|that|about|of|are)
        according to (?:people|gossip|legend|rumou?rs?|him|her|them|some)
        according to (?:the|an?|some|this|that) (?:\w+ )?(?:article|ad|advert\w*|newspaper|magazine|blog|website|
            forum|horoscope|
            brochure|movie|film|novel|story|legend|tabloids?|tv|news|poster|leaflet)
        according to (?:my|his|her|the|a|our) (?:\w+ )?(?:brother|sister|neighbou?rs?|colleagues?|coworkers?|friends?|
            cousin|aunt|
            uncle|roommate|classmate)
        (?:is|are|was|were) (?:said|rumou?red) to
        <START>in the (?:ad|advert|article|commercial|documentary|news|song|magazine),? (?:it|they|he|she|the|i|a|an|
            you)
        the (?:\w+ )?(?:ad|advert|article|brochure|commercial|poster|flyer|leaflet|documentary|movie|film|novel|song|
            horoscope)s? (?:says?|said|claims?|claimed|tells?|told|promises?)
        """
    ),
    European.GERMAN: any_of(
        r"""
        angeblich ; anscheinend(?! bin ich| habe ich)
        (?:man|die leute|viele|alle|es wird) (?:sagt|sagen|behaupte[nt]|gesagt)
        (?:habe|haben) (?:\w+ ){0,2}(?:gehört|gelesen), ; es heißt, ; (?:hörte|las),? dass ; dem vernehmen nach
        laut (?:einem|einer|der|dem) (?:\w+ )?(?:artikel|zeitung|werbung|anzeige|broschüre|film|buch|roman|
            zeitschrift|bericht|
            blog|plakat|horoskop)
        laut (?:meine|seine|ihre|unsere)\w (?:\w+ )?(?:bruder|schwester|nachbar\w*|kolleg\w+|freund\w*|cousin\w*|
            tante|onkel)
        es gibt (?:ein gerücht|gerüchte) ; gerüchte\w* (?:nach|zufolge) ; nach angaben (?:der|des|von)
        in der (?:werbung|zeitung|anzeige) (?:heißt|steht|stand|hieß)
        im (?:radio|artikel|prospekt) (?:heißt|hieß|stand) es
        (?:werbung|anzeige|artikel|plakat|prospekt|broschüre|horoskop) (?:sagt|behauptet|verspricht)
        """
    ),
    European.SPANISH: any_of(
        r"""
        dicen que ; se dice ; supuestamente ; al parecer ; por lo visto ; según dicen
        he (?:oído|leído) (?:que|por|en algún)
        oí (?:que|decir) ; leí que ; me (?:contaron|dijeron) que ; la gente (?:dice|cree) ; corre el rumor
        se rumorea ; hay rumores
        según (?:el|la|un|una) (?:\w+ )?(?:anuncio|revista|periódico|artículo|película|novela|folleto|leyenda|blog|
            horóscopo)
        según (?:mi|su|nuestro|nuestra|un|una) (?:\w+ )?(?:hermano|hermana|vecin[oa]|compañer[oa]|amig[oa]|prim[oa]|
            tí[oa]|colega)
        el (?:\w+ )?(?:anuncio|artículo|folleto|cartel|horóscopo) (?:dice|promete|afirma)
        """
    ),
    European.FRENCH: any_of(
        r"""
        on dit (?:que|qu') ; les gens disent ; il paraît ; paraît-il ; apparemment,?(?! je| j') ; soi-disant
        (?:j'ai|nous avons) (?:entendu|lu) (?:que|qu'|dire|quelque part) ; le bruit court ; la rumeur
        (?:selon|d'après) (?:le|la|un|une|l') ?(?:\w+ )?(?:pub|publicité|article|magazine|film|roman|brochure|légende|
            blog|horoscope)
        (?:selon|d'après) (?:mon|ma|son|sa|un|une) (?:\w+ )?(?:frère|sœur|voisine?|collègue|amie?|cousine?|tante|
            oncle|copine?)
        (?:pub|publicité|article|brochure|affiche|horoscope) (?:dit|prétend|promet|affirme)
        """
    ),
    European.PORTUGUESE: any_of(
        r"""
        dizem que ; diz-se ; supostamente ; aparentemente ; pelos vistos ; parece que(?! sou| estou| tenho)
        ouvi (?:dizer|que|falar) ; li (?:que|algures) ; me (?:contaram|disseram) que ; corre o boato ; há boatos
        segundo (?:o|a|um|uma) (?:\w+ )?(?:anúncio|revista|jornal|artigo|filme|folheto|lenda|blog|horóscopo)
        segundo (?:o |a )?(?:meu|minha|um|uma) (?:\w+ )?(?:irmão|irmã|vizinh[oa]|coleg[ao]|amig[oa]|prim[oa]|ti[oa])
        o (?:\w+ )?(?:anúncio|artigo|folheto|cartaz|horóscopo) (?:diz|promete|afirma)
        """
    ),
}
"""What people say, and what somebody has heard or read."""
SUPPOSED_CJK = lazy_pattern(
    r"(?:如果|要是|假如|假设|假設|要不是)[^。！？!?]{0,12}?(?:[我你他她们們](?:是|有|能|会|會|可以|住|当|當|中了)|没有|沒有)"
    r"|要是.{1,20}就好了|[真多]希望|但愿|但願|梦想(?:是|着|有)|夢想(?:是|著|有)|差点|差點|恨不得|说不定|也许我|"
    r"(?:在|正)考虑|(?:在|正)考慮|梦见|夢見|(?:小说|小說|故事|游戏|遊戲|电影|電影)(?:里|裡|中)[，,]?(?:的)?(?:我|主角|女主|男主|她|他)"
    r"|もし.*(?:だろう|でしょう|のに|たい|かも)|たら(?:なあ|いいのに|いいな)|ばよかった|かもしれ(?:ない|ません)|"
    r"(?:た|る)ところだった|危うく|(?:という|って)夢を見|(?:小説|物語|ゲーム|映画)の中(?:で|の)"
)
"""What is supposed, wished, made up, or nearly was, in Chinese and Japanese."""
ADVICE_CJK = lazy_pattern(
    r"[你您](?:可以|应该|應該|不妨|最好)(?![^，,。]{0,3}我)|(?:建议|建議|推荐|推薦)[你您]|不妨|要不要试|要不要試|"
    r"(?:可以|要不)(?:试|試)|(?:试|試){2}(?:看|吧)|"
    r"てみて(?:は|ください|下さい|ね)|てみたら(?:どう|いかが)|てはどう|はいかが|た(?:ほう|方)が(?:いい|良い)|"
    r"(?:おすすめ|お勧め|オススメ)(?:です|します|は|の(?:方法|一つ))"
)
"""What is proposed to somebody, in Chinese and Japanese."""
REPORTED_CJK = lazy_pattern(
    r"听说|聽說|据说|據說|据.{1,6}说|據.{1,6}說|人们说|人們說|有人说|有人說|大家都说|大家都說|传言|傳言|"
    r"[说說][:：][“「『]|[:：][“「『]|[るたいうくむつぬぶぐァ-ヶ]らしい(?:です|よ|ん|[。！!]|$)|"
    r"(?:って|という)噂|(?<!契約)(?<!契約書)(?<!予定表)に(?:よると|よれば)|と聞いた|と聞きました"
)
"""What people say, and what somebody has heard or read, in Chinese and Japanese."""
