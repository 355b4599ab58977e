"""Plain statements that changed, asked about at once: ``python benchmarks/present_state.py [--ms N] [--consolidate]``.

Each memory has seven short texts without a speaker, one a month: a fact, a later one that ends it, and five that have
nothing to do with it. The question has the words of the outdated fact more often than those of the new one. A line for
each language: in how many memories the new fact is first, and the outdated one.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from ecphora import Memory

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
        ("I live in Lisbon.", "I moved to Porto.", "Where do I live?"),
        ("My car is a red Golf.", "I sold the Golf and bought a Yaris.", "What is my car?"),
        ("My dentist is Dr. Wu.", "I switched to another dentist, Dr. Ames.", "Who is my dentist?"),
        ("My phone number is 555-1234.", "New phone number: 555-9876.", "What is my phone number?"),
        ("I work at Acme.", "I started at Globex this week.", "Where do I work?"),
        ("My boss is Carla.", "Carla left, Ivan leads the team now.", "Who is my boss?"),
        ("My gym is FitOne.", "I left FitOne and go to Boulder Hall.", "Which gym do I go to?"),
        ("The wifi password is tulip7.", "I changed the wifi password to rose12.", "What is the wifi password?"),
    ),
    "de": (
        ("Ich wohne in Bonn.", "Ich bin nach Kiel gezogen.", "Wo wohne ich?"),
        ("Mein Auto ist ein roter Golf.", "Den Golf habe ich verkauft, jetzt fahre ich Yaris.", "Was ist mein Auto?"),
        ("Mein Zahnarzt ist Dr. Weiß.", "Neuer Zahnarzt: Dr. Ahrens.", "Wer ist mein Zahnarzt?"),
        ("Ich arbeite bei Acme.", "Seit Montag arbeite ich bei Globex.", "Wo arbeite ich?"),
        ("Meine Chefin ist Carla.", "Carla ist weg, Ivan leitet jetzt das Team.", "Wer ist meine Chefin?"),
    ),
    "es": (
        ("Vivo en Sevilla.", "Me mudé a Bilbao.", "¿Dónde vivo?"),
        ("Mi coche es un Golf rojo.", "Vendí el Golf y compré un Yaris.", "¿Cuál es mi coche?"),
        ("Mi dentista es el doctor Gil.", "Cambié de dentista, ahora voy a la doctora Ros.", "¿Quién es mi dentista?"),
        ("Trabajo en Acme.", "Desde el lunes trabajo en Globex.", "¿Dónde trabajo?"),
        ("Mi jefa es Carla.", "Carla se fue, ahora Iván dirige el equipo.", "¿Quién es mi jefa?"),
    ),
    "fr": (
        ("J'habite à Lyon.", "J'ai déménagé à Nantes.", "Où est-ce que j'habite ?"),
        ("Ma voiture est une Golf rouge.", "J'ai vendu la Golf et acheté une Yaris.", "Quelle est ma voiture ?"),
        ("Mon dentiste est le docteur Roy.", "Nouveau dentiste : le docteur Aubin.", "Qui est mon dentiste ?"),
        ("Je travaille chez Acme.", "Depuis lundi je travaille chez Globex.", "Où est-ce que je travaille ?"),
        ("Ma cheffe est Carla.", "Carla est partie, Ivan dirige l'équipe.", "Qui est ma cheffe ?"),
    ),
    "ja": (
        ("大阪に住んでいます。", "京都に引っ越しました。", "どこに住んでいますか？"),
        ("車は赤いゴルフです。", "ゴルフを売ってヤリスを買いました。", "車は何ですか？"),
        ("歯医者は田中先生です。", "歯医者を森先生に変えました。", "歯医者は誰ですか？"),
        ("アクメで働いています。", "月曜からグローブで働いています。", "どこで働いていますか？"),
        ("上司は佐藤さんです。", "佐藤さんが辞めて、今は林さんが上司です。", "上司は誰ですか？"),
    ),
    "zh": (
        ("我住在上海。", "我搬到杭州了。", "我住在哪里？"),
        ("我的车是红色的高尔夫。", "高尔夫卖了，买了一辆雅力士。", "我的车是什么？"),
        ("我的牙医是王医生。", "我换了牙医，现在是李医生。", "我的牙医是谁？"),
        ("我在阿克姆上班。", "从周一起我在环球上班。", "我在哪里上班？"),
        ("我的上司是陈姐。", "陈姐走了，现在小林带团队。", "我的上司是谁？"),
    ),
}


def first_text(change: tuple[str, str, str], others: tuple[str, ...], milliseconds: float, *, consolidate: bool) -> str:
    """The text of the first hit for the question of a change."""
    old, new, question = change
    texts = [others[0], old, *others[1:3], new, *others[3:]]
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db") as memory:
        for month, text in enumerate(texts, 1):
            memory.remember(text, happened_at=f"2026-{month:02}-01")
        if consolidate:
            memory.consolidate()
        return memory.recall(question, reading_ms=milliseconds)[0].text


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ms", type=float, default=1000, help="milliseconds for reading, after which some is unread")
    options.add_argument("--consolidate", action="store_true", help="consolidate before the question")
    arguments = options.parse_args()
    total: Counter[str] = Counter()
    for language, changes in CHANGES.items():
        counts: Counter[str] = Counter()
        for change in changes:
            found = first_text(change, OTHERS[language], arguments.ms, consolidate=arguments.consolidate)
            counts["new" if found == change[1] else "outdated" if found == change[0] else "other"] += 1
        total += counts
        print(
            f"{language}  new first {counts['new']} of {len(changes)}, outdated first {counts['outdated']}", flush=True
        )
    print(f"all new first {total['new']} of {total.total()}, outdated first {total['outdated']}")


if __name__ == "__main__":
    main()
