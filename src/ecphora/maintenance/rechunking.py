"""Cuts stored long texts into the chunks of today's version, while their scope stays in use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from ..consolidation.facts.claims import claim_id
from ..errors import EmbedderMismatch, StaleWrite, StoreBusy
from ..language.chunking import align_chunks
from ..language.statements.statements import statements
from ..model.graph.graph import Graph
from ..model.ports import Embedder, Extractor, Progress, english_embedder
from ..model.types import Node, NodeId
from ..model.validation import check_component, check_name, check_progress
from ..models.embedders.from_setting import packaged_embedder
from ..models.rule_extractor import RuleExtractor
from ..remember import documents, encode
from ..remember.encode import embed_english, with_english_vectors
from ..stores.opening import open_store
from ..stores.rows.rechunk_writer import RechunkedDocument
from ..stores.rows.store import RowStore

BATCH_SIZE = 512
"""Chunks between two commits, about."""
MAX_RETRIES = 20
"""How often a batch is tried because another process changed its memories meanwhile."""


def rechunk(
    path: str | Path,
    *,
    scope: str = "default",
    embedder: Embedder | None = None,
    extractor: Extractor | None = None,
    progress: Progress | None = None,
) -> int:
    """Cut the long texts of a scope as today's version does; return the number of memories whose chunks changed.

    Memories keep their ids, links, names, accesses and claims; chunks get their headings. The memory stays in use
    meanwhile. Each memory is changed completely or not at all: an interrupted call leaves a sound file, and the next
    call continues. A second call finds nothing to do.

    ``embedder`` must be the scope's embedder, and ``extractor`` the extractor that finds its names; the built-in ones
    are the defaults. Raises ``EmbedderMismatch`` for another embedder.
    """
    if embedder is not None:
        check_component("embedder", embedder, "an embedder", "embed")
    reader = (
        RuleExtractor() if extractor is None else check_component("extractor", extractor, "an extractor", "extract")
    )
    scope, progress = check_name("scope", scope), check_progress(progress)
    done = changed = 0
    with closing(open_store(path)) as store:
        model = _embedder_of(store, scope, embedder)
        documents = store.document_chunks(scope)
        for batch in _batches(documents):
            changed += _rechunk_batch(store, scope, batch, model, reader)
            done += len(batch)
            if progress is not None:
                progress(done, len(documents))
    return changed


def _embedder_of(store: RowStore, scope: str, embedder: Embedder | None) -> Embedder:
    """The embedder of a scope: ``embedder``, or by default the packaged embedder that wrote the scope."""
    known = next((info.embedder for info in store.scopes() if info.name == scope), None)
    model = packaged_embedder(known) if embedder is None else embedder
    if known not in {None, model.name}:
        raise EmbedderMismatch(
            f"scope {scope!r} was embedded by {known!r}, not {model.name!r}; rechunk it with the first, or "
            "change its embedder with ecphora.reembed"
        )
    return model


_ChunkIds = Mapping[NodeId, Sequence[NodeId]]
"""The ids of the chunks of some documents, by the documents' ids."""


def _batches(documents: _ChunkIds) -> Iterator[_ChunkIds]:
    batch: dict[NodeId, Sequence[NodeId]] = {}
    size = 0
    for document, chunk_ids in documents.items():
        batch[document] = chunk_ids
        size += len(chunk_ids)
        if size >= BATCH_SIZE:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _rechunk_batch(store: RowStore, scope: str, documents: _ChunkIds, embedder: Embedder, extractor: Extractor) -> int:
    """Cut some documents, again if another process changed them meanwhile; return how many changed."""
    current = documents
    for _ in range(MAX_RETRIES):
        stored = [store.nodes(scope, current[one]) for one in documents if one in current]
        diffs = [diff for diff in _changed_documents(stored) if _has_free_ids(store, scope, diff)]
        rechunked = list(_build_new_chunks(diffs, embedder, extractor))
        try:
            if rechunked:
                store.rechunk(scope, rechunked)
        except StaleWrite:
            current = store.document_chunks(scope)
            _embedder_of(store, scope, embedder)  # another process may have changed it
            continue
        return len(rechunked)
    raise StoreBusy(f"other processes changed scope {scope!r} {MAX_RETRIES} times meanwhile; try again")


_ChunkDiff = tuple[tuple[Node, ...], tuple[Node, ...]]
"""The old and the new chunks of a document."""


def _changed_documents(chunk_lists: Iterable[Sequence[Node]]) -> Iterator[_ChunkDiff]:
    """The documents that today's version cuts into other chunks."""
    for old in chunk_lists:
        new = documents.chunks(documents.reassemble(old)) if old else ()
        if [_chunk_key(node) for node in old] != [_chunk_key(node) for node in new]:
            yield tuple(old), new


def _chunk_key(node: Node) -> tuple[NodeId, str, int, int, str | None]:
    return node.id, node.text, node.position, node.start, node.heading


def _has_free_ids(store: RowStore, scope: str, diff: _ChunkDiff) -> bool:
    """Whether no other memory has the id of a new chunk; otherwise the document stays as it is."""
    old, new = diff
    known = {node.id for node in old}
    return not store.nodes(scope, [node.id for node in new if node.id not in known])


def _build_new_chunks(
    diffs: Sequence[_ChunkDiff], embedder: Embedder, extractor: Extractor
) -> Iterator[RechunkedDocument]:
    nodes = [node for _, new in diffs for node in new]
    vectors = encode.embed_nodes(embedder, nodes)
    second = english_embedder(embedder)
    english_vectors = embed_english(second, nodes)
    extractions = encode.extract(extractor, nodes)
    for old, new in diffs:
        before, after = [node.text for node in old], [node.text for node in new]
        batch = encode.encode(
            [documents.CheckedEpisode(new[0].document or new[0].id, new, None, has_date=True)],
            Graph(),
            vectors={node.id: vectors[node.id] for node in new},
            extractions={node.id: extractions[node.id] for node in new},
            embedder=embedder.name,
            now=new[0].recorded_at,
        )
        english = {node.id: english_vectors[node.id] for node in new if node.id in english_vectors}
        batch = with_english_vectors(batch, english, second)
        yield RechunkedDocument(
            old, new, batch, align_chunks(before, after), align_chunks(after, before), _claim_id_lookup(new)
        )


def _claim_id_lookup(chunks: Sequence[Node]) -> Callable[[int, str], NodeId | None]:
    """A function from a chunk's position and a statement to the claim's id; a chunk's statements are read when
    needed."""

    @cache
    def claim_ids(place: int) -> Mapping[str, NodeId]:
        node = chunks[place]
        numbered = enumerate(statements(node.text, node.speaker, node.happened_at))
        return {statement.text: claim_id(node.id, number) for number, statement in reversed(list(numbered))}

    return lambda place, text: claim_ids(place).get(text)
