"""The table of codes."""

import re
import string
from pathlib import Path

from shardproof import _core
from shardproof.explanations import EXPLANATIONS
from shardproof.findings import KINDS, Finding
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


def test_sentences_count_one_thing_as_one():
    counted = 0
    for code, kind in KINDS.items():
        fields = [field for _, field, _, _ in string.Formatter().parse(kind.sentence) if field]
        counted += any("|" in field for field in fields)
        for number in (1, 2):
            values = dict.fromkeys((field.partition("|")[0] for field in fields), number)
            finding = Finding(code=code, severity=kind.severity, dimension=number, values=values)
            sentence = finding.sentence
            assert "|" not in sentence
            wrong = (
                r"\b1 \w*(elements|bytes|chunks|times|numbers|entries|tensors|replicas) "
                if number == 1
                else r"^2 \w+ is "
            )
            assert not re.search(wrong, sentence + " "), sentence
    assert counted >= 20
