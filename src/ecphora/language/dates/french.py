"""French phrases of time and the English that the grammar of ``dates`` parses.

Conventions: "lundi" is one Monday, "le lundi" every Monday. "Vendredi prochain" is the next Friday. "Quinze jours" are
two weeks, "huit jours" one. "Été" and "mars" count only next to words that make them dates.
"""

from .phrases import DateWords, PhraseRules, english_months, english_weekdays, numbered

_NUMBERS = numbered(
    "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit "
    "dix-neuf vingt"
)
_NUMBERS |= {f"vingt-{word}": 20 + value for word, value in list(_NUMBERS.items())[1:9]}
_NUMBERS |= {"vingt[- ]et[- ]un": 21, "trente": 30}

_WORDS = DateWords(
    months=english_months(
        r"janvier|janv\b\.?", r"février|fevrier|févr?\b\.?", "mars", r"avril|avr\b\.?", "mai", "juin",
        r"juillet|juil\b\.?", "août|aout", r"septembre|sept\.", r"octobre|oct\b\.?", r"novembre|nov\b\.?",
        r"décembre|decembre|déc\b\.?",
    ),
    weekdays=english_weekdays("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    numbers=_NUMBERS | {"une": 1, "quelques": 0, "plusieurs": 0, "une paire de": 2},
    days=_NUMBERS | {"premier|1er|1ᵉʳ": 1, "trente[- ]et[- ]un": 31},
    units={
        "minutes?": "minute", "heures?": "hour", "jours?": "day", "semaines?": "week", "mois": "month",
        "ans?|années?": "year", "week-ends?|weekends?": "weekend", "trimestres?": "quarter", "décennies?": "decade",
        "siècles?": "century", "nuits?": "night", "quinzaines?": "fortnight",
    },
    relatives={
        "derni(?:er|ère)s?|passée?s?": "last", "cet?|cette": "this", "prochaine?s?|qui vient|à venir": "next",
    },
    parts={"matin|matinée": "morning", "midi|après-midi|aprèm": "afternoon", "soir|soirée": "evening", "nuit": "night"},
    thirds={"(?:au )?début": "early", "(?:à la |au )?(?:mi|milieu)": "mid", "(?:à la )?fin": "late"},
    seasons={"printemps": "spring", "été": "summer", "automne": "autumn", "hiver": "winter"},
    year=r"(?:,?(?: de| de l['’]année)? (?P<year>\d{4}|['’]\d\d)(?!\w|[.,]\d))",
)  # fmt: skip

_ABOUT = "(?:environ |à peu près |presque |près de |plus de |exactement |à peine |déjà )?"
_PART = "(?:(?: dans la| au| en)? PART)?"
_EACH = "(?<!le )(?<!les )(?<!chaque )(?<!du )(?<!un )(?<!des )(?<!de )(?<!au )(?<!premier )(?<!dernier )(?<!deuxième )"

RULES = PhraseRules(
    _WORDS,
    (
        (f"il y a {_ABOUT}COUNT UNIT (?:jour pour jour|aujourd['’]hui)", "{count} {unit}s ago today"),
        ("il y a exactement COUNT UNIT", "{count} {unit}s ago today"),
        ("avant[- ]hier", "the day before yesterday"),
        ("après-demain", "the day after tomorrow"),
        ("(?:la )?nuit (?:dernière|passée)", "last night"),
        ("hier (?:au )?soir", "yesterday evening"),
        ("d['’]hier", "yesterday"),
        ("hier", "yesterday"),
        ("ce matin", "this morning"),
        ("cet(?:te)? (?:après-midi|aprèm)", "this afternoon"),
        ("ce soir", "tonight"),
        ("cette nuit(?!-)", "this night"),
        ("aujourd['’]hui", "today"),
        ("demain", "tomorrow"),
        ("l['’]autre (?:jour|fois)", "the other day"),
        (f"il y a {_ABOUT}(?:quinze|15) jours", "2 weeks ago"),
        (f"il y a {_ABOUT}(?:huit|8) jours", "a week ago"),
        (f"il y a {_ABOUT}COUNT(?: ou | à | ?[-–] ?)COUNT2 UNIT", "{count} to {count2} {unit}s ago"),
        (f"il y a {_ABOUT}COUNT UNIT(?: de (?:ça|cela))?(?! d['’e])", "{count} {unit}s ago"),
        ("(?:dans|d['’]ici) COUNT UNIT", "{count} {unit}s from now"),
        ("(?:les|ces|des|au cours des|durant les) COUNT derni(?:er|ère)s UNIT", "the past {count} {unit}s"),
        ("(?:les|ces|des) COUNT prochaine?s UNIT", "the next {count} {unit}s"),
        # days
        ("(?:du|de) DAY(?:er)? (?:au|à) DAY2 MONTHYEAR?", "from {day} to {day2} {month} {year}"),
        ("entre (?:le )?DAY et (?:le )?DAY2 MONTHYEAR?", "from {day} to {day2} {month} {year}"),
        ("(?:les |le )?FIRST ?(?:-|–|au) ?LAST MONTHYEAR?", "{day} to {day2} {month} {year}"),
        ("(?:les |le )?FIRST et (?:le )?LAST MONTHYEAR?", "{day} {month} {year} and {day2} {month} {year}"),
        ("(?:le )?WEEKDAY,? (?:le )?(?=DAY(?:er)? MONTH|\\d{1,2}[/.-]\\d)", "{weekday} "),
        ("(?:le |(?<=du )|(?<=au ))?DAY(?:er)? (?:du mois de )?MONTHYEAR?", "{day} {month} {year}"),
        ("(?:le )?DAY([./-])MONTHNUMBER\\2(?P<year>\\d{4}|\\d\\d)(?!\\d|[./-]\\d)", "{day} {monthnumber} {year}"),
        ("(?:le |(?<=day ))DAY/MONTHNUMBER(?!/|\\d)", "{day} {monthnumber}"),
        ("(?:le |au |du )?WEEKDAY (?P<day>[12]?\\d|3[01])(?!\\d|[.,:/h]\\d| ?h| (?:personnes|heures|euros))",
         "{weekday} the {day}th"),
        ("le (?P<day>\\d{1,2}|vingt[- ]et[- ]un|vingt-\\w+)(?=\\s*[.,;:!?)]|\\s*$)(?![.,]\\d)",
         "on the {day}th of the month"),
        # months
        ("(?:en |au mois de |le )?(?:DAY )?MONTH (?:de )?(?:l['’]an|l['’]année) (?:dernier|dernière|passée?)",
         "{day} {month} last year"),
        ("(?:en |au mois de |le )?(?:DAY )?MONTH (?:de )?(?:l['’]an|l['’]année) prochaine?", "{day} {month} next year"),
        ("(?:en |au )?(?:mois de |mois d['’])?MONTH (?:dernier|passé)", "last {month}"),
        ("(?:en |au )?(?:mois de |mois d['’])?MONTH (?:prochain|qui vient)", "next {month}"),
        ("THIRD[- ](?:du mois de |du mois d['’]|de |d['’])?MONTHYEAR?", "{third} {month} {year}"),
        ("(?:en|au mois de|au mois d['’]|dès|courant|à partir de) ?MONTHYEAR?", "in {month} {year}"),
        ("MONTHYEAR", "{month} {year}"),
        ("depuis (?:le mois de )?MONTH", "since {month}"),
        ("jusqu['’](?:en|à|au mois de) MONTH", "until {month}"),
        ("(?:l['’]|au )?SEASON derni(?:er|ère)", "last {season}"),
        ("(?:l['’]|au )?SEASON prochaine?", "next {season}"),
        ("(?P<rel>cet?|cette) SEASON", "{rel} {season}"),
        ("(?:en |à l['’]|l['’]|au |le )SEASONYEAR", "{season} {year}"),
        # weekdays
        ("(?:le )?WEEKDAY (?:de )?(?:la )?semaine (?:dernière|passée)", "{weekday} last week"),
        ("(?:le )?WEEKDAY (?:de )?(?:la )?semaine prochaine", "{weekday} next week"),
        ("(?:le )?WEEKDAY (?:de )?cette semaine", "{weekday} this week"),
        (f"(?:le )?WEEKDAY (?:dernier|passé){_PART}", "last {weekday} {part}"),
        (f"(?:le )?WEEKDAY (?:prochain|qui vient|en huit){_PART}", "coming {weekday} {part}"),
        ("à WEEKDAY(?! )", "coming {weekday}"),
        (f"ce WEEKDAY{_PART}", "this {weekday} {part}"),
        (f"{_EACH}WEEKDAY{_PART}(?! (?:au|à|saint|gras|des?|du) )", "on {weekday} {part}"),
        # weeks, months and years
        ("(?:l['’]|la )avant-dernière (?P<unit>semaine|année)", "the {unit} before last"),
        ("l['’]avant-dernier (?P<unit>mois|week-end|weekend)", "the {unit} before last"),
        (
            ("(?:la |le |l['’])?(?P<unit>semaine|mois|année|an|week-end|weekend|trimestre|décennie|"
             "siècle) (?P<rel>derni(?:er|ère)|passée?|prochaine?|qui vient)"),
            "{rel} {unit}",
        ),
        (
            ("(?:en )?(?P<rel>cet?|cette) (?P<unit>semaine|mois|année|week-end|weekend|trimestre|"
             "décennie)(?:-ci)?(?!-)"),
            "{rel} {unit}",
        ),
        ("en l['’]an (?P<year>\\d{4})|(?:en )?l['’]année (?P<year2>\\d{4})", "in {year}{year2}"),
        ("en (?P<year>(?:1[5-9]|20)\\d\\d)(?! \\w+s\\b| ?%|[.,]\\d)", "in {year}"),
        ("de (?P<year>\\d{4}) à (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("entre (?P<year>\\d{4}) et (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("(?:dans )?les années (?:19)?(?P<decade>\\d0)", "the {decade}s"),
        # what is around a date
        ("(?<=day|row) (?:au |dans la |en )?PART", " {part}"),
        ("(?:la )?semaine du DATE", "the week of "),
        ("(?:le )?(?:week-end|weekend) du DATE", "the weekend of "),
        ("(?:pendant )?le (?:week-end|weekend)(?! d)", "on the weekend"),
        ("(?:en )?THIRD (?:de la |du |de l['’]|d['’]|de )(?P<unit>semaine|mois|année)", "{third} this {unit}"),
        ("THIRD (?:de |de la |du |d['’])?DATE", "{third} "),
        ("(?:du|de) DATE(?=[^.!?\\n]{3,30}? (?:au|à) )", "from "),
        ("(?:au|à) (?=\\d{1,2} [A-Z])", "to "),
        ("entre(?: le)? DATE(?=[^.!?\\n]{3,30}? (?:et|to) )", "between "),
        ("et (?=(?:le )?\\d{1,2} [A-Z])", "and "),
        ("à partir d[ue](?: la)? DATE", " "),
        ("depuis(?: le| la)? DATE", "since "),
        ("jusqu['’](?:en|à|au)(?: la| le)? DATE", "until "),
        ("avant(?: le| la)? DATE", "before "),
        ("après(?: le| la)? DATE", "after "),
    ),
)  # fmt: skip
