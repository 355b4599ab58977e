"""Plain statements that changed, asked about at once: ``python benchmarks/present_state.py [--consolidate]``.

Each memory has seven short texts without a speaker, one a month: a fact, a later one that ends it, and five that have
nothing to do with it. One question asks for the present state, with words of the outdated fact more often than of the
new one, and one for the former state. A line for each language: for how many questions of each kind the right fact is
first, and the other one.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ecphora import Memory

STATES = ("present", "former")
"""What the two questions about a change ask for."""
OTHERS = {
    "en": (
        "I had soup for lunch.",
        "It rained all day.",
        "The train was late.",
        "I read about bees.",
        "My back hurts.",
    ),
    "de": ("Mittags gab es Suppe.", "Es hat geregnet.", "Der Zug kam spät.", "Ich las von Bienen.", "Rücken tut weh."),
    "es": ("Comí sopa.", "Llovió todo el día.", "El tren llegó tarde.", "Leí sobre abejas.", "Me duele la espalda."),
    "fr": ("J'ai mangé une soupe.", "Il a plu.", "Le train a eu du retard.", "J'ai lu sur les abeilles.", "J'ai mal."),
    "ja": ("昼はスープだった。", "一日中雨だった。", "電車が遅れた。", "蜂の本を読んだ。", "背中が痛い。"),
    "zh": ("午饭喝了汤。", "下了一整天雨。", "火车晚点了。", "读了一本讲蜜蜂的书。", "背有点疼。"),
}
CHANGES = {
    "en": (
        ("I live in Lisbon.", "I moved to Porto.", "Where do I live?", "Where did I live before Porto?"),
        (
            "My car is a red Golf.",
            "I sold the Golf and bought a Yaris.",
            "What is my car?",
            "Which car did I have before the Yaris?",
        ),
        (
            "My dentist is Dr. Wu.",
            "I switched to another dentist, Dr. Ames.",
            "Who is my dentist?",
            "Who was my dentist before?",
        ),
        (
            "My phone number is 555-1234.",
            "New phone number: 555-9876.",
            "What is my phone number?",
            "What was my old phone number?",
        ),
        ("I work at Acme.", "I started at Globex this week.", "Where do I work?", "Where did I work until last week?"),
        (
            "My boss is Carla.",
            "Carla left, Ivan leads the team now.",
            "Who is my boss?",
            "Who was my boss before Ivan?",
        ),
        (
            "My gym is FitOne.",
            "I left FitOne and go to Boulder Hall.",
            "Which gym do I go to?",
            "Which gym did I use to go to?",
        ),
        (
            "The wifi password is tulip7.",
            "I changed the wifi password to rose12.",
            "What is the wifi password?",
            "What was the previous wifi password?",
        ),
    ),
    "de": (
        ("Ich wohne in Bonn.", "Ich bin nach Kiel gezogen.", "Wo wohne ich?", "Wo habe ich vor Kiel gewohnt?"),
        (
            "Mein Auto ist ein roter Golf.",
            "Den Golf habe ich verkauft, jetzt fahre ich Yaris.",
            "Was ist mein Auto?",
            "Welches Auto hatte ich früher?",
        ),
        (
            "Mein Zahnarzt ist Dr. Weiß.",
            "Neuer Zahnarzt: Dr. Ahrens.",
            "Wer ist mein Zahnarzt?",
            "Wer war vorher mein Zahnarzt?",
        ),
        (
            "Ich arbeite bei Acme.",
            "Seit Montag arbeite ich bei Globex.",
            "Wo arbeite ich?",
            "Wo habe ich früher gearbeitet?",
        ),
        (
            "Meine Chefin ist Carla.",
            "Carla ist weg, Ivan leitet jetzt das Team.",
            "Wer ist meine Chefin?",
            "Wer war meine Chefin vor Ivan?",
        ),
    ),
    "es": (
        ("Vivo en Sevilla.", "Me mudé a Bilbao.", "¿Dónde vivo?", "¿Dónde vivía antes de Bilbao?"),
        (
            "Mi coche es un Golf rojo.",
            "Vendí el Golf y compré un Yaris.",
            "¿Cuál es mi coche?",
            "¿Qué coche tenía antes?",
        ),
        (
            "Mi dentista es el doctor Gil.",
            "Cambié de dentista, ahora voy a la doctora Ros.",
            "¿Quién es mi dentista?",
            "¿Quién era mi dentista anterior?",
        ),
        ("Trabajo en Acme.", "Desde el lunes trabajo en Globex.", "¿Dónde trabajo?", "¿Dónde trabajaba antes?"),
        (
            "Mi jefa es Carla.",
            "Carla se fue, ahora Iván dirige el equipo.",
            "¿Quién es mi jefa?",
            "¿Quién era mi jefa antes de Iván?",
        ),
    ),
    "fr": (
        (
            "J'habite à Lyon.",
            "J'ai déménagé à Nantes.",
            "Où est-ce que j'habite ?",
            "Où est-ce que j'habitais avant Nantes ?",
        ),
        (
            "Ma voiture est une Golf rouge.",
            "J'ai vendu la Golf et acheté une Yaris.",
            "Quelle est ma voiture ?",
            "Quelle voiture avais-je avant ?",
        ),
        (
            "Mon dentiste est le docteur Roy.",
            "Nouveau dentiste : le docteur Aubin.",
            "Qui est mon dentiste ?",
            "Qui était mon ancien dentiste ?",
        ),
        (
            "Je travaille chez Acme.",
            "Depuis lundi je travaille chez Globex.",
            "Où est-ce que je travaille ?",
            "Où est-ce que je travaillais avant ?",
        ),
        (
            "Ma cheffe est Carla.",
            "Carla est partie, Ivan dirige l'équipe.",
            "Qui est ma cheffe ?",
            "Qui était ma cheffe avant Ivan ?",
        ),
    ),
    "ja": (
        ("大阪に住んでいます。", "京都に引っ越しました。", "どこに住んでいますか？", "以前はどこに住んでいましたか？"),
        ("車は赤いゴルフです。", "ゴルフを売ってヤリスを買いました。", "車は何ですか？", "前の車は何でしたか？"),
        ("歯医者は田中先生です。", "歯医者を森先生に変えました。", "歯医者は誰ですか？", "以前の歯医者は誰でしたか？"),
        (
            "アクメで働いています。",
            "月曜からグローブで働いています。",
            "どこで働いていますか？",
            "前はどこで働いていましたか？",
        ),
        (
            "上司は佐藤さんです。",
            "佐藤さんが辞めて、今は林さんが上司です。",
            "上司は誰ですか？",
            "林さんの前の上司は誰でしたか？",
        ),
    ),
    "zh": (
        ("我住在上海。", "我搬到杭州了。", "我住在哪里？", "搬家之前我住在哪里？"),
        ("我的车是红色的高尔夫。", "高尔夫卖了，买了一辆雅力士。", "我的车是什么？", "我以前的车是什么？"),
        ("我的牙医是王医生。", "我换了牙医，现在是李医生。", "我的牙医是谁？", "我原来的牙医是谁？"),
        ("我在阿克姆上班。", "从周一起我在环球上班。", "我在哪里上班？", "我以前在哪里上班？"),
        ("我的上司是陈姐。", "陈姐走了，现在小林带团队。", "我的上司是谁？", "我以前的上司是谁？"),
    ),
}


def first_texts(
    old: str, new: str, questions: Sequence[str], others: tuple[str, ...], *, consolidate: bool
) -> list[str]:
    """The text of the first hit for each question about a change."""
    texts = [others[0], old, *others[1:3], new, *others[3:]]
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", zone="UTC") as memory:
        for month, text in enumerate(texts, 1):
            memory.remember(text, happened_at=f"2026-{month:02}-01")
        if consolidate:
            memory.consolidate()
        return [memory.recall(question)[0].text for question in questions]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--consolidate", action="store_true", help="consolidate before the question")
    arguments = options.parse_args()
    total: Counter[str] = Counter()
    for language, changes in CHANGES.items():
        counts: Counter[str] = Counter(changes=len(changes))
        for old, new, *questions in changes:
            found = first_texts(old, new, questions, OTHERS[language], consolidate=arguments.consolidate)
            for state, text, right, wrong in zip(STATES, found, (new, old), (old, new), strict=True):
                counts[f"{state} right"] += text == right
                counts[f"{state} wrong"] += text == wrong
        total += counts
        print_counts(language, counts)
    print_counts("all", total)


def print_counts(name: str, counts: Counter[str]) -> None:
    parts = [f"{state}: right first {counts[f'{state} right']}, wrong {counts[f'{state} wrong']}" for state in STATES]
    print(f"{name:3} of {counts['changes']}", *parts, sep="; ", flush=True)


if __name__ == "__main__":
    main()
