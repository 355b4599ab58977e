"""German phrases of time and the English that the grammar of ``dates`` parses.

Conventions: "nächsten Freitag" is in the coming calendar week, "kommenden Freitag" the next one. "Morgen" with a
capital is tomorrow at the start of a sentence alone. A weekday counts with its capital letter.
"""

from .phrases import DateWords, PhraseRules, english_months, english_weekdays, numbered

_BELOW_TWENTY = numbered(
    "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn "
    "achtzehn neunzehn"
)
_TENS = {"zwanzig": 20, "dreißig": 30, "vierzig": 40, "fünfzig": 50}
_NUMBERS = _BELOW_TWENTY | _TENS
_NUMBERS |= {
    f"{unit}und{ten}": value + tens
    for ten, tens in _TENS.items()
    for unit, value in _BELOW_TWENTY.items()
    if value <= 9
}
_IRREGULAR_ORDINALS = {"ein": "erst", "drei": "dritt", "sieben": "siebt", "acht": "acht"}
_ORDINALS = {
    _IRREGULAR_ORDINALS.get(word, f"{word}{'t' if value < 20 else 'st'}") + "e[nr]?": value
    for word, value in _NUMBERS.items()
    if value <= 31
}

_WORDS = DateWords(
    months=english_months(
        r"januar|jänner|jan\b\.?", r"februar|feb\b\.?", r"märz|maerz|mrz\b\.?", r"april|apr\b\.?", "mai",
        r"juni|jun\b\.?", r"juli|jul\b\.?", r"august|aug\b\.?",
        r"september|sept?\b\.?", r"oktober|okt\b\.?", r"november|nov\b\.?",
        r"dezember|dez\b\.?",
    ),
    weekdays=english_weekdays(
        "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag|sonnabend", "sonntag"
    ),
    numbers=_NUMBERS | {"eine[mnr]?": 1, "(?:ein )?paar": 0, "einige[nr]?": 0, "wenige[nr]?": 0, "mehrere[nr]?": 0},
    days=_ORDINALS,
    units={
        "minuten?": "minute", "stunden?": "hour", "tage?n?": "day", "wochen?": "week", "monate?n?": "month",
        "jahre?n?": "year", "wochenenden?|wochenendes": "weekend", "quartale?n?|quartals": "quarter",
        "jahrzehnte?n?": "decade", "jahres": "year", "monats": "month",
    },
    relatives={
        "(?:letzt|vergangen|vorig)e[mnrs]?": "last", "diese[mnrs]?": "this", "nächste[mnrs]?": "next",
        "kommende[mnrs]?": "coming",
    },
    parts={
        "(?:am )?(?:früh|morgen|vormittag|morgens|vormittags)": "morning",
        "(?:am )?(?:mittag|nachmittag)s?": "afternoon",
        "(?:am )?abends?": "evening", "(?:in der )?nachts?": "night",
    },
    thirds={"anfang": "early", "mitte": "mid", "ende": "late"},
    seasons={"frühlings?|frühjahrs?": "spring", "sommers?": "summer", "herbste?s?": "autumn", "winters?": "winter"},
    year=r"(?:,? ?(?P<year>\d{4}|[’']\d\d)(?!\w|[.,]\d))",
)  # fmt: skip

_ABOUT = "(?:etwa |circa |ca\\. |rund |ungefähr |gut |genau |knapp |über )?"
_TITLE = (
    "(?<!frau )(?<!herr )(?<!herrn )(?<!jeden )(?<!jedem )(?<!jeder )(?<!familie )(?<!jeden ersten )(?<!jeden letzten )"
)

RULES = PhraseRules(
    _WORDS,
    (
        (f"(?:heute|genau|exakt) vor {_ABOUT}COUNT UNIT", "{count} {unit}s ago today"),
        ("vorgestern", "the day before yesterday"),
        ("übermorgen", "the day after tomorrow"),
        ("(?:gestern|letzte|vergangene|vorige) nacht", "last night"),
        ("heute (?:früh|morgen|vormittag)", "this morning"),
        ("heute (?:mittag|nachmittag)", "this afternoon"),
        ("heute abend", "tonight"),
        ("heute nacht", "this night"),
        ("gestern", "yesterday"),
        ("heute", "today"),
        ("(?<!heute )(?<![\\w,;] )(?<!\\w)(?-i:Morgen)(?= (?-i:[a-zäöü]))", "tomorrow"),
        ("(?-i:morgen)", "tomorrow"),
        ("neulich|letztens", "the other day"),
        ("vor (?:einem|nem) halben jahr", "6 months ago"),
        (f"vor {_ABOUT}COUNT(?:(?: bis | oder | ?[-–] ?)COUNT2) UNIT", "{count} to {count2} {unit}s ago"),
        (f"vor {_ABOUT}COUNT UNIT", "{count} {unit}s ago"),
        (f"in {_ABOUT}COUNT (?P<unit>tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?|stunden?|minuten?)",
         "in {count} {unit}s"),
        ("(?:(?:in |während )?(?:den|der|die) )?(?:letzten|vergangenen) COUNT UNIT", "the past {count} {unit}s"),
        ("(?:(?:in |während )?(?:den|der|die) )?(?:nächsten|kommenden) COUNT UNIT", "the next {count} {unit}s"),
        # days
        ("(?:im |am )?(?:DAY\\.? )?MONTH (?:des )?(?:letzten|vergangenen|vorigen) jahres", "{day} {month} last year"),
        ("(?:im |am )?(?:DAY\\.? )?MONTH (?:des )?(?:nächsten|kommenden) jahres", "{day} {month} next year"),
        ("(?:vom? )DAY\\.? (?:bis|-|–) (?:zum )?DAY2\\.? MONTHYEAR?", "from {day} to {day2} {month} {year}"),
        ("zwischen (?:dem )?DAY\\.? und (?:dem )?DAY2\\.? MONTHYEAR?", "from {day} to {day2} {month} {year}"),
        ("(?:am )?DAY\\.? ?(?:-|–|bis|/) ?DAY2\\.? MONTHYEAR?", "{day} to {day2} {month} {year}"),
        ("(?:am )?DAY\\.? und (?:am )?DAY2\\.? MONTHYEAR?", "{day} {month} {year} and {day2} {month} {year}"),
        ("(?:am |den |der )?WEEKDAY,? (?:(?:den|dem|der) )?(?=\\d{1,2}\\. ?[\\da-zäö])", "{weekday} "),
        ("(?:am |an dem |den |dem |der )?DAY\\.? ?(?:des )?MONTHYEAR?", "{day} {month} {year}"),
        ("(?:am |den |dem |der )?DAY([./-])MONTHNUMBER\\2(?P<year>\\d{4}|\\d\\d)(?!\\d|[./-]\\d)",
         "{day} {monthnumber} {year}"),
        (
            ("(?:am |den |dem |der |(?<=vom )|(?<=bis )|(?<=zum )|(?<=ab )|(?<=seit )|"
             "(?<=day ))DAY\\.MONTHNUMBER\\.?(?!\\.?\\d| ?uhr)"),
            "{day} {monthnumber}",
        ),
        ("(?P<day>0[1-9]|[12]\\d|3[01])\\.(?P<monthnumber>0[1-9]|1[0-2])\\.(?!\\d)", "{day} {monthnumber}"),
        ("(?:am )?WEEKDAY,? (?:den |dem |der )?(?P<day>[12]?\\d|3[01])\\.(?!\\d)", "{weekday} the {day}th"),
        ("am DAY\\.?(?= (?-i:[a-zäöü])|\\s*[.,;:!?)]|\\s*$)(?! uhr)", "on the {day}th of the month"),
        # months
        ("(?:im |in )?(?:monat )?REL MONTH", "{rel} {month}"),
        ("(?:(?P<third>anfang|mitte|ende) )MONTHYEAR?", "{third} {month} {year}"),
        ("(?:im |ab )(?:monat )?MONTHYEAR?", "in {month} {year}"),
        ("MONTHYEAR", "{month} {year}"),
        ("seit MONTH", "since {month}"),
        ("bis (?:einschließlich )?MONTH", "until {month}"),
        ("(?:im )?REL SEASON", "{rel} {season}"),
        ("(?:im )?SEASON (?:des jahres )?YEAR", "{season} {year}"),
        # weekdays
        ("(?:am )?WEEKDAY,? (?:in der |der |die )?REL woche", "{weekday} {rel} week"),
        ("REL woche,? (?:am )?WEEKDAY", "{weekday} {rel} week"),
        ("(?:am |an )?REL WEEKDAY(?: ?PART)?", "{rel} {weekday} {part}"),
        (f"{_TITLE}am WEEKDAY(?: ?PART)?", "on {weekday} {part}"),
        (f"{_TITLE}(?=(?-i:[MDFS]))WEEKDAY(?: ?PART)?(?! (?:bis|-|–) )", "{weekday} {part}"),
        # weeks, months and years
        ("(?:die |der |das |am |in der )?vorletzte[mnrs]? UNIT", "the {unit} before last"),
        ("(?:die |der |das |am |in der )?übernächste[mnrs]? UNIT", "the {unit} after next"),
        (
            ("(?:in der |im |am |die |der |das )?REL (?P<unit>woche|monate?s?|jahre?s?|wochenendes?|quartals?|"
             "jahrzehnts?)(?! (?:der|des) )"),
            "{rel} {unit}",
        ),
        ("(?:im jahre? )YEAR", "in {year}"),
        ("von (?P<year>\\d{4}) bis (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("zwischen (?P<year>\\d{4}) und (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("(?:in )?den (?P<decade>\\d0)er(?:n|-jahren| jahren)?", "the {decade}s"),
        # what is around a date
        ("(?<=day|row) PART", " {part}"),
        ("(?:(?:in )?der |die )?woche (?:vom|ab) DATE", "the week of "),
        ("(?:am|übers) wochenende", "on the weekend"),
        ("(?:am )?THIRD (?:des |der )(?P<unit>woche|monats|jahres)", "{third} this {unit}"),
        ("(?:am )?THIRD (?:des |der |dieses )?DATE", "{third} "),
        ("(?:vom?|zwischen)(?: dem)? DATE(?=[^.!?\\n]{3,30}? (?:bis|und) )", "from "),
        ("und dem (?=\\d{1,2} [A-Z])", "and "),
        ("seit(?: dem| der)? DATE", "since "),
        ("bis(?: zum| zur)?(?: einschließlich)? DATE", "until "),
        ("vor(?: dem| der)? DATE", "before "),
        ("nach(?: dem| der)? DATE", "after "),
    ),
)  # fmt: skip
