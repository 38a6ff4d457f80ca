"""The check of tests' names: which need a docstring."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import names_of_tests  # noqa: E402


@pytest.mark.parametrize(
    "text,found",
    [
        ("def test_rows():\n    pass\n", [(1, "test_rows")]),
        ("import os\n\n\ndef test_fp8():\n    # a comment\n    pass\n", [(4, "test_fp8")]),
        ("class Tests:\n    def test_rows(self):\n        pass\n", [(2, "test_rows")]),
        ('def test_rows():\n    """Rows are sorted."""\n', []),
        ("def test_rows_are_sorted():\n    pass\n", []),
        ("def rows():\n    pass\n", []),
    ],
)
def test_which_names_are_found(text, found):
    assert list(names_of_tests.findings([text])) == [(0, *one) for one in found]


def test_names_that_stand_in_two_files_need_docstrings():
    texts = [
        "def test_two_words():\n    pass\n\n\ndef test_of_this_file():\n    pass\n",
        'def test_two_words():\n    """Of another thing."""\n',
        "def test_two_words():\n    pass\n",
    ]
    assert list(names_of_tests.findings(texts)) == [
        (0, 1, "test_two_words"),
        (2, 1, "test_two_words"),
    ]


def test_no_test_of_the_repository_is_found():
    assert names_of_tests.main([]) == 0
