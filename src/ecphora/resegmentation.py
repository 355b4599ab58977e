"""Cutting long texts anew that were stored when texts were cut otherwise, while their scope stays in use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from . import encode
from .embedders.minilm import MiniLM
from .errors import EmbedderMismatch, StaleChange, StoreBusy
from .extractors.rules import Rules
from .graph import Graph
from .language.claims import statements
from .language.segments import successors
from .model import Node, NodeId
from .ports import Embedder, Extractor, Progress
from .stages.claiming import claim_id
from .stores.resegment import NewPieces
from .stores.sqlite import SQLite
from .validate import check_name, check_part, check_progress

BATCH = 512
"""Pieces after which the texts cut anew are committed."""
TRIES = 20
"""How often a batch is cut anew because another process changed what it holds meanwhile."""


def resegment(
    path: str | Path,
    *,
    scope: str = "default",
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
    progress: Progress | None = None,
) -> int:
    """Cut the long texts of a scope as they would be cut today; the number of memories that got other pieces.

    Memories keep their ids, and so do the links, names, accesses and claims that lead to them; pieces get their
    headings. The memory stays in use meanwhile. Each memory is cut anew whole or not at all: stopped half-way, the file
    is sound, and called again it goes on. A second call finds nothing to do.

    ``embedder`` must be the one that the scope is of, and ``extractor`` the one that finds its names; by default they
    are the built-in ones. Raises ``EmbedderMismatch`` for another embedder.
    """
    model = MiniLM() if embedder is None else check_part("embedder", embedder, "an embedder", "embed", "reads")
    reader = Rules() if extractor is None else check_part("extractor", extractor, "an extractor", "extract")
    scope, progress = check_name("scope", scope), check_progress(progress)
    done = changed = 0
    with closing(SQLite(path)) as store:
        _check_model(store, scope, model)
        documents = store.documents(scope)
        for some in _batches(documents):
            changed += _write(store, scope, some, model, reader)
            done += len(some)
            if progress is not None:
                progress(done, len(documents))
    return changed


def _check_model(store: SQLite, scope: str, model: Embedder) -> None:
    known = next((info.embedder for info in store.scopes() if info.name == scope), None)
    if known not in {None, model.name}:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {known!r}, not {model.name!r}; cut it anew with the first, or change it "
            "over once with ecphora.reembed"
        )


_Documents = Mapping[NodeId, Sequence[NodeId]]
"""The ids of the pieces of some texts, by the texts' ids."""


def _batches(documents: _Documents) -> Iterator[_Documents]:
    batch: dict[NodeId, Sequence[NodeId]] = {}
    size = 0
    for document, pieces in documents.items():
        batch[document] = pieces
        size += len(pieces)
        if size >= BATCH:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _write(store: SQLite, scope: str, documents: _Documents, model: Embedder, reader: Extractor) -> int:
    """Cut some texts anew, as often as another process is quicker; how many got other pieces."""
    there = documents
    for _ in range(TRIES):
        stored = [store.nodes(scope, there[one]) for one in documents if one in there]
        texts = [text for text in _texts(stored) if _is_free(store, scope, text)]
        made = list(_made(texts, model, reader))
        try:
            if made:
                store.resegment(scope, made)
        except StaleChange:
            there = store.documents(scope)
            _check_model(store, scope, model)
            continue
        return len(made)
    raise StoreBusy(f"other processes changed scope {scope!r} {TRIES} times meanwhile; try again")


_Text = tuple[tuple[Node, ...], tuple[Node, ...]]
"""The pieces of a text as they are, and as they should be."""


def _texts(stored: Iterable[Sequence[Node]]) -> Iterator[_Text]:
    """The texts that would be cut otherwise today."""
    for old in stored:
        new = encode.pieces(encode.joined(old)) if old else ()
        if [_cut(node) for node in old] != [_cut(node) for node in new]:
            yield tuple(old), new


def _cut(node: Node) -> tuple[NodeId, str, int, int, str | None]:
    return node.id, node.text, node.position, node.start, node.heading


def _is_free(store: SQLite, scope: str, text: _Text) -> bool:
    """Whether no other memory has the id of a new piece; else the text stays as it is."""
    old, new = text
    known = {node.id for node in old}
    return not store.nodes(scope, [node.id for node in new if node.id not in known])


def _made(texts: Sequence[_Text], model: Embedder, reader: Extractor) -> Iterator[NewPieces]:
    nodes = [node for _, new in texts for node in new]
    vectors = encode.embedded(model, nodes)
    mentions = dict(zip((node.id for node in nodes), reader.extract([node.text for node in nodes]), strict=True))
    for old, new in texts:
        before, after = [node.text for node in old], [node.text for node in new]
        change = encode.encode(
            [encode.Draft(new[0].document or new[0].id, new, None, dated=True)],
            Graph(),
            vectors={node.id: vectors[node.id] for node in new},
            mentions={node.id: mentions[node.id] for node in new},
            embedder=model.name,
            now=new[0].recorded_at,
        )
        yield NewPieces(old, new, change, successors(before, after), successors(after, before), _claim_ids(new))


def _claim_ids(pieces: Sequence[Node]) -> Callable[[int, str], NodeId | None]:
    """The id of what a piece claims in so many words; statements are read when the first is asked for."""

    @cache
    def of_piece(place: int) -> Mapping[str, NodeId]:
        node = pieces[place]
        told = enumerate(statements(node.text, node.speaker, node.happened_at))
        return {one.text: claim_id(node.id, number) for number, one in reversed(list(told))}

    return lambda place, words: of_piece(place).get(words)
