"""The table of codes."""

from pathlib import Path

from shardproof import _core
from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS
from shardproof.report.catalogue import findings_page


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


def test_the_page_of_findings_is_what_explain_says():
    page = findings_page()
    written = (Path(__file__).parents[1] / "docs" / "findings.md").read_text()
    assert written == page, "run `make docs`"
    assert page.count("\n### SP") == len(KINDS) >= 70
    for code, explanation in EXPLANATIONS.items():
        start = page.index(f"### {code} ")
        words = " ".join(page[start:].partition("\n### ")[0].split())
        assert all(" ".join(answer.split()) in words for answer in explanation), code
