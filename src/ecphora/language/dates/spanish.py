"""Spanish phrases of time and the English that the grammar of ``dates`` parses.

Conventions: "el próximo viernes" is the next one. A weekday counts with an article or next to a date, so that the
surname Domingo is none. "Tarde" is the afternoon.
"""

from .phrases import DateWords, PhraseRules, english_months, english_weekdays, numbered

_NUMBERS = numbered(
    "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete "
    "veintiocho veintinueve treinta"
)

_WORDS = DateWords(
    months=english_months(
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre|setiembre|sept\\.",
        "octubre", "noviembre", "diciembre",
    ),
    weekdays=english_weekdays("lunes", "martes", "mi[eé]rcoles", "jueves", "viernes", "s[aá]bado", "domingo"),
    numbers=_NUMBERS | {"un|una": 1, "un par de": 2, "unos|unas|algunos|algunas|varios|varias|pocos|pocas": 0,
                        "unos cuantos|unas cuantas|unos pocos|unas pocas": 0},
    days=_NUMBERS | {"primero|1\\.?º|1\\.?er": 1, "treinta y uno": 31},
    units={
        "minutos?": "minute", "horas?": "hour", "d[ií]as?": "day", "semanas?": "week", "mes(?:es)?": "month",
        "años?": "year", "fin(?:es)? de semana": "weekend", "trimestres?": "quarter", "d[ée]cadas?": "decade",
        "quincenas?": "fortnight", "noches?": "night", "siglos?": "century",
    },
    relatives={
        "pasad[oa]s?|últim[oa]s?|anterior": "last", "est[ea]": "this", "próxim[oa]s?|que viene|que entra": "next",
    },
    parts={"mañana": "morning", "tarde": "afternoon", "noche": "night", "madrugada": "morning",
           "mediodía": "afternoon"},
    thirds={"(?:a )?(?:principios?|comienzos?|inicios?)": "early", "(?:a )?mediados": "mid",
            "(?:a )?(?:finales|fines|final|fin)": "late"},
    seasons={"primavera": "spring", "verano": "summer", "otoño": "autumn", "invierno": "winter"},
    year=r"(?:,?(?: del?| del año)? (?P<year>\d{4}|[’']\d\d)(?!\w|[.,]\d))",
)  # fmt: skip

_AFTER = "(?P<rel>pasad[oa]|próxim[oa]|que viene|que entra)"
_BEFORE = "(?P<rel>pasad[oa]|últim[oa]|próxim[oa]|est[ea])"
_ABOUT = "(?:unos |unas |casi |aproximadamente |más de |exactamente )?"
_PART = "(?:(?: por la| en la| de la| a la)? PART)?"

RULES = PhraseRules(
    _WORDS,
    (
        ("hoy hace COUNT UNIT", "{count} {unit}s ago today"),
        ("hace (?:hoy|exactamente) COUNT UNIT", "{count} {unit}s ago today"),
        ("anteayer|antes de ayer|antier|anteanoche", "the day before yesterday"),
        ("pasado mañana", "the day after tomorrow"),
        ("anoche|(?:la )?noche pasada|(?:la )?pasada noche", "last night"),
        ("ayer (?:por|en|a) la noche", "last night"),
        ("esta mañana|hoy (?:por|en) la mañana", "this morning"),
        ("esta tarde|hoy (?:por|en) la tarde", "this afternoon"),
        ("esta noche|hoy (?:por|en) la noche", "tonight"),
        ("mañana (?:por|en|a) la mañana", "tomorrow morning"),
        ("ayer", "yesterday"),
        ("hoy(?! en día)", "today"),
        ("(?<!la )(?<!una )(?<!cada )(?<!media )(?<!las )(?<!de la )(?<!turno de )(?<!turnos de )mañana", "tomorrow"),
        ("(?:el )?otro día", "the other day"),
        ("hace medio año", "6 months ago"),
        ("hace (?:quince|15) días", "2 weeks ago"),
        (f"hace {_ABOUT}COUNT(?: o | a | ?[-–] ?)COUNT2 UNIT", "{count} to {count2} {unit}s ago"),
        (f"hace (?:como |ya )?{_ABOUT}COUNT UNIT(?! de )", "{count} {unit}s ago"),
        ("COUNT UNIT atrás", "{count} {unit}s ago"),
        ("dentro de COUNT UNIT", "{count} {unit}s from now"),
        ("(?:(?:en |durante )?(?:los|las) )?(?:últim[oa]s|pasad[oa]s) COUNT UNIT", "the past {count} {unit}s"),
        ("(?:(?:en |durante )?(?:los|las) )?próxim[oa]s COUNT UNIT", "the next {count} {unit}s"),
        # days
        ("(?:en |el )?(?:DAY de )?MONTH (?:del?|el) año (?:pasado|anterior)", "{day} {month} last year"),
        ("(?:en |el )?(?:DAY de )?MONTH (?:del?|el) (?:año que viene|próximo año|año próximo)",
         "{day} {month} next year"),
        ("(?:del?|desde el) (?:día )?DAY (?:al?|hasta el) (?:día )?DAY2(?: de)? MONTHYEAR?",
         "from {day} to {day2} {month} {year}"),
        ("entre (?:el |los días )?(?:día )?DAY y (?:el )?(?:día )?DAY2(?: de)? MONTHYEAR?",
         "from {day} to {day2} {month} {year}"),
        ("(?:el |los días )?FIRST ?(?:-|–|al) ?LAST(?: de)? MONTHYEAR?", "{day} to {day2} {month} {year}"),
        ("(?:el |los días )?FIRST y (?:el )?LAST(?: de)? MONTHYEAR?", "{day} {month} {year} and {day2} {month} {year}"),
        ("(?:el )?WEEKDAY,? (?:(?:el|día) ){0,2}(?=DAY(?: de)? MONTH|\\d{1,2}[/.-]\\d)", "{weekday} "),
        ("(?:el |(?<=del )|(?<=al ))?(?:día )?DAY[ºª°]?(?: de)? MONTHYEAR?", "{day} {month} {year}"),
        ("(?:el |día ){0,2}DAY([./-])MONTHNUMBER\\2(?P<year>\\d{4}|\\d\\d)(?!\\d|[./-]\\d)",
         "{day} {monthnumber} {year}"),
        ("(?:(?:el |del |al )(?:día )?|(?<=day ))DAY/MONTHNUMBER(?!/|\\d)", "{day} {monthnumber}"),
        (
            ("(?:(?:el|del|al) )?WEEKDAY,? (?:día )?(?P<day>[12]?\\d|3[01])(?!\\d|[.,:/]\\d| (?:personas|horas|"
             "euros))"),
            "{weekday} the {day}th",
        ),
        ("(?:el )?día DAY(?! de | horas)", "on the {day}th of the month"),
        ("el (?P<day>[12]\\d|3[01]|veinti\\w+|treinta(?: y uno)?)(?=\\s*[.,;:!?)]|\\s*$)",
         "on the {day}th of the month"),
        # months
        ("(?:en |el )?(?:el )?(?:mes de )?MONTH (?:pasado)", "last {month}"),
        ("(?:en |el )?(?:el )?pasado (?:mes de )?MONTH", "last {month}"),
        ("(?:en |el )?(?:el )?próximo (?:mes de )?MONTH", "next {month}"),
        ("(?:en |el )?(?:el )?(?:mes de )?MONTH (?:próximo|que viene)", "next {month}"),
        ("este (?:mes de )?MONTH", "this {month}"),
        ("THIRD (?:de |del )(?:mes de )?MONTHYEAR?", "{third} {month} {year}"),
        ("(?:en |a partir de )(?:el )?(?:mes de )?MONTHYEAR?", "in {month} {year}"),
        ("MONTHYEAR", "{month} {year}"),
        ("desde (?:el )?(?:mes de )?MONTH", "since {month}"),
        ("hasta (?:el )?(?:mes de )?MONTH", "until {month}"),
        (f"(?:el |la |en el |en la )?SEASON {_AFTER}", "{rel} {season}"),
        (f"(?:el |la |en el |en la )?{_BEFORE} SEASON", "{rel} {season}"),
        ("(?:en )?(?:el |la )?SEASONYEAR", "{season} {year}"),
        # weekdays
        ("(?:el )?WEEKDAY (?:de )?(?:la )?semana pasada", "{weekday} last week"),
        ("(?:el )?WEEKDAY (?:de )?(?:la )?(?:semana que viene|próxima semana|semana próxima)", "{weekday} next week"),
        ("(?:el )?WEEKDAY (?:de )?esta semana", "{weekday} this week"),
        (f"(?:el )?WEEKDAY (?:pasado|anterior){_PART}", "last {weekday} {part}"),
        (f"(?:el )?WEEKDAY (?:próximo|que viene|que entra){_PART}", "coming {weekday} {part}"),
        (f"(?:el )?(?:pasado|último) WEEKDAY{_PART}(?! de)", "last {weekday} {part}"),
        (f"(?:el )?próximo WEEKDAY{_PART}", "coming {weekday} {part}"),
        (f"este WEEKDAY{_PART}", "this {weekday} {part}"),
        (f"(?<!todo )(?<!cada )(?:el|del|al) WEEKDAY{_PART}(?! (?:santo|de ramos|de resurrección))",
         "on {weekday} {part}"),
        # weeks, months and years
        ("(?:en )?la semana antepasada|(?:en )?la semana anterior a la pasada", "the week before last"),
        ("(?:en )?el (?P<unit>mes|año) antepasado", "the {unit} before last"),
        (
            ("(?:en )?(?:el |la )?(?P<unit>semana|mes|año|fin de semana|trimestre|década|siglo) (?P<rel>pasad[oa]|"
             "próxim[oa]|que viene|que entra)(?! mañana)"),
            "{rel} {unit}",
        ),
        (
            ("(?:en )?(?:el |la )?(?P<rel>pasad[oa]|últim[oa]|próxim[oa]) (?P<unit>semana|mes|año|fin de semana|"
             "trimestre|década|siglo)(?! del? )"),
            "{rel} {unit}",
        ),
        ("(?:en )?(?P<rel>est[ea]) (?P<unit>semana|mes|año|fin de semana|trimestre|década|siglo)", "{rel} {unit}"),
        ("(?:en )?(?:el )?año (?:de )?(?P<year>\\d{4})", "in {year}"),
        ("en (?P<year>(?:1[5-9]|20)\\d\\d)(?! \\w+s\\b| ?%|[.,]\\d)", "in {year}"),
        ("(?:de|desde) (?P<year>\\d{4}) (?:a|hasta) (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("entre (?P<year>\\d{4}) y (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("(?:en )?(?:los )?años (?:'|’)?(?P<decade>\\d0)", "the {decade}s"),
        # what is around a date
        ("(?<=day|row) (?:por la |en la |a la |de la )PART", " {part}"),
        ("(?:en )?(?:la )?semana del DATE", "the week of "),
        ("(?:en )?(?:el )?fin de semana del DATE", "the weekend of "),
        ("(?:en |durante )?el fin de semana(?! d)", "on the weekend"),
        ("THIRD de(?:l| la)? (?P<unit>semana|mes|año)", "{third} this {unit}"),
        ("(?:a |al )?THIRD (?:del? |de la )?DATE", "{third} "),
        ("(?:del|desde(?: el)?) DATE(?=[^.!?\\n]{3,30}? (?:al|hasta) )", "from "),
        ("(?:al|y el) (?=\\d{1,2} [A-Z])", "to "),
        ("entre(?: el| la)? DATE(?=[^.!?\\n]{3,30}? (?:y|to) )", "between "),
        ("y (?=(?:el |la )?\\d{1,2} [A-Z])", "and "),
        ("a partir de(?:l| la)? DATE", " "),
        ("desde(?: el| la)? DATE", "since "),
        ("hasta(?: el| la)? DATE", "until "),
        ("antes de(?:l| la)? DATE", "before "),
        ("después de(?:l| la)? DATE", "after "),
    ),
)  # fmt: skip
