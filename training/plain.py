"""Write training/data/plain.jsonl: fact updates in the simplest words, and look-alikes, from templates.

    .venv/bin/python training/plain.py

Authors of cases avoid the most obvious sentences; users do not. The file has the form of ``changes.jsonl``. The output
is deterministic.
"""
# ruff: noqa: E501, INP001  # one template per row

import json
from collections.abc import Sequence
from itertools import count
from pathlib import Path

FILE = Path(__file__).parent / "data" / "plain.jsonl"
SPEAKERS = ("Ana", "user", "Bob", "Mia", "Tom", None, "Priya", "Sam")
PEOPLE = ("Carol", "Dan", "Lena", "Omar", "Yuki", "Nina")
CITIES = ["Lisbon", "Porto", "Berlin", "Munich", "Paris", "Lyon", "Boston", "Denver", "Leeds", "Cork", "Oslo", "Madrid"]
FIRMS = ["Acme", "Globex", "Initech", "Google", "Umbrella", "Siemens", "Tesco", "Spotify", "Nokia", "Barclays"]
COLORS = ["blue", "green", "red", "purple", "orange", "teal", "yellow", "black"]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"]
TIMES = ("9 am", "10 am", "noon", "2 pm", "4:30 pm", "6 pm")
DATES = ("3 March", "15 March", "1 April", "20 May", "2 June", "9 July")
CARS = ["Honda", "Toyota", "Tesla", "Volvo", "Fiat", "Skoda"]
JOBS = ("nurse", "teacher", "data engineer", "designer", "chef", "plumber", "sales manager")
DRINKS = ("coffee", "tea", "wine", "beer", "milk")
FOODS = ("sushi", "pizza", "ramen", "tacos", "curry")
NAMES = ("Rex", "Luna", "Milo", "Bella", "Oscar")
TOOLS = ("Postgres", "MySQL", "React", "Vue", "Python 3.11", "Python 3.12", "Jira", "Linear")
AMOUNTS = ("400 euros", "450 euros", "$800", "$950", "1,200 pounds", "1,350 pounds")
COUNTS = ("two", "three", "four", "five", "12", "15", "40")
HOBBIES = ("chess", "tennis", "yoga", "the violin", "pottery", "football")

TEMPLATES: tuple[tuple[Sequence[str], str, str, str], ...] = (
    (CITIES, "I live in {a}. | I live in {a}, close to the river. | I'm based in {a}. | My home is in {a}.",
     ("I moved to {b}. | I moved to {b} last week. | I just moved to {b}! | I live in {b} now. | We've settled in {b}. | "
     "I've relocated to {b} for good. | As of this month I live in {b}."),
     ("My sister moved to {b}. | I spent a weekend in {b}. | I used to live in {b}. | I'd love to live in {b} one day. | "
     "My parents live in {b}. | I'm visiting {b} next month. | I still live in {a}. | My boss moved to {b} last week.")),
    (CITIES, "My sister lives in {a}. | {p} lives in {a}. | My brother is in {a} these days.",
     ("My sister has moved to {b}.@0 | My sister lives in {b} now.@0 | {p} moved to {b} last month.@1 | {p} lives in {b} "
     "now.@1 | My brother has left {a} for {b}.@2"),
     ("I moved to {b} last month. | My cousin has moved to {b}. | My sister loves {b}. | {p} was in {b} for a conference. | "
     "My brother visited {b}.")),
    (FIRMS, "I work at {a}. | I work at {a} as an engineer. | I'm at {a}, in sales. | My job is at {a}.",
     ("I started a new job at {b}. | I started a new job at {b} last week. | I work at {b} now. | I left {a} and joined {b}. | "
     "I've switched jobs, I'm with {b} now. | I got hired by {b}."),
     ("My wife works at {b}. | I had an interview at {b}. | I used to work at {b}. | {b} is a client of ours. | "
     "I met somebody from {b} today. | My neighbour started a new job at {b}. | I love my job at {a}.")),
    (FIRMS, "{p} works at {a}. | {p} is an engineer at {a}.",
     "{p} left {a} and joined {b}. | {p} works at {b} now. | {p} has started at {b}. | {p} quit {a} last week.",
     "{p}'s husband works at {b}. | {p} likes it at {a}. | {p} used to be at {b}. | {p} spoke at {b} yesterday."),
    (JOBS, "I'm a {a}. | I work as a {a}.", ("I'm a {b} now. | I got promoted, I'm a {b} now. | I retrained as a {b}. | "
     "I'm no longer a {a}."), ("My brother is a {b}. | I wanted to be a {b} as a child. | I met a {b} at the party. | "
     "I've been a {a} for ten years.")),
    (COLORS, "My favourite colour is {a}. | I like {a} best of all colours.",
     ("My favourite colour is {b} now. | My favourite colour is {b}. | These days {b} is my favourite colour. | "
     "I prefer {b} to {a} now."),
     "My sister's favourite colour is {b}. | I bought a {b} jacket. | Our kitchen is {b}. | My favourite colour is still {a}."),
    (FOODS, "My favourite food is {a}. | I love {a} most.", ("My favourite food is {b} now. | I've gone off {a}. | "
     "I don't like {a} any more. | My new favourite is {b}."), ("I also like {b}. | We had {b} last night. | "
     "My son loves {b}. | We had {a} again, so good.")),
    (DAYS, "The meeting is on {a}. | Our team meeting is on {a} at three. | My piano lesson is on {a}.",
     ("The meeting was moved to {b}.@0 | The meeting is on {b} instead.@0 | Our team meeting is on {b} now.@1 | My piano "
     "lesson is on {b} from now on.@2 | They pushed the meeting to {b}.@0"),
     ("I have a dentist appointment on {b}. | The party is on {b}. | I have another meeting on {b}. | "
     "The meeting is on {a}, as planned. | I'm free on {b}.")),
    (TIMES, "The standup is at {a}. | I get up at {a}. | Dinner is at {a}.",
     ("The standup is at {b} now.@0 | The standup moved to {b}.@0 | I get up at {b} these days.@1 | Dinner is at {b}, not "
     "{a}.@2 | Sorry, I meant {b}."),
     "My train leaves at {b}. | The film starts at {b}. | My husband gets up at {b}. | I was late today, I came at {b}."),
    (DATES, "The deadline is {a}. | The release is on {a}. | My exam is on {a}.",
     ("The deadline was pushed to {b}.@0 | The release has been postponed to {b}.@1 | My exam is on {b}, they moved it.@2 | "
     "The new deadline is {b}.@0 | The release is on {b} instead of {a}.@1"),
     ("My birthday is on {b}. | The report for finance is due on {b}. | I fly to Rome on {b}. | {p}'s exam is on {b}. | "
     "I finished the first draft on {b}.")),
    (CARS, "I drive a {a}. | We have a {a}.", ("I sold the {a} and bought a {b}. | I drive a {b} now. | We traded the {a} in "
     "for a {b}. | We got rid of the {a}."), ("My dad drives a {b}. | I rented a {b} on holiday. | The {a} needs new tyres. | "
     "A {b} hit a tree in our street.")),
    (("vegetarian", "vegan"), "I'm {a}. | I don't eat meat. | I've been {a} for years.",
     "I eat meat again. | I'm not {a} any more. | I've started eating meat. | I gave up being {a}.",
     "My brother is {b}. | I cooked a {a} curry. | My daughter eats meat. | Most of my friends are {b}."),
    (("vegan", "vegetarian"), "I eat meat. | I eat everything. | I love steak.", ("I'm {a} now. | I've gone {a}. | "
     "I no longer eat meat. | I turned {a} in January."), "My sister is {a}. | I had a {a} burger today. | I could never be {a}."),
    (DRINKS, "I drink {a} every morning. | I love {a}.", ("I quit {a}. | I no longer drink {a}. | I've given up {a}. | "
     "I can't stand {a} any more. | I've switched from {a} to {b}."),
     "I also like {b}. | My wife drinks {b}. | We ran out of {a}. | I spilled {a} on my laptop."),
    (("smoke", "bite my nails", "play the lottery", "use Facebook"), "I {a}. | I {a}, I know I shouldn't.",
     "I don't {a} any more. | I stopped last month, I no longer {a}. | I finally quit, I don't {a} now.",
     "My father used to {a} too. | I wish I didn't {a}. | I tried not to {a} today. | {p} doesn't {a} any more."),
    (NAMES, "I have a dog called {a}. | Our cat is {a}. | We have a dog, {a}.", ("{a} died last month. | We had to give {a} "
     "away. | We lost {a} in March."), ("{a} had a vet visit today. | Our second cat is called {b}. | {a} loves the snow. | "
     "My neighbour's dog {b} died.")),
    (PEOPLE, "I'm dating {a}. | {a} is my girlfriend. | {a} and I are together.", ("{a} and I broke up. | I'm single again. | "
     "{a} left me. | I'm seeing {b} now. | {a} and I got married."),
     "I had coffee with {b}. | {a} met my parents. | {b} and her boyfriend broke up. | {a} is away this week."),
    (PEOPLE, "My manager is {a}. | {a} is my boss. | My doctor is {a}. | {a} owns the billing service.",
     ("{b} is my manager now.@0 | My new boss is {b}.@1 | I've changed doctors, I see {b} now.@2 | {b} took over the billing "
     "service from {a}.@3 | My manager is {b}.@0"),
     "{b} joined our team. | {a} is on holiday. | I had lunch with {b}. | {b} is my wife's manager. | {a} helped me a lot."),
    (TOOLS, "We use {a}. | The project runs on {a}. | I prefer {a}.", ("We switched to {b}. | We migrated from {a} to {b}. | "
     "The project runs on {b} now. | I prefer {b} these days. | We dropped {a} for {b}."),
     "Another team uses {b}. | I'm reading about {b}. | We fixed a bug in {a}. | I gave a talk on {b}."),
    (AMOUNTS, "My rent is {a}. | I pay {a} in rent. | I've saved {a}.", ("My rent went up to {b}.@0 | My rent is {b} now.@0 | "
     "I pay {b} in rent now.@1 | I've saved {b} by now.@2"), ("My bike cost {b}. | My brother pays {b} in rent. | "
     "The repair was {b}. | I earned {b} extra.")),
    (COUNTS, "I have {a} followers. | I've read {a} books this year. | There are {a} people in our team.",
     ("I'm up to {b} followers.@0 | I've read {b} books this year now.@1 | There are {b} people in our team now.@2 | "
     "Our team has grown to {b} people.@2"), ("My sister has {b} cats. | I bought {b} books. | {b} people came to the party. | "
     "I have {b} meetings today.")),
    (HOBBIES, "I play {a}, well, I do {a} every week. | {a} is my hobby.", ("I gave up {a}. | I stopped doing {a}. | "
     "I've swapped {a} for {b}."), "I've also taken up {b}. | My son does {b}. | {a} was fun today. | I watched {b} on TV."),
    (("07700 900123", "07700 900456", "555-0199", "555-0142"), "My phone number is {a}. | You can reach me at {a}.",
     "My new number is {b}. | My number has changed to {b}. | My phone number is {b}. | Please use {b} from now on.",
     "My wife's number is {b}. | The office number is {b}. | Call the plumber at {b}. | My number is {a}, as ever."),
)  # fmt: skip


def main() -> None:
    """Write the file."""
    numbers, lines = count(), []
    for row, (values, states, changes, others) in enumerate(TEMPLATES):
        statements = states.split(" | ")
        for change, texts in ((True, changes), (False, others)):
            for index, text in enumerate(texts.split(" | ")):
                words, _, state_index = text.partition("@")
                for repetition in range(2):
                    number = next(numbers)
                    state = statements[int(state_index) if state_index else (index + repetition) % len(statements)]
                    a, b = values[number % len(values)], values[(number * 3 + 1 + repetition) % len(values)]
                    b = b if b != a else values[(number + 1) % len(values)]
                    slots = {"a": a, "b": b, "p": PEOPLE[(row + index) % len(PEOPLE)]}
                    if "{p}" in state and "{p}" not in words and change:
                        state = statements[0]
                    speaker = SPEAKERS[number % len(SPEAKERS)]
                    lines.append(
                        make_case(
                            f"plain-{number:03}", [s.format(**slots) for s in (state, words)], speaker, is_change=change
                        )
                    )
    FILE.write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False, separators=(',', ':'))}\n" for line in lines), "utf-8"
    )


def make_case(id_: str, texts: list[str], speaker: str | None, *, is_change: bool) -> dict[str, object]:
    """A case of two turns, a month apart."""
    earlier, later = (text[0].upper() + text[1:] for text in texts)
    turns = [["a", "2025-03-03T10:00", speaker, "s1", earlier], ["b", "2025-04-07T18:30", speaker, "s2", later]]
    kind = "replacement" if is_change else "none"
    return {"id": id_, "kind": kind, "told": turns, "old": "a", "new": "b", "since": None, "until": None}


if __name__ == "__main__":
    main()
