"""Quantities: amounts with a unit or a currency, such as 5 kg, 20 euros or $50, in one form for all spellings.

Amounts are compared as they are written: 1 kg and 1000 g are two quantities.
"""

import re
from collections.abc import Mapping

from ...model.lazy import lazy_pattern
from ..scripts import UNSPACED_CHARS

UNITS: Mapping[str, str] = {
    spelling: unit
    for unit, spellings in {
        "kg": "kg kgs kilo kilos kilogram kilograms kilogramm kilogramme kilogrammes kilogramo kilogramos quilo "
        "quilos кг 公斤 千克 キロ キログラム 킬로그램",
        "g": "g gram grams gramm gramme grammes gramo gramos г 克 グラム 그램",
        "mg": "mg milligram milligrams milligramm мг 毫克 ミリグラム",
        "t": "tonne tonnes tonnen ton tons tonelada toneladas 吨 トン",
        "lb": "lb lbs",
        "oz": "oz ounce ounces",
        "km": "km kms kilometer kilometers kilometre kilometres kilómetro kilómetros км 公里 千米 "
        "キロメートル 킬로미터",
        "m": "m meter meters metre metres metro metros mètre mètres м 米 メートル 미터",
        "cm": "cm centimeter centimeters centimetre centimetres zentimeter см 厘米 センチ センチメートル",
        "mm": "mm millimeter millimeters millimetre millimetres мм 毫米 ミリ",
        "mi": "mi mile miles meilen millas",
        "ft": "ft feet foot",
        "in": "inch inches",
        "l": "l liter liters litre litres litro litros л 升 リットル 리터",
        "ml": "ml milliliter milliliters millilitre millilitres мл 毫升 ミリリットル",
        "kwh": "kwh kilowatthour kilowatthours кВтч",
        "kw": "kw kilowatt kilowatts кВт",
        "w": "w watt watts вт",
        "v": "volt volts",
        "a": "amp amps ampere",
        "hz": "hz khz mhz ghz",
        "byte": "byte bytes",
        "kb": "kb kib",
        "mb": "mb mib",
        "gb": "gb gib",
        "tb": "tb tib",
        "ms": "ms millisecond milliseconds millisekunden мс 毫秒 ミリ秒",
        "s": "s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondi сек секунд секунды "
        "秒 초",
        "min": "min mins minute minutes minuten minuto minutos minuti мин минут минуты 分钟 分鐘 分間 분",
        "h": "h hr hrs hour hours stunde stunden heure heures hora horas ora ore час часа часов 小时 小時 時間 시간",
        "day": "day days tag tage tagen jour jours día días giorno giorni dia dias день дня дней 天 日間 일간",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane неделя недели "
        "недель 周 週間",
        "month": "month months monat monate monaten mois mes meses mese mesi месяц месяца месяцев 个月 か月 ヶ月 개월",
        "year": "year years yr yrs jahr jahre jahren ans année années año años anno anni ano anos год года лет 年間",
        "%": "% percent prozent pourcent pourcents procent процент процента процентов パーセント 퍼센트",
        "°c": "°c ℃ celsius",
        "°f": "°f ℉ fahrenheit",
        "eur": "€ eur euro euros евро 欧元 ユーロ 유로",
        "usd": "$ usd dollar dollars us$ dólares доллар доллара долларов 美元 ドル 달러",
        "gbp": "£ gbp quid 英镑 ポンド",
        "jpy": "¥ jpy yen 日元 円",
        "cny": "cny rmb yuan 元 块 人民币",
        "inr": "₹ inr rupee rupees рупий",
        "rub": "₽ rub рубль рубля рублей",
        "krw": "₩ krw 원",
        "chf": "chf franken",
        "pln": "pln zł",
        "sek": "sek",
        "brl": "brl r$ reais",
    }.items()
    for spelling in spellings.split()
}
"""The canonical unit of each spelling."""
CURRENCY_SIGNS = "€$£¥₹₽₩"
"""The signs that stand before or after an amount."""
MAX_QUANTITIES = 200
"""How many quantities of a text are read at most."""


def _alternatives() -> str:
    return "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))


_DIGIT = lazy_pattern(r"\d")
_NUMBER = r"\d{1,12}(?:[.,' \u00a0\u202f]\d{3}(?!\d)){0,4}(?:[.,]\d{1,6})?"
_CURRENCY_BEFORE = r"eur|usd|gbp|jpy|cny|inr|chf|rub|krw|us\$|r\$"
_NO_WORD_AFTER = rf"(?!(?![{UNSPACED_CHARS}])[^\W\d_])(?![\d_=])"
_UNIT_AFTER = lazy_pattern(rf"[ \u00a0\u202f-]?(?P<unit>{_alternatives()}){_NO_WORD_AFTER}", re.IGNORECASE)
_BEFORE = rf"(?P<sign>[{CURRENCY_SIGNS}]|(?<![a-z])(?:{_CURRENCY_BEFORE}))\s?"
_QUANTITY = lazy_pattern(rf"(?:{_BEFORE})?(?<![\d.,])(?P<number>{_NUMBER})", re.IGNORECASE)


def quantities(text: str) -> tuple[str, ...]:
    """The distinct quantities of a text in order, each as a number and a canonical unit: "5 kg", "20 eur"."""
    found: dict[str, None] = {}
    if _DIGIT.search(text) is None:  # the usual case
        return ()
    for match in _QUANTITY.finditer(text):
        sign, after = match["sign"], unit_after(text, match.end())
        unit = UNITS[sign.lower()] if sign else after
        if unit:
            found[f"{_normal_number(match['number'])} {unit}"] = None
            if len(found) >= MAX_QUANTITIES:
                break
    return tuple(found)


def unit_after(text: str, end: int) -> str | None:
    """The canonical unit that stands at a place of a text, with or without a space before it; None for none."""
    match = _UNIT_AFTER.match(text, end)
    return None if match is None else UNITS.get(match["unit"]) or UNITS.get(match["unit"].lower())


def is_currency(word: str) -> bool:
    """Whether a word is a unit of money that may stand before an amount, as in EUR 50."""
    return UNITS.get(word.lower(), "") in {"eur", "usd", "gbp", "jpy", "cny", "inr", "chf", "rub", "krw", "sek", "brl"}


def _normal_number(number: str) -> str:
    """A number without separators of thousands, with a decimal point, without zeros at its end."""
    whole, point, decimals = number, "", ""
    if (place := max(number.rfind(","), number.rfind("."))) >= 0 and len(number) - place != 4:
        whole, point, decimals = number[:place], ".", number[place + 1 :]
    whole = re.sub(r"\D", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}{point}{decimals}" if decimals else whole
