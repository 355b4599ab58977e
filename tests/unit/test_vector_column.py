"""Vectors in 8-bit integers, in columns and in the file."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecphora.errors import WrongVector
from ecphora.model.graph.vectors import BLOCK, MIN_DIM, VectorColumn, dequantize, quantize
from ecphora.model.types import Vectors
from ecphora.stores.rows.row_mapping import blob_dim, blobs_to_vectors, vector_to_blob

DIMS = st.sampled_from([3, MIN_DIM - 1, MIN_DIM, MIN_DIM + 1, 384])


def unit_vectors(count: int, dim: int, seed: int = 0) -> Vectors:
    generator = np.random.default_rng(seed)  # noqa: TID251  # a fixed seed
    values = generator.standard_normal((count, dim)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


@given(st.integers(0, 1000), st.floats(1e-6, 1e4))
def test_quantized_vectors_stay_the_same_when_quantized_again(seed: int, length: float) -> None:
    levels, scales = quantize(unit_vectors(3, 70, seed) * np.float32(length))
    again = quantize(dequantize(levels, scales))
    assert (levels.tolist(), scales.tolist()) == (again[0].tolist(), again[1].tolist())


def test_error_of_a_cosine_is_small() -> None:
    vectors, question = unit_vectors(2000, 384), unit_vectors(1, 384, seed=1)[0]
    errors = VectorColumn.from_vectors(vectors).dot(question) - vectors @ question
    assert np.std(errors) < 4e-4
    assert np.abs(errors).max() < 2e-3


def test_zeros_stay_zeros() -> None:
    assert not VectorColumn.from_vectors(np.zeros((2, MIN_DIM), np.float32)).view.any()


@given(DIMS, st.integers(1, 5), st.integers(0, 5))
def test_column_that_has_grown_is_that_of_all_vectors(dim: int, first: int, more: int) -> None:
    vectors, question = unit_vectors(first + more, dim), unit_vectors(1, dim, seed=1)[0]
    whole, part = VectorColumn.from_vectors(vectors), VectorColumn.from_vectors(vectors[:first])
    unpacked = VectorColumn.from_vectors(vectors[:first])
    assert unpacked.view.shape == (first, dim)
    for grown in (part.append(vectors[first:]), unpacked.append(vectors[first:])):
        assert (len(grown), grown.dim) == (first + more, dim)
        assert grown.rows(np.arange(first + more)).tolist() == whole.view.tolist()
        assert grown.dot(question).tolist() == whole.dot(question).tolist()
    assert len(part) == first
    kept = np.arange(first + more) % 2 == 0
    assert whole.select(kept).view.tolist() == whole.view[kept].tolist()


def test_dot_is_that_of_the_unpacked_vectors_in_every_block() -> None:
    column = VectorColumn.from_vectors(unit_vectors(2 * BLOCK + 7, 384))
    question = unit_vectors(1, 384, seed=1)[0]
    assert np.allclose(column.dot(question), column.view @ question, atol=1e-6)
    assert column.rows(BLOCK).tolist() == column.view[BLOCK].tolist()


# ---- bytes in the file


@given(DIMS)
def test_bytes_say_how_many_numbers_they_have(dim: int) -> None:
    column = VectorColumn.from_vectors(unit_vectors(4, dim))
    blobs = [vector_to_blob(vector, dim, "a") for vector in column.view]
    values, sound = blobs_to_vectors(blobs, dim)
    assert {blob_dim(blob) for blob in blobs} == {dim}
    assert sound.all()
    assert np.allclose(values.view, column.view, atol=1e-3)
    assert dim < MIN_DIM or values.view.tolist() == column.view.tolist()


def test_damaged_bytes_are_no_vector() -> None:
    (vector,) = unit_vectors(1, 384)
    blob = bytearray(vector_to_blob(vector, 384, "a"))
    scale, padding = bytearray(blob), bytearray(blob)
    scale[384:386], padding[-1] = b"\xff\xff", 7
    values, sound = blobs_to_vectors([bytes(blob), bytes(scale), bytes(padding), b"x", None], 384)
    assert sound.tolist() == [True, False, False, False, False]
    assert not values.view[1:].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e9])
@pytest.mark.parametrize("dim", [3, 384])
def test_vector_that_is_not_finite_raises(value: float, dim: int) -> None:
    with pytest.raises(WrongVector, match="not finite"):
        vector_to_blob(np.full(dim, value, np.float32), dim, "a")
