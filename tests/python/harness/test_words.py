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
    ],
)
def test_an_older_word_is_found(text, word, instead):
    (found,) = words.findings(text)
    assert found == (text.count("\n", 0, text.index(word)) + 1, word, instead)


@pytest.mark.parametrize(
    "text", ["multiprocessor_count", "a SM", "amend", "engines copy", "renewed"]
)
def test_other_words_are_left_alone(text):
    assert not list(words.findings(text))


def test_the_tree_has_none():
    assert words.main([]) == 0
