"""The house: layers, imports, public names, claims."""

import ast
import doctest
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest
import shardproof

PACKAGE = Path(shardproof.__file__).parent
ROOT = Path(__file__).parents[1]

# A module may import those above it; see the design notes in CONTRIBUTING.md.
LAYERS = [
    {"errors", "findings", "explanations", "_core"},
    {"metadata"},
    {"layout", "placement"},
    {"protocol", "proof", "reshard"},
    {"checkpoint"},
    {"adapters", "report"},
    {"cli", "__main__", "testing", "plugin"},
]
OUTSIDE = {"numpy", "click", "fsspec"}
# Only the module that pytest itself loads.
PLUGIN = {("plugin", "pytest")}
# Inside a function a lower layer may reach a higher one, where a record shows itself as a report.
UPWARD = {("checkpoint", "report"), ("layout", "report"), ("proof", "report")}


def modules():
    return sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py" or path.parent != PACKAGE)


def home_of(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imports(path):
    """Names that a module imports, each with whether it does so inside a function."""
    tree = ast.parse(path.read_text())
    inside = {id(node) for def_ in ast.walk(tree) if isinstance(def_, ast.FunctionDef) for node in ast.walk(def_)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"shardproof.{a.name}" for a in node.names] if node.module == "shardproof" else [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from ((name, id(node) in inside) for name in names)


def level(home):
    return next(number for number, homes in enumerate(LAYERS) if home in homes)


def test_layers_point_down_and_nothing_else_is_imported():
    edges = 0
    for path in modules():
        home = home_of(path)
        for name, is_local in imports(path):
            top, _, rest = name.partition(".")
            if top == "shardproof":
                target = rest.partition(".")[0]
                edges += 1
                assert level(target) <= level(home) or (is_local and (home, target) in UPWARD), f"{path}: {name}"
            else:
                allowed = top in OUTSIDE or top in sys.stdlib_module_names or (home, top) in PLUGIN
                assert allowed, f"{path}: {name}"
    assert edges >= 30


def test_every_public_name_is_where_it_says():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    typed = {
        alias.name: node.module.removeprefix("shardproof.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shardproof.")
        for alias in node.names
    }
    assert typed == shardproof._HOME
    assert set(shardproof.__all__) == set(typed)
    assert len(typed) >= 28
    for name in shardproof.__all__:
        assert getattr(shardproof, name) is not None
    assert set(dir(shardproof)) == set(shardproof.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = shardproof.nothing


def test_every_docstring_example_is_true():
    seen = 0
    for found in pkgutil.walk_packages([str(PACKAGE)], "shardproof."):
        if found.name.endswith("__main__"):
            continue
        result = doctest.testmod(importlib.import_module(found.name), optionflags=doctest.NORMALIZE_WHITESPACE)
        assert result.failed == 0, found.name
        seen += result.attempted
    assert seen >= 20


@pytest.mark.parametrize("page", sorted(path.name for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]))
def test_the_code_of_a_page_runs_and_prints_what_it_shows(page):
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    text = path.read_text()
    blocks = re.findall(r"```pycon\n(.*?)```", text, re.DOTALL)
    if page == "README.md":
        assert blocks
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, str(path), 0)
    failed, _ = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(session)
    assert failed == 0


def test_correctness_names_tests_that_exist():
    text = (ROOT / "CORRECTNESS.md").read_text()
    named = re.findall(r"`(tests/\w+\.py)`", text)
    assert len(named) >= 5
    for name in named:
        assert (ROOT / name).is_file(), name


def test_the_page_of_the_protocol_names_tests_that_exist():
    named = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "protocol.md").read_text())
    tests = "".join(path.read_text() for path in (ROOT / "tests").glob("test_*.py"))
    assert len(named) >= 11
    for name in named:
        assert f"def {name}(" in tests, name


def test_only_the_files_that_may_be_unsafe_are():
    rust = ROOT / "rust"
    assert "#![forbid(unsafe_code)]" in (rust / "core" / "src" / "lib.rs").read_text()
    sources = list((rust / "py" / "src").glob("*.rs"))
    assert len(sources) >= 10
    assert {path.name for path in sources if re.search(r"\bunsafe \{", path.read_text())} == {"arrays.rs", "ints.rs"}
    assert all("// SAFETY:" in (rust / "py" / "src" / name).read_text() for name in ("arrays.rs", "ints.rs"))
