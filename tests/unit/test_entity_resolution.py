"""Entity resolution: merged and separate names, case by case; reading, reverting and undoing merges.

This file is over 400 lines because all its tests share one table of cases.
"""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora import RecallOptions
from ecphora.consolidation.entities.kinship import KIN_MENTION_WEIGHT
from ecphora.consolidation.entities.resolution import resolve_entities
from ecphora.errors import InvalidInput
from ecphora.language.names.alias_phrases import alias_pairs
from ecphora.language.names.mentions import entity_id, names, normalize_name
from ecphora.memory import Memory
from ecphora.model.graph.graph import Graph
from ecphora.model.graph.updates import apply_batch
from ecphora.model.ports import NodeSource
from ecphora.model.types import Edge, Kind, Link, Node, Rows, Tombstone, UndoBatch, WriteBatch
from ecphora.models.embedders.hashing import HashingEmbedder
from ecphora.retrieval import entity_links
from ecphora.stores.sqlite import SQLiteStore
from ecphora.strategies.fused import candidate_pool
from ecphora.strategies.fused.strategy import Fused
from ecphora.testing import NOON, SCOPE, graph_differences, sample_batch, sample_entity, sample_node, sample_query

Turn = tuple[str | None, str | None, str]


def parse_turns(*lines: str) -> list[Turn]:
    """Turns written as "Ben@monday| Hey Mel!"; the session and the speaker are optional."""
    found: list[Turn] = []
    for line in lines:
        head, _, text = line.partition("| ")
        speaker, _, session = head.strip().partition("@")
        found.append((speaker or None, session or None, text))
    return found


def turns_batch(turns: Iterable[Turn], known: Iterable[str] = (), first: int = 0) -> WriteBatch:
    """The batch of remembering turns, with names extracted by the built-in rules."""
    nodes = [
        sample_node(f"t{index}", text, minutes=index, speaker=speaker, session=session)
        for index, (speaker, session, text) in enumerate(turns, first)
    ]
    mentions = [(node.id, name) for node in nodes for name in names(node.text)]
    entities = {entity_id(name): replace(sample_entity(name), text=name) for _, name in mentions}
    edges = tuple(Edge(node, entity_id(name), Link.MENTIONS) for node, name in mentions)
    new = [node for id_, node in entities.items() if id_ not in set(known)]
    return sample_batch(*nodes, *new, edges=edges)


class Conversation:
    """A graph that grows turn by turn, and its merges."""

    def __init__(self, *lines: str) -> None:
        self.graph = Graph()
        self.texts: dict[str, Node] = {}
        self.say(*lines)

    def say(self, *lines: str) -> Rows:
        """Add turns and return their rows."""
        before = len(self.graph)
        batch = turns_batch(parse_turns(*lines), self.graph.nodes["ids"], len(self.texts))
        batch = replace(batch, nodes=tuple(replace(node, seq=before + i) for i, node in enumerate(batch.nodes, 1)))
        self.texts.update((node.id, node) for node in batch.nodes if node.kind is Kind.EPISODE)
        self.graph = apply_batch(self.graph, replace(batch, revision=self.graph.revision + 1))
        rows = np.arange(before, len(self.graph))
        return rows[self.graph.episodes[rows]]

    @property
    def read(self) -> NodeSource:
        """Reads the turns."""
        return lambda rows: [self.texts[self.graph.id(int(row))] for row in rows]

    def merged(self, new: Rows | None = None) -> tuple[Edge, ...]:
        """The merges found in new turns, or in all."""
        return resolve_entities(self.graph, np.flatnonzero(self.graph.episodes) if new is None else new, self.read)

    def write(self, edges: Iterable[Edge]) -> None:
        """Add edges."""
        self.graph = apply_batch(self.graph, WriteBatch(edges=tuple(edges), revision=self.graph.revision + 1))

    def names_of(self, name: str) -> set[str]:
        """The aliases of a name, with itself."""
        row = self.graph.row(entity_id(name))
        assert row is not None
        return {
            self.graph.id(int(alias)).partition(":")[2]
            for alias in entity_links.expand_aliases(self.graph, np.array([row]))
        }


def pairs(edges: Iterable[Edge]) -> set[str]:
    """The merges as "short=full", and kin as "t1>name"."""
    found = set()
    for edge in edges:
        if edge.link is Link.ALIAS:
            found.add(f"{edge.src.partition(':')[2]}={edge.dst.partition(':')[2]}")
        else:
            found.add(f"{edge.src}>{edge.dst.partition(':')[2]}")
    return found


MERGED: dict[str, tuple[tuple[str, ...], str]] = {
    "a first name, one session": (("Ben@a| I met Ana Silva today.",
    "Ben@a| Later Ana told me about Porto."), "ana=ana silva"),
    "a last name": (("Ben@a| We talked about Mason Mount.",
    "Cy@a| I think Mount said he is ready."), "mount=mason mount"),
    "a first name, sessions apart": (
        ("Ben@a| My colleague Ana Silva told me so.", "Ben@b| Today Ana said that she moves."), "ana=ana silva"),
    "the full name speaks": (
        ("Ana Silva@a| Good morning!", "Ben@a| Did Ana Silva call?", "Ben@a| Thanks, Ana!"), "ana=ana silva"),
    "of Rivia": (("Ben@a| I saw Geralt of Rivia there.", "Cy@a| Today Geralt said little."), "geralt=geralt of rivia"),
    "loose notes": (("| Today Ana Silva joined the team.", "| Her friend Ana likes tea."), "ana=ana silva"),
    "full first, then short": (("Ben@a| I met Tom Baker. He is kind. I asked and Tom told me all.",), "tom=tom baker"),
    "a legal form": (("Ben@a| We ordered from Acme Inc again.", "Ben@a| I wrote to Acme about it."), "acme=acme inc"),
    "a doctor": (
        ("Ben@a| I met Ana Silva, who is a doctor.", "Ben@a| Then Dr. Silva told me to rest."), "dr silva=ana silva"),
    "a beginning, spoken to": (
        ("Melanie@a| Hello you!", "Caro@a| Hey Mel! How are you?", "Caro@b| I talked with Melanie."), "mel=melanie"),
    "a beginning in other words": (
        ("Joanna@a| It is done.", "Nate@a| Wow Jo, you did it!", "Nate@b| I rang Joanna."), "jo=joanna"),
    "Bob": (("Robert@a| Morning!", "Ana@a| Hi Bob!", "Ana@b| I saw Robert."), "bob=robert"),
    "Liz": (("Elizabeth@a| Morning!", "Ana@a| Thanks, Liz!", "Ana@b| I saw Elizabeth."), "liz=elizabeth"),
    "Kate": (("Katherine@a| Morning!", "Ana@a| Hello Kate!", "Ana@b| I saw Katherine."), "kate=katherine"),
    "Bill, who is spoken of": (
        ("William@a| Morning!", "Ana@a| I know.", "Cy@a| I think Bill told us.",
        "Ana@b| I saw William."), "bill=william"),
    "Bob speaks, Robert is spoken to": (
        ("Bob@a| Morning!", "Ana@a| Hi Robert! How are you?", "Ana@b| I saw Bob."), "bob=robert"),
    "both are spoken to": (("Ana@a| Hi Peter! Long time.", "Cy@a| Indeed.", "Ana@a| Thanks, Pete!"), "pete=peter"),
    "a letter doubled": (("Ben@a| I saw Isolde.", "Ben@b| I met Isolde.", "Ben@b| I like Isollde."), "isollde=isolde"),
    "doubled in a family's name": (
        ("Ben@a| I like Conor Macgregor.", "Ben@b| I saw Conor Macgregor.", "Cy@b| You mean Conor Macgreggor?"),
        "conor macgreggor=conor macgregor"),
    "a letter left out": (
        ("Ben@a| I love California.", "Ben@b| We drove through California.", "Cy@b| I miss Calfornia."),
        "calfornia=california"),
    "letters that changed places": (
        ("Ben@a| I saw Nadezhda.", "Ben@b| I met Nadezhda.", "Ben@b| I like Nadzehda."), "nadzehda=nadezhda"),
    "a letter of one sound": (("Ben@a| I saw Markus.", "Ben@b| I met Markus.",
    "Ben@b| I like Marcus."), "marcus=markus"),
    "a hyphen": (("Ben@a| I saw Jean-Luc.", "Ben@a| I like Jeanluc."), "jeanluc=jean luc"),
    "call me": (("Robert@a| Please call me Bo.", "Ana@a| I saw Robert."), "bo=robert"),
    "everyone calls him": (("Ana@a| Robert is here, everyone calls him Bobo.",), "bobo=robert"),
    "in parentheses": (("Ana@a| I met Katherine (Kate) there.",), "kate=katherine"),
    "aka": (("Ana@a| I met Robert, aka Bobo, there.",), "bobo=robert"),
    "also known as": (("Ana@a| I saw the Northern Lights, also known as the Aurora Borealis.",),
                      "aurora borealis=northern lights"),
    "short for": (("Ana@a| My friend Bea, short for Beatrix, is here.",), "bea=beatrix"),
    "née": (("Ana@a| I saw Mia Costa.", "Ana@a| It was Mia Silva, née Costa, who came."), "mia costa=mia silva"),
    "in quotation marks": (("Ana@a| I met Robert “Bobo” Smith.",), "bobo=robert"),
    "an acronym": (("Ana@a| It is by the American Geophysical Union (AGU).",), "agu=american geophysical union"),
    "my name is": (("Elise@a| My name is Emilia.", "Ana@a| I saw Elise."), "emilia=elise"),
    "goes by": (("Ana@a| My aunt Josephine goes by Fifi now.",), "fifi=josephine"),
    "my sister": (("Ben@a| My sister Nadia is here.", "Ben@b| My sister called."), "t1>nadia"),
    "my sister, earlier": (("Ben@a| My sister called.", "Ben@b| I saw my sister, Nadia, there."), "t0>nadia"),
    "is my wife": (("Ben@a| Nadia is my wife.", "Ben@b| I cooked for my wife."), "t1>nadia"),
    "my brother's name is": (("Ben@a| My brother's name is Tom.", "Ben@b| My brother's car broke down."), "t1>tom"),
    "a son who is called": (("Ben@a| I have a cold. My son is called Tom.", "Ben@b| My son sings."), "t1>tom"),
}  # fmt: skip
"""Turns and their expected merge."""

SEPARATE: dict[str, tuple[str, ...]] = {
    "two share the first name": (
        "Ben@a| I met Ana Silva today.", "Ben@a| I met Ana Costa too.", "Ben@a| Then Ana told me all."),
    "the other one speaks": (
        "Ana Costa@a| Hello.", "Ben@a| I met Ana Silva today.", "Ben@a| Then Ana told me all."),
    "first or last": ("Ben@a| I met Taylor Swift.", "Ben@a| I met Liz Taylor.", "Ben@a| Then Taylor told me."),
    "in one sentence": ("Ben@a| I met Ana Silva and Ana told me all about it.",),
    "the short one first": ("Ben@a| Then Ana told me all. Later I met Ana Silva.",),
    "the short one speaks": ("John@a| Hello.", "Ben@a| I met John Denver and he sang.", "Ben@a| Hi John!"),
    "one speaks of the other": ("Ana Silva@a| I met Ana.", "Ben@a| I saw Ana Silva.", "Ben@a| Hi Ana!"),
    "both speak": ("Ana@a| Hello.", "Ana Silva@a| Hi Ana!", "Ana@a| Thanks, Ana Silva!"),
    "never together": ("Ben@a| I met Ana Silva today.", "Cy@b| Then Ana told me all."),
    "strangers across sessions": ("Ben@a| The song is by John Denver.", "Ben@b| Then John told me all."),
    "a place": ("Ben@a| We went to Florida.", "Ben@a| She studies at Florida Gulf Coast."),
    "a thing": ("Ben@a| I love Candy Crush.", "Ben@a| I had some Candy there."),
    "a verb before the name": ("Ben@a| Consider Hiring Stephanie now.", "Ben@a| I saw Stephanie, who told me."),
    "a relative": ("Ben@a| I met Ana Silva, who sings.", "Ben@a| I met Rui Silva, who dances.",
    "Ben@a| Then Silva told me."),
    "a passage of a library": ("| Robert Smith is a singer.", "Ben@a| Then Robert told me."),
    "two whom the nickname fits": (
        "Melanie@a| Hello.", "Melissa@a| Hello.", "Ben@a| Hey Mel!", "Ben@b| I saw Melanie."),
    "another Mel speaks": ("Melanie@a| Hello.", "Mel@a| Hello.", "Ben@a| Hey Mel!", "Ben@b| I saw Melanie."),
    "she tells of Mel": ("Melanie@a| I met Mel.", "Ben@a| Hey Mel!", "Ben@b| I saw Melanie."),
    "not in that session": ("Melanie@b| Hello.", "Ben@a| Hey Mel!", "Cy@a| Hm.", "Ben@b| I saw Melanie."),
    "not spoken to": ("Melanie@a| Hello.", "Ben@a| I saw Mel in the shop.", "Ben@b| I saw Melanie."),
    "a dog": ("Maxine@a| Hello.", "Ben@a| I walked with my dog, Max.", "Ben@b| I saw Maxine."),
    "Paul and Paula": (
        "Paula@a| Hello.", "Cy@a| Hello.", "Ben@a| Hi Paul!", "Ben@b| I saw Paula."),
    "Mel and Melanie in one text": ("Melanie@a| Hello.", "Ben@a| Hi Mel! I saw Melanie.", "Ben@b| I saw Melanie."),
    "Maria and Mario": ("Ben@a| I saw Maria.", "Ben@b| I met Maria.", "Ben@b| I like Mario."),
    "Marina and Marisa": ("Ben@a| I saw Marina.", "Ben@b| I met Marina.", "Ben@b| I like Marisa."),
    "Kevin and Devin": ("Ben@a| I saw Kevin.", "Ben@b| I met Kevin.", "Ben@b| I like Devin."),
    "Gabriel and Gavriel": ("Ben@a| I saw Gavriel.", "Ben@b| I met Gavriel.", "Ben@b| I like Gabriel."),
    "Hansen and Hanson": ("Ben@a| I saw Ana Hansen.", "Ben@b| I met Ana Hansen.", "Ben@b| I like Ana Hanson."),
    "spelled alike and often": (
        "Ben@a| I saw Markus.", "Ben@a| I met Marcus.", "Ben@b| I like Marcus.", "Ben@b| I rang Marcus.",
        "Ben@b| And Markus.",
        "Ben@b| I see Markus."),
    "spelled alike, told by others": ("Ben@a| I saw Markus.", "Ben@a| I met Markus.", "Cy@b| I like Marcus."),
    "spelled alike in one text": ("Ben@a| I saw Markus.", "Ben@a| I met Markus.", "Ben@b| I like Markus, not Marcus."),
    "volumes": ("Ben@a| I read Ilias XI.", "Ben@a| I like Ilias XI.", "Ben@b| I read Ilias XII."),
    "plural": ("Ben@a| I drove a Toyota.", "Ben@b| A Toyota is good.", "Ben@b| Some Toyotas are not."),
    "call me later": ("Robert@a| Please call me ASAP.", "Robert@a| You can call me on Friday.", "Ana@a| I saw Robert."),
    "I am Irish": ("Robert@a| I am Irish.", "Ana@a| I saw Robert."),
    "somebody calls him": ("Ana@a| Mary called him Bobo once.",),
    "what stands in parentheses": ("Ana@a| I went to Paris (France) and met Tom (Boston).",),
    "born in a town": ("Ana@a| Then Mia Silva, born in Porto, came.",),
    "two sisters": ("Ben@a| My sister Nadia is here.", "Ben@a| My sister Olga is not.", "Ben@b| My sister called."),
    "sisters": ("Ben@a| My sister Nadia is here.", "Ben@a| I miss my sisters.", "Ben@b| My sister called."),
    "another sister": ("Ben@a| My sister Nadia is here.", "Ben@a| My other sister is not.", "Ben@b| My sister called."),
    "her sister": ("Ben@a| My sister Nadia is here.", "Cy@b| My sister called."),
    "the younger one": ("Ben@a| My older sister Nadia is here.", "Ben@b| My younger sister called."),
    "a list": ("Ben@a| My girlfriend, Toby and I go camping.", "Ben@b| My girlfriend called."),
    "a gift": ("Ben@a| I gave my sister Barbie for the holidays.", "Ben@b| My sister called."),
    "a greeting": ("Ben@a| Hey Nadia, my sister is ill.", "Ben@b| My sister called."),
    "an in-law": ("Ben@a| My sister-in-law Nadia is here.", "Ben@b| My sister called."),
}  # fmt: skip
"""Turns without a merge."""


@pytest.mark.parametrize("case", MERGED)
def test_names_are_merged(case: str) -> None:
    lines, expected = MERGED[case]
    edges = Conversation(*lines).merged()
    assert expected in pairs(edges)
    assert all(edge.provenance for edge in edges)


@pytest.mark.parametrize("case", SEPARATE)
def test_names_are_not_merged(case: str) -> None:
    assert not pairs(Conversation(*SEPARATE[case]).merged())


def test_case_tables_are_large_enough() -> None:
    assert len(MERGED) >= 30
    assert len(SEPARATE) >= 30


def test_merge_has_provenance_and_weight() -> None:
    (edge,) = Conversation(*MERGED["a beginning, spoken to"][0]).merged()
    assert (edge.provenance, edge.link, edge.weight) == ("t1", Link.ALIAS, 0.9)
    (edge,) = Conversation(*MERGED["my sister, earlier"][0]).merged()
    assert (edge.provenance, edge.link, edge.weight) == ("t1", Link.MENTIONS, KIN_MENTION_WEIGHT)


def test_alias_pairs_of_a_text() -> None:
    assert alias_pairs("I met Robert (Bob) Smith.", None) == (("Bob", "Robert"),)
    assert alias_pairs("I met Robert (Boston) there.", None) == ()
    assert alias_pairs("Hello Ana, it is raining.", "Ben") == ()
    assert alias_pairs("I'm Robert Smith.", "Robert") == (("Robert", "Robert Smith"),)
    assert alias_pairs("I'm Robert.", "Bob") == (("Robert", "Bob"),)


# ---- repeated and reverted merges


def test_merges_come_from_new_memories_only() -> None:
    conversation = Conversation(*MERGED["Bob"][0])
    assert conversation.merged(np.zeros(0, np.intp)) == ()
    conversation.write(conversation.merged())
    assert conversation.merged(conversation.say("Ana@b| It rains in Porto.")) == ()


def test_merge_has_at_most_three_edges() -> None:
    conversation, found = Conversation(*MERGED["Bob"][0]), []
    conversation.write(conversation.merged())
    for _ in range(5):
        edges = conversation.merged(conversation.say("Robert@a| Well.", "Ana@a| Hi Bob!"))
        conversation.write(edges)
        found += [edge.provenance for edge in edges]
    assert len(found) == len(set(found)) == 2


def test_merge_is_reverted_when_the_name_becomes_ambiguous() -> None:
    conversation = Conversation(*MERGED["a first name, one session"][0])
    conversation.write(conversation.merged())
    assert conversation.names_of("Ana") == {"ana", "ana silva"}
    edges = conversation.merged(conversation.say("Ben@b| I met Ana Costa, who sings."))
    assert [(edge.weight, edge.provenance) for edge in edges] == [(0, "t2")]
    conversation.write(edges)
    assert conversation.names_of("Ana") == {"ana"}
    assert not conversation.merged(conversation.say("Ben@a| Later Ana told me more."))


def test_ambiguous_nickname_is_not_merged() -> None:
    conversation = Conversation(*MERGED["a beginning, spoken to"][0], "Ben@c| I rang Melissa.")
    conversation.write(conversation.merged())
    assert conversation.names_of("Mel") == {"mel", "melanie"}
    conversation.write(conversation.merged(conversation.say("Melissa@c| Hello.", "Ben@c| Hey Mel!")))
    assert conversation.names_of("Mel") == {"mel"}


def test_forgotten_memory_gives_no_merge() -> None:
    conversation = Conversation(*MERGED["Bob"][0])
    assert resolve_entities(conversation.graph, np.flatnonzero(conversation.graph.episodes), lambda _rows: []) == ()


# ---- recall


def scores_of(graph: Graph, *questions: str) -> list[list[float]]:
    """The scores of queries in a graph."""
    return [Fused().activate(sample_query(question), graph).scores.tolist() for question in questions]


QUERIES = ("What did Mel paint for Melanie?", "Who told Ana about Porto and Bob?")


def entities_and_turns(conversation: Conversation, name: str) -> tuple[set[str], set[str]]:
    """The entities of a query with a name, and the turns with full entity coverage."""
    view = candidate_pool.build_pool(conversation.graph, sample_query(f"{name}?", entity_ids=(entity_id(name),)))
    full = entity_links.entity_coverage(conversation.graph, view.query_entities, view.mentions, len(view.rows)) == 1
    entities = {conversation.graph.id(int(row)).partition(":")[2] for row in view.query_entities}
    return entities, {conversation.graph.id(int(row)) for row in view.rows[full]}


def test_query_with_either_alias_covers_turns_of_both() -> None:
    conversation = Conversation(*MERGED["a first name, one session"][0], "Ben@c| It rains.")
    assert entities_and_turns(conversation, "Ana") == ({"ana"}, {"t1"})
    conversation.write(conversation.merged())
    for name in ("Ana", "Ana Silva"):
        assert entities_and_turns(conversation, name) == ({"ana", "ana silva"}, {"t0", "t1"})


def test_nickname_expands_to_the_name_but_not_the_reverse() -> None:
    conversation = Conversation(*MERGED["a beginning, spoken to"][0], "Ben@c| It rains.")
    conversation.write(conversation.merged())
    assert entities_and_turns(conversation, "Mel") == ({"mel", "melanie"}, {"t1", "t2"})
    assert entities_and_turns(conversation, "Melanie") == ({"melanie"}, {"t2"})


def test_recall_without_merges_is_unchanged() -> None:
    conversation = Conversation(*MERGED["a beginning, spoken to"][0], *MERGED["a first name, one session"][0])
    rows = np.flatnonzero(conversation.graph.of_kind(Kind.ENTITY))
    assert entity_links.expand_aliases(conversation.graph, rows) is rows
    before = scores_of(conversation.graph, *QUERIES)
    conversation.write([Edge("entity:mel", "entity:melanie", Link.ALIAS, 0.0, "t1")])
    assert entity_links.expand_aliases(conversation.graph, rows) is rows
    assert scores_of(conversation.graph, *QUERIES) == before


NAMES = ("Mel", "Melanie", "Ana", "Ana Silva", "Porto", "Bob")
alias_lists = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from((0.0, 0.7, 1.0))), max_size=8
)


@pytest.mark.medium
@given(alias_lists)
def test_alias_groups_are_symmetric_and_transitive(alias_list: list[tuple[str, str, float]]) -> None:
    conversation = Conversation("Ben@a| I met Mel, Melanie, Ana Silva, Porto and Bob.", "Ben@a| Then Ana came.")
    for first, second, weight in alias_list:
        conversation.write([Edge(entity_id(first), entity_id(second), Link.ALIAS, weight, "t0")])
    group = {name: conversation.names_of(name) for name in NAMES}
    for first in NAMES:
        assert normalize_name(first) in group[first]
        for second in NAMES:
            assert (
                (normalize_name(second) in group[first])
                == (normalize_name(first) in group[second])
                == (group[first] == group[second])
            )
    latest = {frozenset((first, second)): weight for first, second, weight in alias_list}
    assert all(
        normalize_name(second) in group[first] for first, second, _ in alias_list if latest[frozenset((first, second))]
    )
    repeated = Conversation("Ben@a| I met Mel, Melanie, Ana Silva, Porto and Bob.", "Ben@a| Then Ana came.")
    repeated.write(
        [Edge(entity_id(first), entity_id(second), Link.ALIAS, weight, "t0") for first, second, weight in alias_list]
    )
    assert all(repeated.names_of(name) == group[name] for name in NAMES)


@pytest.mark.medium
@given(st.lists(st.sampled_from(sorted(MERGED)), min_size=1, max_size=5, unique=True))
def test_undoing_merges_restores_the_scores(cases: list[str]) -> None:
    conversation = Conversation(*(line for case in cases for line in MERGED[case][0]))
    unmerged, before = conversation.graph, scores_of(conversation.graph, *QUERIES)
    conversation.write(conversation.merged())
    scores_of(conversation.graph, *QUERIES)
    assert scores_of(unmerged, *QUERIES) == before
    reverted = replace(
        conversation.graph,
        revision=unmerged.revision,
        edges=conversation.graph.edges.keep(np.arange(len(conversation.graph.edges)) < len(unmerged.edges)),
        _parent=None,
    )
    assert scores_of(reverted, *QUERIES) == before


@pytest.mark.medium
def test_store_undoes_merges_and_deletes_them_with_the_names(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    commit = partial(store.commit, SCOPE)
    commit(turns_batch(parse_turns(*MERGED["a beginning, spoken to"][0])))
    unmerged = apply_batch(Graph(), store.changes_since(SCOPE, 0))
    read: NodeSource = lambda rows: store.nodes(SCOPE, [unmerged.id(int(row)) for row in rows])  # noqa: E731
    edges = resolve_entities(unmerged, np.flatnonzero(unmerged.episodes), read)
    assert edges
    commit(WriteBatch(edges=edges, undo_batch=UndoBatch("b1", NOON)))
    merged_graph = apply_batch(Graph(), store.changes_since(SCOPE, 0))
    assert entity_links.alias_groups(merged_graph).representative
    commit(WriteBatch(undoes="b1"))
    undone = apply_batch(Graph(), store.changes_since(SCOPE, 0))
    assert not graph_differences(replace(undone, revision=unmerged.revision), unmerged)
    assert scores_of(undone, *QUERIES) == scores_of(unmerged, *QUERIES)
    commit(WriteBatch(edges=edges, undo_batch=UndoBatch("b2", NOON)))
    commit(WriteBatch(tombstones=(Tombstone("t2", b"2"),)))  # the only mention of Melanie
    assert not entity_links.alias_groups(apply_batch(Graph(), store.changes_since(SCOPE, 0))).representative
    store.close()


@pytest.mark.parametrize("case", ["a beginning, spoken to", "my sister", "a first name, one session"])
def test_merge_is_deleted_with_its_only_provenance(case: str, tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "memory.db")
    lines = (*MERGED[case][0], "Zoe@z| I like Mel.")
    graph_after = apply_batch(Graph(), store.commit(SCOPE, turns_batch(parse_turns(*lines))))
    rows = np.flatnonzero(graph_after.episodes)
    edges = resolve_entities(
        graph_after, rows, lambda rows_: store.nodes(SCOPE, [graph_after.id(int(row)) for row in rows_])
    )
    graph_after = apply_batch(graph_after, store.commit(SCOPE, WriteBatch(edges=edges)))
    (provenance,) = {edge.provenance for edge in edges}
    graph_after = apply_batch(
        graph_after, store.commit(SCOPE, WriteBatch(tombstones=(Tombstone(str(provenance), b"1"),)))
    )
    reloaded = apply_batch(Graph(), store.changes_since(SCOPE, 0))
    assert reloaded.row("entity:nadia") is None
    assert not entity_links.alias_groups(reloaded).representative
    assert not graph_differences(graph_after, reloaded)
    store.close()


@pytest.mark.medium
@given(st.permutations(["Mel", "Melanie", "Ben"]))
def test_declared_merge_is_undone_exactly_and_unmerged_in_effect(order: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "m.db", embedder=HashingEmbedder(32)) as memory:
        memory.remember([f"{name} has a boat called {boat}." for name, boat in zip(order, "ABC", strict=True)])
        question = "What does Mel have?"

        def state() -> tuple[object, object]:
            stored = memory._store.changes_since(memory.scope, 0)
            return (stored.nodes, stored.edges), [
                (h.id, h.score) for h in memory.recall(question, options=RecallOptions(log_access=False))
            ]

        before = state()
        memory.entities.merge("Mel", "Melanie")
        memory.maintenance.undo()
        assert state() == before
        memory.entities.merge("Melanie", "Mel")
        memory.entities.split("Mel", "Melanie")
        assert state()[1] == before[1]
        with pytest.raises(InvalidInput, match="Zoe"):
            memory.entities.merge("Mel", "Zoe")
