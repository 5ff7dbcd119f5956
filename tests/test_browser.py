"""The page as a browser shows it: the right rectangles, no errors, no requests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from shardproof import check_checkpoint, open_checkpoint
from shardproof.report.listing import Listed
from shardproof.report.page import page

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("SHARDPROOF_CHROMIUM") or shutil.which("chromium")
SAMPLES = Path(__file__).parent / "data" / "samples"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium is installed")


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=["torch_dcp/two_faults", "torch_dcp_hf/offset_gap", "torch_dcp/duplicate_chunk"])
def written(request, tmp_path_factory):
    checkpoint = open_checkpoint(str(SAMPLES / request.param))
    report = check_checkpoint(checkpoint, max_findings=1000)
    listed = [Listed(part, tensor) for part in checkpoint.parts.values() for tensor in part.tensors.values()]
    path = tmp_path_factory.mktemp("page") / "map.html"
    path.write_text(page(listed, report, report.findings, color_by="file"), encoding="utf-8")
    return listed, path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_draws_every_chunk_where_it_is(browser, written, width, scheme):
    listed, path = written
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab = context.new_page()
    said, asked = [], []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    assert said == []
    assert asked == [path.as_uri()]
    # Nothing makes the page wider than the screen.
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    background = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    # What is wrong can be read without scrolling sideways.
    sentences = [
        box["x"] + box["width"] for box in (e.bounding_box() for e in tab.query_selector_all("table td")) if box
    ]
    assert sentences
    assert max(sentences) <= width
    seen = 0
    by_name = {one.tensor.fqn: one.tensor for one in listed}
    for section in tab.query_selector_all("section"):
        tensor = by_name[section.query_selector("h2").inner_text()]
        drawn = {
            int(element.get_attribute("data-chunk")): element.bounding_box()
            for element in section.query_selector_all("rect.c")
        }
        offsets, sizes = tensor.boxes
        full = [row for row in range(len(sizes)) if (sizes[row] > 0).all() and (offsets[row] >= 0).all()]
        assert sorted(drawn) == full
        if len(tensor.global_shape) != 2 or not full:
            continue
        edge = section.query_selector("rect.edge").bounding_box()
        scale = np.array([edge["height"], edge["width"]]) / tensor.global_shape
        for row, place in drawn.items():
            start = np.array([place["y"] - edge["y"], place["x"] - edge["x"]]) / scale
            length = np.array([place["height"], place["width"]]) / scale
            assert np.allclose(start, offsets[row], atol=0.15)
            assert np.allclose(length, sizes[row], atol=0.3)
            seen += 1
    assert seen > 2
    context.close()
