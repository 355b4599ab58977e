"""Questions for the latest or the first of several, and what a question asks beside the times that it names."""

import pytest

from ecphora.language.dates.asked_time import asks_for_first, asks_for_latest, rest_of_question

LATEST = [
    "What is my latest blood pressure?",
    "When did I last see Ana?",
    "What was the last thing I bought?",
    "Where do I work now?",
    "What is Ana's current address?",
    "What was my most recent measurement?",
    "When was the last time I ran?",
    "Was war meine letzte Messung?",
    "Wo wohne ich jetzt?",
    "Was habe ich zuletzt gekauft?",
    "Was ist mein neuestes Fahrrad?",
    "Welche Adresse ist aktuell?",
    "Wann habe ich Ana das letzte Mal gesehen?",
    "¿Cuál es mi último peso?",
    "¿Cuál es mi dirección actual?",
    "¿Dónde vivo ahora?",
    "¿Cuándo fue la última vez que vi a Ana?",
    "Quel est mon dernier poids ?",
    "Quelle est mon adresse actuelle ?",
    "Quel est le rapport le plus récent ?",
    "Où est-ce que j'habite maintenant ?",
    "Qual é o meu último peso?",
    "Qual é o meu endereço atual?",
    "Onde moro agora?",
    "Quando foi a última vez que vi a Ana?",
    "我最近一次体检是什么时候？",
    "我最新的地址是什么？",
    "我现在住在哪里？",
    "私の最新の住所は？",
    "今の仕事は何ですか？",
    "最近買った本は？",
]
NEITHER = [
    "What did I do last week?",
    "What is my last name?",
    "What did I do last Monday?",
    "Where did I live before my last job?",
    "What was the last straw?",
    "Who did I meet by now and then?",
    "Was habe ich letzte Woche gemacht?",
    "¿Qué hice la semana pasada?",
    "Qu'ai-je fait la semaine dernière ?",
    "O que fiz na semana passada?",
    "我上周做了什么？",
    "先週何をしましたか？",
    "What did I do last night?",
    "How did I feel over the last three weeks?",
    "Who was my last boss?",
    "Lundi dernier, qu'ai-je fait ?",
    "Wo war ich letzten Sommer?",
    "What was the actual cost of the roof?",
]
FIRST = [
    "What was my first job?",
    "Where did I originally live?",
    "When did I first meet Ana?",
    "What was the earliest measurement?",
    "Was war mein erstes Fahrrad?",
    "Wo wohnte ich ursprünglich?",
    "Was habe ich zuerst gekauft?",
    "¿Cuál fue mi primer trabajo?",
    "¿Qué compré primero?",
    "Quel était mon premier travail ?",
    "Où habitais-je à l'origine ?",
    "Qual foi o meu primeiro emprego?",
    "Onde eu morava originalmente?",
    "我最初住在哪里？",
    "我第一次见安娜是什么时候？",
    "最初の仕事は何ですか？",
]
NOT_FIRST = [
    "What is my first name?",
    "Who lives on the first floor?",
    "What did I do on the first of March?",
    "Who gave first aid?",
    "Was geschah am ersten März?",
    "Wer wohnt im ersten Stock?",
    "¿Quién vive en el primer piso?",
    "¿Qué hice el primero de marzo?",
    "Qu'ai-je fait le premier mars ?",
    "Qui habite au premier étage ?",
    "Quem mora no primeiro andar?",
    "我一月做了什么？",
    "What did I do in the first week of May?",
    "Which first floor flat was it?",
    "What did the first lady say?",
]
ONLY_TIME = [
    "What did I do yesterday?",
    "What happened on 9 March?",
    "Was habe ich gestern gemacht?",
    "Was ist letzte Woche passiert?",
    "¿Qué hice ayer?",
    "¿Qué pasó el 9 de marzo?",
    "Qu'est-ce que j'ai fait hier ?",
    "Que s'est-il passé le 9 mars ?",
    "O que eu fiz ontem?",
    "O que aconteceu em 9 de março?",
    "我昨天做了什么？",
    "3月9日发生了什么？",
    "昨日は何をしましたか？",
    "3月9日に何がありましたか？",
    "Yesterday?",
    "What did we do last weekend?",
    "Where did I go on Monday?",
    "Anything new yesterday?",
    "What was on 12 July?",
    "What were my thoughts on 9 March?",
    "Summarize last week.",
    "What do I have planned for next week?",
    "On 12 July, what went on in my life?",
    "Gab es gestern etwas Neues?",
    "Worüber haben wir letzte Woche gesprochen?",
    "Was hast du am 12. Juli über mich erfahren?",
    "Wie verlief der 12. Juli?",
    "Erzähl mir vom 12. Juli.",
    "¿De qué hablamos la semana pasada?",
    "¿Cómo me fue ayer?",
    "¿En qué pensaba el 12 de julio?",
    "De quoi avons-nous parlé la semaine dernière ?",
    "Comment s'est passée ma journée d'hier ?",
    "Quelles étaient mes pensées le 12 juillet ?",
    "Sobre o que falamos na semana passada?",
    "Como foi ontem?",
    "Me conta o que aconteceu em 12 de julho",
    "上周我们聊了什么？",
    "昨天过得怎么样？",
    "7月12日我都干了些啥？",
    "先週何を話したっけ？",
    "昨日何か新しいことはありましたか？",
    "7月12日はどんな一日でしたか？",
]
CONTENT = [
    "What did Ana say on 12 July?",
    "What did my son do yesterday?",
    "Who died on 12 July?",
    "What happened to my car in March?",
    "What did I note on 12 July about 4471?",
    "Was war gestern in der Arbeit los?",
    "Was kostete am 12. Juli das Brot?",
    "¿Qué dijo Ana ayer?",
    "¿Cuánto pesaba el 5 de enero?",
    "Quel film ai-je regardé hier ?",
    "O que a Ana disse ontem?",
    "昨天医生说了什么？",
    "昨天我看了什么电影？",
    "昨日うどんを作りましたか？",
    "昨日医者は何と言いましたか？",
]


@pytest.mark.parametrize("question", LATEST)
def test_question_for_the_latest_is_recognized(question: str) -> None:
    assert asks_for_latest(question)
    assert not asks_for_first(question)


@pytest.mark.parametrize("question", FIRST)
def test_question_for_the_first_is_recognized(question: str) -> None:
    assert asks_for_first(question)
    assert not asks_for_latest(question)


@pytest.mark.parametrize("question", NEITHER + NOT_FIRST)
def test_other_first_and_last_are_neither(question: str) -> None:
    assert not asks_for_first(question)
    assert not asks_for_latest(question)


@pytest.mark.parametrize("question", ONLY_TIME)
def test_question_without_content_beside_its_time_has_no_rest(question: str) -> None:
    assert rest_of_question(question) == ""


@pytest.mark.parametrize("question", CONTENT)
def test_name_thing_place_or_number_beside_a_time_is_content(question: str) -> None:
    assert rest_of_question(question) != ""


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Who did I meet at the gym yesterday?", "Who did I meet at the gym"),
        ("Wen habe ich gestern im Fitnessstudio getroffen?", "Wen habe ich im Fitnessstudio getroffen"),
        ("¿A quién vi ayer en el gimnasio?", "A quién vi en el gimnasio"),
        ("Qui ai-je vu hier à la salle ?", "Qui ai-je vu à la salle"),
        ("Quem eu vi ontem na academia?", "Quem eu vi na academia"),
        ("我昨天在健身房见了谁？", "我 在健身房见了谁"),
        ("昨日ジムで誰に会いましたか？", "ジムで誰に会いましたか"),
        ("What did Ana cook?", "What did Ana cook"),
    ],
)
def test_rest_of_a_question_is_without_its_times(question: str, rest: str) -> None:
    assert rest_of_question(question) == rest
