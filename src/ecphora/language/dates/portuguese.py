"""Portuguese phrases of time and the English that the grammar of ``dates`` parses.

Conventions: "na próxima sexta" is the next one. "Segunda", "terça" and the like count as weekdays with "-feira", or
after "na" where no noun follows. "Tarde" is the afternoon, "à noite" the night.
"""

from .phrases import DateWords, PhraseRules, english_months, english_weekdays, numbered

_NUMBERS = numbered(
    "um dois três quatro cinco seis sete oito nove dez onze doze treze quatorze|catorze quinze dezesseis|dezasseis "
    "dezessete|dezassete dezoito dezenove|dezanove vinte"
)
_NUMBERS |= {f"vinte e {word}": 20 + value for word, value in list(_NUMBERS.items())[:9]}
_NUMBERS |= {"trinta": 30}

_WORDS = DateWords(
    months=english_months(
        "janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro",
        "dezembro",
    ),
    weekdays=english_weekdays(
        "segunda(?:[- ]feira)?", "terça(?:[- ]feira)?", "quarta(?:[- ]feira)?", "quinta(?:[- ]feira)?",
        "sexta(?:[- ]feira)?", "sábado", "domingo",
    ),
    numbers=_NUMBERS | {"uma": 1, "duas": 2, "um par de": 2, "uns|umas|alguns|algumas|vários|várias|poucos|poucas": 0},
    days=_NUMBERS | {"primeiro": 1, "trinta e um": 31},
    units={
        "minutos?": "minute", "horas?": "hour", "dias?": "day", "semanas?": "week", "m[eê]s(?:es)?": "month",
        "anos?": "year", "fi(?:m|ns) de semana|fim-de-semana": "weekend", "trimestres?": "quarter",
        "décadas?": "decade", "séculos?": "century", "quinzenas?": "fortnight", "noites?": "night",
    },
    relatives={
        "passad[oa]s?|últim[oa]s?|anterior": "last", "n?est[ea]|n?ess[ea]|deste|desta": "this",
        "próxim[oa]s?|que vem": "next",
    },
    parts={"manhã": "morning", "tarde": "afternoon", "noite": "night", "madrugada": "morning"},
    thirds={"(?:n?o )?(?:início|começo|princípio)": "early", "(?:em )?meados": "mid",
            "(?:n?o )?(?:final|fim|fins)": "late"},
    seasons={"primavera": "spring", "verão": "summer", "outono": "autumn", "inverno": "winter"},
    year=r"(?:,?(?: de| do ano de)? (?P<year>\d{4}|[’']\d\d)(?!\w|[.,]\d))",
)  # fmt: skip

_ABOUT = "(?:cerca de |uns |umas |quase |mais de |mais ou menos |aproximadamente )?"
_PART = "(?: (?:de|à|pela|da) PART)?"
_IN = "(?:na |no |nesta |neste |a |o |à |ao )?"
_LONG_WEEKDAY = "(?P<weekday>(?:segunda|terça|quarta|quinta|sexta)[- ]feira|sábado|domingo)"
_SHORT_END = (
    "(?=\\s*[.,;:!?)]|\\s*$| (?:às?|de manhã|e|eu|nós|ele|ela|eles|elas|a gente|com|que|vou|vamos|vai|fui|foi|tem|"
    "tenho|tive|teve|não|mas|por|para|depois|antes|fiz|passada|é) )"
)
_EACH = "(?<!toda )(?<!todo )(?<!cada )(?<!de )(?<!às )(?<!aos )(?<!à )(?<!plácido )(?<!santo )"

RULES = PhraseRules(
    _WORDS,
    (
        ("(?:faz|há) (?:hoje|exatamente) COUNT UNIT", "{count} {unit}s ago today"),
        ("hoje (?:faz|há) COUNT UNIT", "{count} {unit}s ago today"),
        ("anteontem|antes de ontem", "the day before yesterday"),
        ("depois de amanhã", "the day after tomorrow"),
        ("(?:n?a )?noite passada|ontem (?:à|de|pela) noite", "last night"),
        ("(?:n?esta manhã|hoje (?:de|pela) manhã)", "this morning"),
        ("(?:n?esta tarde|hoje (?:à|de) tarde)", "this afternoon"),
        ("(?:n?esta noite|hoje (?:à|de) noite)", "tonight"),
        ("ontem", "yesterday"),
        ("hoje(?! em dia)", "today"),
        ("amanhã", "tomorrow"),
        ("(?:n?o )?outro dia", "the other day"),
        ("(?:há|faz) meio ano", "6 months ago"),
        ("(?:há|faz) (?:quinze|15) dias", "2 weeks ago"),
        (f"(?:há|faz) {_ABOUT}COUNT(?: ou | a | ?[-–] ?)COUNT2 UNIT", "{count} to {count2} {unit}s ago"),
        (f"(?:há|faz) (?:já )?{_ABOUT}COUNT UNIT(?: atrás)?(?! de )", "{count} {unit}s ago"),
        ("COUNT UNIT atrás", "{count} {unit}s ago"),
        ("(?:daqui a|dentro de) COUNT UNIT", "{count} {unit}s from now"),
        ("(?:n?os |n?as )?(?:últim[oa]s|passad[oa]s) COUNT UNIT", "the past {count} {unit}s"),
        ("(?:n?os |n?as )?próxim[oa]s COUNT UNIT", "the next {count} {unit}s"),
        # days
        ("(?:em |no |a )?(?:dia )?(?:DAY de )?MONTH do ano passado", "{day} {month} last year"),
        ("(?:em |no |a )?(?:dia )?(?:DAY de )?MONTH do (?:ano que vem|próximo ano)", "{day} {month} next year"),
        ("(?:d[eo]|desde(?: o)?) (?:dia )?DAY (?:ao?|até o?) (?:dia )?DAY2(?: de)? MONTHYEAR?",
         "from {day} to {day2} {month} {year}"),
        ("entre (?:os dias |o dia |o )?DAY e (?:o dia |o )?DAY2(?: de)? MONTHYEAR?",
         "from {day} to {day2} {month} {year}"),
        ("(?:n?os dias )?FIRST ?(?:-|–|a) ?LAST(?: de)? MONTHYEAR?", "{day} to {day2} {month} {year}"),
        ("(?:n?os dias )?FIRST e LAST(?: de)? MONTHYEAR?", "{day} {month} {year} and {day2} {month} {year}"),
        ("(?:na |no )?WEEKDAY,? (?:no |dia ){0,2}(?=DAYº?(?: de)? MONTH|\\d{1,2}[/.-]\\d)", "{weekday} "),
        ("(?:em |no |o )?(?:dia )?DAY[ºª°]?(?: de)? MONTHYEAR?", "{day} {month} {year}"),
        ("(?:no |em |dia ){0,2}DAY([./-])MONTHNUMBER\\2(?P<year>\\d{4}|\\d\\d)(?!\\d|[./-]\\d)",
         "{day} {monthnumber} {year}"),
        ("(?:(?:no |o |ao )?dia |em |(?<=day ))DAY/MONTHNUMBER(?!/|\\d)", "{day} {monthnumber}"),
        (
            (f"(?:na |no |da |do )?{_LONG_WEEKDAY},? (?:dia )?(?P<day>[12]?\\d|3[01])(?!\\d|[.,:/h]\\d| ?h|"
             " (?:pessoas|horas|euros|reais|km))"),
            "{weekday} the {day}th",
        ),
        ("(?:no |o )?dia DAY(?! de | horas)", "on the {day}th of the month"),
        # months
        ("(?:em |no )?(?:mês de )?MONTH (?:passado|último)", "last {month}"),
        ("(?:em |no )?(?:último|passado) (?:mês de )?MONTH", "last {month}"),
        ("(?:em |no )?(?:mês de )?MONTH (?:próximo|que vem)", "next {month}"),
        ("(?:em |no )?próximo (?:mês de )?MONTH", "next {month}"),
        ("THIRD (?:de |do )(?:mês de )?MONTHYEAR?", "{third} {month} {year}"),
        ("(?:em |no mês de |a partir de )MONTHYEAR?", "in {month} {year}"),
        ("MONTHYEAR", "{month} {year}"),
        ("desde (?:o mês de )?MONTH", "since {month}"),
        ("até (?:o mês de )?MONTH", "until {month}"),
        (f"{_IN}SEASON (?P<rel>passad[oa]|que vem|próxim[oa])", "{rel} {season}"),
        (f"{_IN}(?P<rel>últim[oa]|n?est[ea]|próxim[oa]) SEASON", "{rel} {season}"),
        (f"{_IN}SEASONYEAR", "{season} {year}"),
        # weekdays
        (f"{_IN}WEEKDAY (?:da )?semana passada", "{weekday} last week"),
        (f"{_IN}WEEKDAY (?:da )?(?:semana que vem|próxima semana)", "{weekday} next week"),
        (f"{_IN}WEEKDAY (?:d?esta )semana", "{weekday} this week"),
        (f"{_IN}WEEKDAY passad[oa]{_PART}", "last {weekday} {part}"),
        (f"{_IN}WEEKDAY (?:que vem|próxim[oa]){_PART}", "coming {weekday} {part}"),
        (f"{_IN}(?:últim[oa]|passad[oa]) WEEKDAY{_PART}(?! (?:vez|parte))", "last {weekday} {part}"),
        (f"{_IN}próxim[oa] WEEKDAY{_PART}", "coming {weekday} {part}"),
        (f"n?est[ea] {_LONG_WEEKDAY}{_PART}", "this {weekday} {part}"),
        (f"(?:na |no |da |do |nesta |neste ){_LONG_WEEKDAY}{_PART}", "on {weekday} {part}"),
        (f"{_EACH}(?<! a )(?<! e ){_LONG_WEEKDAY}{_PART}(?! a |, | e )", "on {weekday} {part}"),
        ("(?:na )?WEEKDAY (?:de|à|pela) PART", "on {weekday} {part}"),
        (f"na WEEKDAY{_SHORT_END}", "on {weekday}"),
        # weeks, months and years
        ("(?:na |no |a |o )?(?P<unit>semana|mês|ano|fim de semana) retrasad[oa]", "the {unit} before last"),
        ("(?:na |no |a |o )?penúltim[oa] (?P<unit>semana|mês|ano)", "the {unit} before last"),
        (
            (f"{_IN}(?P<unit>semana|mês|ano|fim de semana|fim-de-semana|trimestre|década|"
             "século) (?P<rel>passad[oa]|que vem|próxim[oa])"),
            "{rel} {unit}",
        ),
        (
            (f"{_IN}(?P<rel>passad[oa]|últim[oa]|próxim[oa]) (?P<unit>semana|mês|ano|fim de semana|fim-de-semana|"
             "trimestre|década|século)(?! (?:é|d[eoa]) )"),
            "{rel} {unit}",
        ),
        ("(?P<rel>n?est[ea]|deste|desta) (?P<unit>semana|mês|ano|fim de semana|fim-de-semana|trimestre|década)",
         "{rel} {unit}"),
        ("(?:no |em )?(?:o )?ano (?:de )?(?P<year>\\d{4})", "in {year}"),
        ("em (?P<year>(?:1[5-9]|20)\\d\\d)(?! \\w+s\\b| ?%|[.,]\\d)", "in {year}"),
        ("de (?P<year>\\d{4}) a (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("entre (?P<year>\\d{4}) e (?P<year2>\\d{4})", "from {year} to {year2}"),
        ("(?:n?os )?anos (?:'|’)?(?P<decade>\\d0)", "the {decade}s"),
        # what is around a date
        ("(?<=day|row) (?:de |à |pela |da )PART", " {part}"),
        ("(?:n?a )?semana d[eo] DATE", "the week of "),
        ("(?:n?o )?fim[ -]de[ -]semana d[eo] DATE", "the weekend of "),
        ("n?o fim[ -]de[ -]semana(?! d)", "on the weekend"),
        ("THIRD d[eoa] (?P<unit>semana|mês|ano)", "{third} this {unit}"),
        ("THIRD (?:d[eoa] |desta |deste )?DATE", "{third} "),
        ("(?:de|do|desde)(?: o)? DATE(?=[^.!?\\n]{3,30}? (?:a|ao|até) )", "from "),
        ("(?:a|ao|até o) (?=\\d{1,2} [A-Z])", "to "),
        ("entre(?: o| a)? DATE(?=[^.!?\\n]{3,30}? (?:e|to) )", "between "),
        ("e (?=(?:o )?\\d{1,2} [A-Z])", "and "),
        ("a partir d[eoa] DATE", " "),
        ("desde(?: o| a)? DATE", "since "),
        ("até(?: o| a| ao| à)? DATE", "until "),
        ("antes d(?:e|o|a) DATE", "before "),
        ("depois d(?:e|o|a) DATE", "after "),
    ),
)  # fmt: skip
