"""The table of codes."""

from shardproof import _core
from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS


def test_the_core_and_the_table_know_the_same_codes():
    table = [(kind.number, kind.name) for kind in KINDS.values()]
    assert table == _core.finding_codes()
    assert len(table) >= 70
    assert table == sorted(table)


def test_every_code_is_explained_in_whole_sentences():
    assert list(EXPLANATIONS) == list(KINDS)
    for code, explanation in EXPLANATIONS.items():
        for answer in explanation:
            assert answer.strip() == answer, code
            assert answer.endswith("."), code
