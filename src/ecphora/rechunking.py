"""Cutting long texts anew that were stored when texts were cut otherwise, while their scope stays in use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from . import checked_episode, documents, encode
from .consolidation.facts.claims import claim_id
from .embedders.minilm import MiniLMEmbedder
from .errors import EmbedderMismatch, StaleWrite, StoreBusy
from .extractors.rule_extractor import RuleExtractor
from .graph import Graph
from .language.chunking import align_chunks
from .language.statements import statements
from .model import Node, NodeId
from .ports import Embedder, Extractor, Progress
from .stores.rechunk_writer import RechunkedDocument
from .stores.sqlite import SQLiteStore
from .validate import check_component, check_name, check_progress

BATCH_SIZE = 512
"""Pieces after which the texts cut anew are committed."""
MAX_RETRIES = 20
"""How often a batch is cut anew because another process changed what it holds meanwhile."""


def rechunk(
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
    model = MiniLMEmbedder() if embedder is None else check_component("embedder", embedder, "an embedder", "embed")
    reader = (
        RuleExtractor() if extractor is None else check_component("extractor", extractor, "an extractor", "extract")
    )
    scope, progress = check_name("scope", scope), check_progress(progress)
    done = changed = 0
    with closing(SQLiteStore(path)) as store:
        _check_embedder(store, scope, model)
        documents = store.document_chunks(scope)
        for some in _batches(documents):
            changed += _rechunk_batch(store, scope, some, model, reader)
            done += len(some)
            if progress is not None:
                progress(done, len(documents))
    return changed


def _check_embedder(store: SQLiteStore, scope: str, embedder: Embedder) -> None:
    known = next((info.embedder for info in store.scopes() if info.name == scope), None)
    if known not in {None, embedder.name}:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {known!r}, not {embedder.name!r}; cut it anew with the first, or "
            "change it over once with ecphora.reembed"
        )


_ChunkIds = Mapping[NodeId, Sequence[NodeId]]
"""The ids of the pieces of some texts, by the texts' ids."""


def _batches(documents: _ChunkIds) -> Iterator[_ChunkIds]:
    batch: dict[NodeId, Sequence[NodeId]] = {}
    size = 0
    for document, pieces in documents.items():
        batch[document] = pieces
        size += len(pieces)
        if size >= BATCH_SIZE:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _rechunk_batch(
    store: SQLiteStore, scope: str, documents: _ChunkIds, embedder: Embedder, extractor: Extractor
) -> int:
    """Cut some texts anew, as often as another process is quicker; how many got other pieces."""
    there = documents
    for _ in range(MAX_RETRIES):
        stored = [store.nodes(scope, there[one]) for one in documents if one in there]
        texts = [text for text in _changed_documents(stored) if _has_free_ids(store, scope, text)]
        made = list(_build_new_chunks(texts, embedder, extractor))
        try:
            if made:
                store.rechunk(scope, made)
        except StaleWrite:
            there = store.document_chunks(scope)
            _check_embedder(store, scope, embedder)
            continue
        return len(made)
    raise StoreBusy(f"other processes changed scope {scope!r} {MAX_RETRIES} times meanwhile; try again")


_ChunkDiff = tuple[tuple[Node, ...], tuple[Node, ...]]
"""The pieces of a text as they are, and as they should be."""


def _changed_documents(chunk_lists: Iterable[Sequence[Node]]) -> Iterator[_ChunkDiff]:
    """The texts that would be cut otherwise today."""
    for old in chunk_lists:
        new = documents.chunks(documents.reassemble(old)) if old else ()
        if [_chunk_key(node) for node in old] != [_chunk_key(node) for node in new]:
            yield tuple(old), new


def _chunk_key(node: Node) -> tuple[NodeId, str, int, int, str | None]:
    return node.id, node.text, node.position, node.start, node.heading


def _has_free_ids(store: SQLiteStore, scope: str, diff: _ChunkDiff) -> bool:
    """Whether no other memory has the id of a new piece; else the text stays as it is."""
    old, new = diff
    known = {node.id for node in old}
    return not store.nodes(scope, [node.id for node in new if node.id not in known])


def _build_new_chunks(
    diffs: Sequence[_ChunkDiff], embedder: Embedder, extractor: Extractor
) -> Iterator[RechunkedDocument]:
    nodes = [node for _, new in diffs for node in new]
    vectors = encode.embed_nodes(embedder, nodes)
    mentions = dict(zip((node.id for node in nodes), extractor.extract([node.text for node in nodes]), strict=True))
    for old, new in diffs:
        before, after = [node.text for node in old], [node.text for node in new]
        change = encode.encode(
            [checked_episode.CheckedEpisode(new[0].document or new[0].id, new, None, has_date=True)],
            Graph(),
            vectors={node.id: vectors[node.id] for node in new},
            mentions={node.id: mentions[node.id] for node in new},
            embedder=embedder.name,
            now=new[0].recorded_at,
        )
        yield RechunkedDocument(
            old, new, change, align_chunks(before, after), align_chunks(after, before), _claim_id_lookup(new)
        )


def _claim_id_lookup(chunks: Sequence[Node]) -> Callable[[int, str], NodeId | None]:
    """The id of what a piece claims in so many words; statements are read when the first is asked for."""

    @cache
    def of_piece(place: int) -> Mapping[str, NodeId]:
        node = chunks[place]
        told = enumerate(statements(node.text, node.speaker, node.happened_at))
        return {one.text: claim_id(node.id, number) for number, one in reversed(list(told))}

    return lambda place, words: of_piece(place).get(words)
