"""The check of words: what it finds, and what it leaves alone."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import words  # noqa: E402


@pytest.mark.parametrize(
    "text,word,instead",
    [
        ("// by the copy engine\n", "copy engine", "TMA"),
        ("\n# loads are copied ahead", "copied ahead", "prefetched, software-pipelined"),
        ("Number of multiprocessors", "of multiprocessors", "SM"),
        ("computed anew.", "anew", "again"),
        ("copies are under way", "under way", "in flight"),
        ("an MMA under way", "under way", "in flight"),
        ("waits for the couriers", "couriers", "helper warp"),
        ("the givers of a tile", "givers", "peer CTA"),
        ("in fed loops", "fed loops", "warp-specialisable loop"),
        ("load is raised to a tensor map", "raised to a tensor map", "convert to TMA"),
        ("a ring of buffers", "ring", "circular buffer"),
        ("rows that memory tells", "memory tells", "data-dependent"),
        ("it parks rows", "parks", "spill to shared memory"),
        ("the parked values", "parked values", "spill to shared memory"),
        ("is widened late", "widened late", "rematerialise"),
        ("two blocks per SM", "blocks per SM", "CTA"),
        ("a Matrix product of halves", "Matrix product", "GEMM, dot"),
        ("registers beside those", "beside", "next to, in addition to"),
        ("in front of the loop", "in front of", "before"),
        ("carried for nobody", "nobody", "no thread, nothing"),
        ("a dearer way", "dearer", "expensive"),
        ("it was mended since", "mended", "fix"),
        ("func @copy_to_a_ring(%p)", "ring", "circular buffer"),
        ("Tests `waits_in_front_of_it`.", "in_front_of", "before"),
        ("Sixteen bytes an access", "Sixteen bytes an access", "per"),
        ("with 128 registers a thread", "128 registers a thread", "per"),
    ],
)
def test_an_older_word_is_found(text, word, instead):
    (found,) = words.findings(text)
    assert found == (text.count("\n", 0, text.index(word)) + 1, word, instead)


@pytest.mark.parametrize(
    "text",
    [
        "multiprocessor_count",
        "a SM",
        "amend",
        "engines copy",
        "renewed",
        "kind=key-ring",
        "a string",
        "besides",
        "besideTiles",
        "front ends",
        "the product of two numbers",
        "a round number",
        "how many registers a thread uses",
        "regs_per_multiprocessor",
    ],
)
def test_other_words_are_left_alone(text):
    assert not list(words.findings(text))


def test_the_tree_has_none():
    assert words.main([]) == 0
