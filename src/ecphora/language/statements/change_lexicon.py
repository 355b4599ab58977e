"""Patterns of English words for a change, an end, a resumption, a correction, and related signals.

This file is over 400 lines because it is a table of words, with no logic.
"""

import re

from ...model.lazy import lazy_pattern
from ..european_languages import any_of

CHANGE = any_of(
    r"""
    moved? (?:in(?:to)?|to|out|back|over|house|up|forward|home) ; moved ; moving (?:to|out|in) ; relocat\w+
    settled in\w* ; switch(?:ed|ing) (?:to|from|over|jobs|majors|banks|gyms|teams|\w+ (?:to|for)) ; switched
    (?:gone|went|going|goes) over to ; changed ; changing to ; swapped ; replac(?:ed|es|ing) ; migrat(?:ed|ing)
    upgrad(?:ed|ing) ; downgrad(?:ed|ing) ; transferred ; promoted ; became ; renamed ; goes by ; resched\w+
    postpon\w+ ; pushed <TO>(?:back|out|forward|until) ; brought <TO>forward ; bump(?:ed|ing) ; rais(?:ed|ing)
    increas(?:ed|ing|es?) ; decreas(?:ed|ing|es?) ; reduced ; lowered ; extended ; shorten(?:ed|ing)
    cut (?:\w+ )*(?:down|back|to) ; went (?:up|down|from|over) ; gone (?:up|down|from) ; going up to ; goes up to
    grown to ; grew to ; rose to ; fell to ; dropped to ; dropped from ; reach(?:ed|ing) (?:about )?[$€£]?\d+
    risen to ; fallen to ; climbed to ; hit \$?\d+ ; updated? <TO>to ; revised ; adjusted ; improved <TO>to
    (?:up|down) to (?:about |around |nearly )?(?:\$|€|£)?\d+
    (?:brings?|bringing|puts) (?:it|us|me|the total) (?:up |down )?to ; total of ; instead ; from now on ; as of
    effective ; joined ; hired
    new (?:job|place|flat|apartment|house|address|number|phone|car|role|position|title|boss|manager|doctor|dentist|
        time|date|deadline|target|goal|limit|budget|price|rate|password|email|name|gym|bank|school|major|roommate|
            total|record|version|plan|slot|favou?rite)
    got (?:a (?:new )?(?:job|position|role)|hired|married|engaged|promoted|divorced)
    took (?:a|the) (?:\w+ )?(?:job|position) ; accepted (?:a|an|the) (?:\w+ )?(?:job|offer|position)
    started (?:at|working|a new|my new|her new|his new|seeing|dating) ; traded <TO>(?:in|for) ; married
    tied the knot ; took over ; stepped up ; turned (?:vegan|vegetarian)
    went (?:vegan|vegetarian|gluten-free|dairy-free) ; gone (?:vegan|vegetarian|gluten-free|dairy-free) ; shifted
    converted to ; is now ; are now ; 's now ; 're now ; am now ; 'm now ; now (?:has|have|is|are|costs?|at)
    turns \d+ ; turned \d+ ; got extended ; has moved ; made the switch ; getting moved ; will be moved
    """
)
"""Something has changed."""

CURRENT = any_of(
    r"""
    now ; nowadays ; these days ; currently ; at the moment ; this (?:term|semester|season)
    """
)
"""Something holds now; it may have been different before."""

END = any_of(
    r"""
    no longer ; not (?:\w+ )*any ?more ; n't (?:[\w'-]+ ){0,8}?any ?(?:more|longer)
    any ?more(?=[.,;!?)]|$| (?:and|but|so|since|now)\b) ; quit ; quitting ; stopped ; gave up ; given up
    (?<!of )(?<!not )(?<!without )giving up ; cancell?ed ; dropped (?:out|it) ; dropped \w+ (?:and|for) ; resigned
    laid off ; (?:was|were|got|been) let go ; fired(?! up) ; broke up ; broken up ; split up ; divorced ; separated
    called off ; got rid of ; sold ; retired ; (?<!get )(?<!got )(?<!getting )used to ; done with
    off (?:the )?(?:sugar|caffeine|coffee|alcohol|meat|dairy|gluten|cigarettes) ; cut out ; cold turkey
    unsubscribed ; closed (?:down|my|her|his|the) ; shut down ; deleted
    left (?:the|my|her|his|their) (?:job|company|team|band|club|choir|group|band|firm|course) ; swore off
    sworn off ; ended(?! up) ; over between ; discontinued ; passed away ; expired ; ditched
    out of the (?:band|team|club) ; kicked (?:the|her|his|my|it) ; moved on from ; no more \w+
    (?:hasn't|haven't) (?:\w+ ){1,6}since (?:\d|last|the|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*
    packed (?:it )?in ; laps(?:e|ed) ; pulled out ; stepped down ; withdrew ; gave \w+ (?:\w+ )?up
    given \w+ (?:\w+ )?up ; put (?:the|my|her|his) \w+ down for good ; wrapped up ; finished with
    (?:am|is|are|i'm|she's|he's) (?:\w+ )?done ; been (?:clean|sober) ; hung up ; hanging up ; opted out
    turned off ; dropping ; quits ; retiring ; broke off ; scrapped ; not (?:a )?(?:vegetarian|vegan) any
    """
)
"""Something no longer holds."""

RESUMPTION = any_of(
    r"""
    (?:\w+ing|started|begun|began|taken up|took up|back|takes?|eats?|drinks?|smokes?|runs?|plays?|works?|drives?|
        can|open) <TO>again
    back (?:to|on|at|into|in) \w+ ; resumed ; picked (?:\w+ )*(?:back up|up again) ; went back to ; gone back to
    rejoined ; reactivated ; restarted ; once (?:more|again) ; started (?:\w+ing|drinking|eating) ; took up
    taken up ; can (?:\w+ )*again ; got back (?:into|to|together) ; fell off the wagon ; relapsed ; back on
    allowed (?:to )?\w+
    (?:eats?|drinks?|smokes?|plays?|runs?|drives?|has|takes?|likes?|is|are|am|'m|'s|'re) (?:\w+ ){0,4}now
    """
)
"""Something that had ended, or had never been, holds now."""

CORRECTION = any_of(
    r"""
    (?:that|this|it) was (?:\w+ )?(?:wrong|a mistake|a typo|incorrect|not right|off)
    that's (?:\w+ )?(?:wrong|not right|incorrect) ; i was (?:\w+ )?(?:wrong|mistaken|mixed up|off)
    i (?:\w+ )?(?:misspoke|mixed up|mistyped|misread|misremembered|misheard|confused|got (?:that|it) wrong|
        got (?:that|it) mixed up)
    correction ; i (?:\w+ )?meant ; scratch that ; strike that ; my (?:mistake|bad)
    wrong (?:about|on|date|day|time|name|number|city|place|one) ; not what i said ; ignore (?:that|what i said)
    forget what i said ; let me correct ; i should(?:'ve| have) said
    got (?:the|my) (?:\w+ )?(?:wrong|mixed up|backwards) ; mixed (?:that|it|those|them|the \w+) up ; oops ; whoops
    actually,? (?:it's|it is|it was|that's|that was|no) ; no wait ; wait,? no ; sorry,? (?:it's|not|that)
    had (?:it|that) wrong ; gave you the wrong ; told you the wrong ; said (?:\w+ )?(?:by mistake|wrong)
    mixing (?:it|that|them) up ; wasn't right ; isn't right ; turns out (?:it's|it is|it was|i|she|he|they|that|the)
    messed up the ; typo ; got (?:that|it|this) (?:\w+ )?wrong ; was thinking of ; disregard
    mis(?:counted|calculated|judged|took|placed|heard|spoke) ; got (?:that|it|them) backwards ; i tell a lie
    take that back ; mistook ; what am i saying ; false alarm ; don't know why i said ; make that
    should (?:have been|be|read|say) ; i said \w+ ; looking at the wrong ; misremembering ; misread ; misheard
    mis-?typed ; reading the wrong ; i (?:\w+ )?confused ; got (?:my|the) \w+ (?:mixed|muddled) ; muddled
    the other way (?:round|around) ; not quite right ; slip of the ; autocorrect ; it's actually
    got ahead of myself ; correct myself ; i had (?:\w+ ){1,3}wrong
    """
)
"""An earlier statement was wrong."""

PARTIAL_CHANGE = any_of(
    r"""
    still (?:\S+\s+){1,7}?(?:but|just|only|except|though|at|on)\b
    same (?:day|time|place|room|deal|price|date|spot|venue|team|company|gym|hours?|\w+),? (?:but|just|only|except)
    same \w+ (?:but|just|only|different|new) ; stays? (?:the same|on|at|in) ; only the
    just the (?:time|day|date|place|room|venue|price) (?:changes|changed|is different|moved)
    everything else (?:is|stays) ; otherwise the same ; the rest (?:is|stays) ; keeping (?:the|his|her|my|their) \w+
    same \w+ and same \w+ ; unchanged ; as before ; only (?:change|thing|difference) ; stays? (?:as|put)
    (?:stays?|kept|keep),? but ; no change to
    (?:different|new|another) (?:time|day|room|place|venue|teacher|coach|date|hall|floor|platform)
    as (?:usual|always|ever),? but ; (?:just|only) \w+ (?:later|earlier|sooner)
    the (?:day|time|place|price|room) (?:stays|hasn't|is the same|doesn't)
    """
)
"""An earlier statement holds except for a part."""

NEUTRAL = any_of(
    r"""
    not sure ; don't know ; can't wait ; don't worry ; not only ; won't let ; (?:can't|couldn't) believe
    don't (?:think|forget|get me wrong) ; can't (?:help|stop|thank) ; not just ; no worries
    """
)
"""Negations in form that deny nothing."""

NEGATION = any_of(
    r"""
    (?:do|does|is|are|am|can|was|were|did|has|have|won|could)(?:n't| not) ; cannot ; never ; i'm not
    (?:he|she|they|it|we)'(?:s|re) not ; not (?:a|an|on|in|taking|doing|eating|drinking|into)
    (?:has|have|there's) no ; stopped ; quit
    """
)
"""Something is not so."""

START = any_of(
    r"""
    (?:since|as of|from|starting|beginning|effective)(?: on| in| from)? (?:the )?(?:last|this|next|yesterday|today|
        tomorrow|\d|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*
    """
)
"""The start of a state: before, it was different."""

NO_CHANGE = any_of(
    r"""
    same \w+ ; only (?:change|thing|difference) ; as before ; unchanged
    """
)
"""Something stays the same."""

SUBSTITUTION = any_of(
    r"""
    switched ; swapped ; chang(?:ed|ing) ; replaced ; moved ; (?:gone|went) over ; shifted ; migrated
    taken up with ; now
    """
)
"""One thing replaces another."""

NEVER_CLAUSE = lazy_pattern(
    r"\b(?:i|we)(?:['’]ve| have)? never\b[^,;.!?]{3,90}|\b(?:i|we) haven['’]t (?:\w+ )?ever\b[^,;.!?]{3,90}",
    re.IGNORECASE,
)
"""A clause that says what has never been."""

NEVER = any_of(
    r"""
    (?:i|we)(?:'ve| have)? never(?: actually| really| once| even)? \w+ ; (?:i|we) have not (?:\w+ )?ever
    (?:i|we) haven't (?:\w+ )?ever
    """
)
"""Something has never been so: a contradiction of a statement that it has, not a change."""

NON_OCCURRENCE = any_of(
    r"""
    (?:haven't|hasn't|didn't|don't|doesn't|won't|isn't|aren't|not|wasn't|never|hadn't|have not|has not|
        did not) (?:\w+ ){0,3}?(?:moved?|moving|switch\w*|chang\w+|quit|stop(?:ped|ping)?|replac\w+|cancel\w*|sold|
            sell|upgrad\w+|left|leav\w+|joined|join|swap\w*|resched\w+|mov\w+|g[ai]ven? up|giving up|push\w*|
                bump\w*|increas\w+|extend\w*|going to (?:change|move|switch|quit|stop))
    almost (?:\w+ed|quit|sold) ; nearly (?:\w+ed|quit|sold) ; yet
    """
)
"""A change that did not happen."""

HYPOTHESIS = any_of(
    r"""
    (?:even|only|but|and|what|as) if ; if (?:i|we|he|she|they) \w+ed ; ^if
    (?:might|may|could|would|should|'d) (?:\w+ ){0,2}?(?:move|switch|change|quit|stop|sell|replace|upgrade|cancel|
        give up|leave|join|push|raise|cut|go|become|get|be)\b
    (?:thinking|dreaming|thought|dreamed|dreamt) (?:about|of)
    considering (?:\w+ )?(?:moving|switching|changing|quitting|selling|going)
    (?:i|we|she|he|they)(?:'d| would) (?:love|like|rather) ; (?:i|we|he|she|they) wish ; hop(?:e|ing) to
    want(?:s|ed)? to (?:\w+ )?(?:move|switch|change|quit|stop|sell|replace|upgrade|leave) ; maybe ; perhaps
    imagine ; pretend ; tempted ; one day ; someday ; what if ; joking ; kidding
    in the (?:novel|book|movie|film|show|series|story|game) ; you (?:should|could|ought)
    """
)
"""Something only considered, wished, advised, or fictional."""

QUESTION = lazy_pattern(
    r"^(?:\W|(?:so|and|but|oh|hey|hi|wait|btw|ok|okay|hm+|well|\w+,)\s)*(?:did|do|does|are|is|was|were|have|has|had|"
    r"will|would|"
    r"should|shall|who|what|when|where|why|how|which|whose|isn['’]t|aren['’]t|didn['’]t|don['’]t|haven['’]t|"
    r"hasn['’]t)\b"
    r"[^.!]*\?\s*$",
    re.IGNORECASE,
)
"""A question, which states nothing."""

ADDITION = any_of(
    r"""
    also ; another ; as well ; too ; in addition ; besides ; on top of ; second ; one more ; both ; additional
    alongside ; on the side ; plus
    """
)
"""Something is added to what was there before."""

NO_STATE_CHANGE = any_of(
    r"""
    visit(?:ed|ing|s)? ; trip ; weekend in ; holiday ; vacation ; passing through ; flew to ; touring
    moved to tears ; moved by ; deeply moved ; so moved ; moved me ; changed my mind
    moved the (?!date|meeting|deadline|class|appointment|party|launch|release|standup|call|session|review|demo)
    changed (?:a|the) (?:tire|tyre|bulb|light ?bulb|diaper|nappy|oil|sheets|subject|channel|battery|batteries)
    for old times ; before [A-Z]\w+, ; (?:basically|practically|literally) li\w+ ; this (?:once|one time)
    just (?:for )?(?:this|today|tonight|once) ; for a (?:conference|wedding|visit|meeting)
    """
)
"""Expressions with a verb of change that change no state."""

EVENT_VERB = any_of(
    r"""
    ran ; walked ; spent ; ate ; paid ; watched ; cooked ; baked ; slept ; scored ; hiked ; cycled ; biked ; swam
    drove ; bought ; read ; finished ; caught ; made ; saw ; met ; wrote ; did ; played ; went
    """
)
"""Verbs of single events, which are not states that another could replace."""

PAST_STATE = any_of(
    r"""
    was ; were ; had ; did ; went ; spent ; stayed ; lived ; used to ; (?:have|has|'ve|'s) been ; before \w+
    back (?:then|when) ; years ago ; as a (?:kid|child|student|teenager) ; when (?:i|she|he|we|they) w\w+ ; once
    worked ; smoked ; drank ; ate
    """
)
"""A past state, which may no longer hold."""

FORMER_VALUE = lazy_pattern(
    r"\b(?:(?:mov|switch|chang|went|gone|upgrad|up|down|rais|increas|shift|migrat|transfer|convert|extend|push|bump|"
    r"cut|drop|grow|"
    r"grew|fell|rose|improv|back)\w*(?: (?!to\b)[\w’'-]+){0,5}? from|instead of|rather than|in place of|"
    r"as opposed to|no longer(?: in| at| on)?|left|used to (?:\w+ )?(?:in|at|"
    r"for)?|replac(?:ed|es|ing)(?: the| my| our)?|swapped(?: the| my| our)?|traded(?: in)?(?: the| my| our)?|"
    r"ditched(?: the| my)?|"
    r"sold(?: the| my)?|goodbye to) "
    r"(?P<what>(?:the |my |our )?[\w$€£%:.'’-]+(?: (?!to\b|for\b|with\b|and\b|but\b|in\b|on\b|at\b|is\b|it\b|now\b|"
    r"as\b)"
    r"[\w$€£%:.'’-]+){0,2})",
    re.IGNORECASE,
)
"""A value named as no longer so, or never so."""

CORRECTED_VALUE = lazy_pattern(
    r"\b(?:not|wasn['’]t|isn['’]t|was|said)(?: on| at| in| for)? (?P<what>(?:the )?[\w$€£%:.'’-]+(?: (?!to\b|but\b|"
    r"it\b)[\w$€£%:.'’-]+)?)",
    re.IGNORECASE,
)
"""A value that a correction names as wrong."""

RELATION_NOUN = lazy_pattern(
    r"\bmy (?:\w+ )?(?P<kin>sister|brother|mom|mum|mother|dad|father|wife|husband|son|daughter|cousin|aunt|uncle|"
    r"boss|manager|"
    r"roommate|flatmate|neighbou?r|grandma|grandpa|grandmother|grandfather|niece|nephew|partner|girlfriend|"
    r"boyfriend|fiancée?|"
    r"friend|colleague|coworker|co-worker|landlord|coach|teacher|parents|kids|ex)(?:['’]s)?\b",
    re.IGNORECASE,
)
"""A person named by the relation to the speaker."""

_ATTRIBUTE_PATTERNS = {
    "home": r"""
        live[s]? ; living (?:in|at|with|on|near|alone) ; reside\w* ; based (?:in|out)
        (?:my|our|her|his|a|the) (?:\w+ )?(?:flat|apartment|place) ; own place ; moved (?:in(?:to)?|to|out|back|over)
        settled (?:in|down) ; staying (?:in|at|with) ; address is ; shares? a (?:flat|house|place|apartment)
    """,
    "work": r"""
        works? (?:at|for|as) ; working (?:at|for|as)
        (?:my|his|her|a) (?:\w+ )?(?:job|position|role)(?: is)? (?:at|as|in|with) ; job at ; hired (?:by|at|as)
        joined (?-i:[A-Z])\w+ ; promoted to ; started (?:at|as|working)
        (?:i'm|he's|she's|am|is|as) an? (?:\w+ ){0,2}(?:engineer|nurse|teacher|barista|accountant|designer|
            developer|manager|intern|chef|cook|sous-chef|analyst|consultant|assistant|director|lead|journalist|
                librarian|electrician|carpenter|waiter|waitress|cashier|driver|lawyer|baker|plumber|paramedic|
                    receptionist|salesperson|editor|programmer|mechanic|gardener|florist|hairdresser|welder|postman|
                        pilot|trainee|apprentice|tutor)
        (?:on|in|with) the \w+ (?:team|department|desk)
        i'm (?:sous-chef|head of|freelanc\w+|self-employed|unemployed|between jobs) ; new (?:job|role|position)
        laid off ; resigned ; retired ; team lead ; head of
    """,
    "partner": r"""
        (?:i'm|am|he's|she's|is|still|been) single ; married to ; engaged ; dating ; girlfriend ; boyfriend
        going out with ; broke up ; broken up ; split up ; divorced ; separated ; seeing (?:someone|each other)
        tied the knot ; got married ; is married ; in a relationship ; aren't together ; fiancée?
    """,
    "diet": r"""
        vegan ; vegetarian ; pescatarian ; eats? meat ; on keto ; plant-based ; gluten-free ; dairy-free ; omnivore
    """,
    "car": r"""
        drive[sn]? (?:a|an|the|my) ; driving (?:a|an|my) ; my car is ; new car ; his car ; her car
    """,
    "commute": r"""
        (?:take|takes|taking|bike|bikes|biking|cycle|cycles|drive|drives|walk|walks) (?:\w+ ){0,3}to (?:work|
            the office|school)
    """,
}
ATTRIBUTE_PATTERNS = {name: any_of(patterns) for name, patterns in _ATTRIBUTE_PATTERNS.items()}
"""Single-valued attributes of a person, and the patterns that indicate them."""

ATTRIBUTE_STEMS = {
    name: frozenset(words.split())
    for name, words in {
        "home": "live home move apart flat place address resid reloc settl hous",
        "work": "work job employ compani role posit promot hire join",
        "partner": "singl marri engag date girlfriend boyfriend partner husband wife relationship",
        "diet": "eat diet vegan vegetarian meat food",
        "car": "drive car",
        "commute": "commut work offic bus train bike cycl",
    }.items()
}
"""The stems by which a question asks about an attribute, and by which memories about it are looked up."""

FILLER_STEMS = frozenset(
    [
        "just",
        "now",
        "still",
        "actual",
        "realli",
        "final",
        "got",
        "get",
        "gone",
        "go",
        "going",
        "move",
        "moved",
        "chang",
        "switch",
        "new",
        "old",
        "say",
        "said",
        "told",
        "tell",
        "know",
        "think",
        "guess",
        "mean",
        "meant",
        "sorri",
        "hey",
        "hi",
        "oh",
        "okay",
        "ok",
        "yeah",
        "yep",
        "yes",
        "well",
        "anyway",
        "btw",
        "way",
        "thing",
        "stuff",
        "lot",
        "bit",
        "today",
        "tomorrow",
        "again",
        "yesterday",
        "week",
        "month",
        "year",
        "day",
        "night",
        "morn",
        "afternoon",
        "even",
        "hour",
        "minut",
        "time",
        "last",
        "next",
        "ago",
        "sinc",
        "till",
        "until",
        "start",
        "end",
        "back",
        "come",
        "came",
        "take",
        "took",
        "make",
        "made",
        "let",
        "like",
        "love",
        "great",
        "good",
        "nice",
        "fun",
        "sure",
        "want",
        "need",
        "tri",
        "feel",
        "look",
        "work",
        "plan",
        "also",
        "too",
        "much",
        "mani",
        "more",
        "most",
        "one",
        "two",
        "first",
        "second",
        "thank",
        "pleas",
        "help",
        "kinda",
        "gonna",
        "wanna",
        "updat",
        "re",
        "longer",
        "anymor",
        "wrong",
        "mistak",
        "correct",
        "number",
        "rather",
        "instead",
        "use",
        "happen",
        "see",
        "onli",
        "here",
        "there",
        "out",
        "up",
        "down",
        "can",
        "could",
        "would",
        "should",
        "might",
    ]
)
"""Stems of words without topical content in a claim."""
