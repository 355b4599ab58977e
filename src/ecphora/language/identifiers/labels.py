"""Words that label a number as an identifier: "port 8080", "Rechnung 4471", "端口8080", ``"order_id": 88123``.

Numbers with five digits or more need no label. Short ones do, since most short numbers in a text are counts.
"""

import re
from enum import Enum, auto

from ...model.lazy import lazy_pattern

LABELS = frozenset(
    """
    port order invoice ticket issue room flight gate bug incident case pr mr pull merge build job task account
    customer client pin code error locker bus tram train platform track seat apartment apt flat suite unit box
    lot batch serial article sku contract policy license licence permit passport booking reservation
    confirmation reference ref shipment parcel tracking channel shard node server partition commit revision rfc
    request transaction payment receipt quote po slot route highway zip postcode extension ext patient student
    employee member docket key id uid gid pid user record row asset tag version release phone telephone tel fax
    mobile cell password passwort passcode door bay aisle shelf bin vlan imei isbn ssn vin iban bic event
    session exit bestellung auftrag rechnung zimmer raum flug gleis linie konto kunde vorgang aktenzeichen
    schließfach wohnung fehler vertrag sendung paket platz bus zug telefon handy kennung referenz meldung
    version fall postleitzahl plz poort bestelling factuur kamer vlucht lijn rekening faktura rum flyg
    beställning ordre værelse fly zamówienie pokój lot zgłoszenie sipariş fatura oda uçuş bağlantı cổng phòng
    pesanan kamar faktur porta commande facture chambre salle vol porte dossier compte billet quai ligne
    téléphone erreur puerto pedido factura habitación sala vuelo puerta cuenta caso línea teléfono código error
    incidencia fatura quarto voo conta linha código erro ordine fattura stanza camera volo conto linea telefono
    codice errore biglietto comanda منفذ المنفذ طلب الطلب فاتورة الفاتورة غرفة الغرفة رحلة פורט הזמנה חשבונית
    חדר טיסה पोर्ट ऑर्डर कमरा उड़ान बिल θύρα παραγγελία τιμολόγιο δωμάτιο πτήση
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""Words for things that have numbers, without case."""
LABEL_STEMS = ("порт", "заказ", "счёт", "счет", "комнат", "рейс", "тикет", "заявк", "номер", "замовлен", "рахун")
"""Slavic words with many endings, by their beginnings."""
LABEL_ENDINGS = ("nummer", "number", "nummern", "numbers", "номер", "numero", "número", "numéro", "code")
"""Endings of compounds that label a number, such as Bestellnummer."""
UNSPACED_LABELS = tuple(
    """
    端口 ポート 포트 订单 訂單 订单号 注文 注文番号 주문 주문번호 发票 發票 请求书 請求書 송장 房间 房間
    部屋 号室 방 호실 航班 便 항공편 工单 工單 单号 單號 编号 編號 番号 번호 号码 號碼 电话 電話 전화
    账号 帳號 口座 密码 密碼 パスワード 暗証番号 비밀번호 错误 錯誤 エラー 오류 错误码 チケット 티켓 版本
    バージョン 버전 พอร์ต คำสั่งซื้อ ห้อง เที่ยวบิน
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""Labels in scripts without spaces."""
UNSPACED_LABELS_AFTER = (
    "端口",
    "ポート",
    "号端口",
    "番ポート",
    "포트",
    "番ポ",
    "号室",
    "호실",
    "号房",
    "號房",
    "号线",
    "번 포트",
)
"""Labels that follow their number."""
PHONE_LABELS = frozenset(
    """
    phone telephone tel fax mobile cell telefon handy téléphone telefono teléfono telefone call called calls calling
    hotline whatsapp sms rufnummer telefonnummer handynummer telefonnummern ring ruf anruf телефон телефона тел
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""Words for a telephone, before its number."""
UNSPACED_PHONE_LABELS = ("电话", "電話", "전화", "电话号码", "電話番号", "전화번호", "手机", "手机号", "携帯", "TEL")
"""Words for a telephone in scripts without spaces."""
AMOUNT_KEYS = frozenset(
    """
    amount total price count quantity qty size length duration ms seconds cost sum limit offset width height
    weight value balance score rate percent age year timestamp time date created updated bytes elapsed timeout
    betrag preis anzahl summe montant prix importe precio cantidad
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""Words of a key in JSON or a log whose number is an amount."""
GENERIC_MARKS = frozenset(
    """
    no nr num number nummer numero número numéro nº n° № # nro číslo numer sayı
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
"""Marks that label a number only together with a word for a thing, or if it has three digits."""
_CONNECTORS = frozenset(
    """
    is was are ist war lautet est es era è é was the der die das la le el is: είναι
    """.split()  # noqa: SIM905  # a list of a hundred lines is no clearer
)
_WINDOW = 64
"""How many characters before a number are searched for its label."""
_LAST_WORD = lazy_pattern(r"([^\W\d_][^\W\d]*(?:[-_][^\W\d]+)*|n[°º]|№|#)(\.?)[\s\"'`=:(\[{<*~]*\Z")
_UNSPACED_CONNECTORS = lazy_pattern(r"(?:[\s:=\"'`「『（(#]|是|为|為|は|が|の|는|은|이|가)+\Z")
_HUMP = lazy_pattern(r"(?<=[a-z0-9]{2})(?=[A-Z])")


class Label(Enum):
    """What stands before a number: a word for a thing with numbers, or for a telephone; a mark; a key of an amount."""

    THING = auto()
    PHONE = auto()
    MARK = auto()
    AMOUNT = auto()


def is_label(word: str) -> bool:
    """Whether a word names a thing that has numbers, in the singular or plural."""
    folded = word.casefold()
    if folded in LABELS or folded.startswith(LABEL_STEMS):
        return True
    if folded.endswith(LABEL_ENDINGS) and folded not in GENERIC_MARKS:
        return True
    return any(folded.endswith(end) and folded[: -len(end)] in LABELS for end in ("s", "n", "en", "es"))


def label_before(text: str, start: int) -> Label | None:
    """The label of a number that starts at a place of a text; None for none."""
    before = text[max(0, start - _WINDOW) : start]
    found = None
    for _ in range(4):
        match = _LAST_WORD.search(before)
        if match is None:
            break
        word = match[1].casefold()
        if word in GENERIC_MARKS and (match[2] or word not in {"no", "num"} or before[match.end(1) :].strip()):
            found = Label.MARK
        elif word not in _CONNECTORS:
            return _label_of_word(match[1]) or _unspaced_label(before) or found
        before = before[: match.start()]
    return _unspaced_label(text[max(0, start - _WINDOW) : start]) or found


def has_label_after(text: str, end: int) -> bool:
    """Whether a label in a script without spaces follows a number."""
    return text.startswith(UNSPACED_LABELS_AFTER, end + (text[end : end + 1] == " "))


def _label_of_word(word: str) -> Label | None:
    if word.casefold() in PHONE_LABELS:
        return Label.PHONE
    if is_label(word):
        return Label.THING
    parts = [part.casefold() for part in re.split(r"[-_]", _HUMP.sub("_", word))]
    if len(parts) > 1 and not AMOUNT_KEYS.isdisjoint(parts):
        return Label.AMOUNT
    if len(parts) == 1:
        return Label.AMOUNT if parts[0] in AMOUNT_KEYS else None
    return Label.THING if any(map(is_label, parts)) else None


def _unspaced_label(before: str) -> Label | None:
    if before.isascii():
        return None
    stripped = _UNSPACED_CONNECTORS.sub("", before)
    if stripped.endswith(UNSPACED_PHONE_LABELS):
        return Label.PHONE
    return Label.THING if stripped.endswith(UNSPACED_LABELS) or before.rstrip().endswith(UNSPACED_LABELS) else None
