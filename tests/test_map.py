"""Pictures: what is drawn is what is there."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from shardproof import ChunkLayout, ShardLayout, check_checkpoint, open_checkpoint, prove
from shardproof.errors import ShardproofError
from shardproof.report.gallery import DOUBLED, GAPS, picture_of
from shardproof.report.listing import Listed
from shardproof.report.page import page
from shardproof.report.scene import PANELS, RECTANGLES, SEVERAL, scene_of
from shardproof.report.svg import PALETTE, STYLE, Legend, drawing

SVG = "{http://www.w3.org/2000/svg}"
SAMPLES = Path(__file__).parent / "data" / "samples"


def legend(names=("one", "two", "three"), tell=lambda row: f"chunk {row}"):
    return Legend("file", dict(enumerate(names)), tell)


def rectangles(text, look):
    root = ET.fromstring(text)
    return [
        (element, *(float(element.get(side)) for side in ("x", "y", "width", "height")))
        for element in root.iter(f"{SVG}rect")
        if look in element.get("class", "").split()
    ]


def grid(shape, tile):
    cells = np.stack(np.meshgrid(*(np.arange(0, d, t) for d, t in zip(shape, tile, strict=True)), indexing="ij"), -1)
    offsets = cells.reshape(-1, len(shape))
    return ChunkLayout(shape, offsets, np.minimum(np.array(tile), np.array(shape) - offsets))


def test_rectangles_are_the_chunks_in_true_proportion():
    chunks = ChunkLayout((8, 12), [(0, 0), (0, 5), (3, 0)], [(3, 5), (3, 7), (5, 12)])
    drawn = rectangles(drawing(scene_of(chunks, [0, 1, 2]), legend(), "w"), "c")
    assert [int(element.get("data-chunk")) for element, *_ in drawn] == [0, 1, 2]
    _, left, top, width, _ = drawn[2]
    scale = width / 12
    for (_, x, y, wide, high), (offsets, sizes) in zip(
        drawn, zip(chunks.offsets.tolist(), chunks.sizes.tolist(), strict=True), strict=True
    ):
        assert (x - left) / scale == pytest.approx(offsets[1], abs=0.02)
        assert (y - top) / scale + 3 == pytest.approx(offsets[0], abs=0.02)
        assert (wide / scale, high / scale) == pytest.approx((sizes[1], sizes[0]), abs=0.02)


def test_each_slice_of_a_tensor_of_higher_rank_has_its_chunks():
    chunks = grid((4, 6, 8, 3, 2), (2, 6, 2, 3, 1))
    scene = scene_of(chunks)
    assert (scene.down, scene.across, scene.slices) == (0, 2, 2)
    seen = [area.of for panel in scene.panels for area in panel.chunks]
    assert sorted(seen) == list(range(16))
    assert {panel.slab for panel in scene.panels} == {((1, 0, 6), (3, 0, 3), (4, n, n + 1)) for n in (0, 1)}


@pytest.mark.parametrize(
    ("shape", "chunks", "areas", "empty", "faulty"),
    [
        ((), [((), ())], 1, 0, 0),
        ((7,), [((0,), (3,)), ((3,), (4,)), ((7,), (0,))], 2, 1, 0),
        ((0, 3), [((0, 0), (0, 3))], 0, 1, 0),
        ((4,), [((2,), (4,)), ((9,), (1,)), ((-1,), (2,)), ((2**62,), (2**62,))], 1, 0, 3),
        ((2**63 - 1, 2), [((0, 0), (1, 2)), ((2**63 - 2, 0), (2**62, 1)), ((1, 0), (2**63 - 3, 2))], 3, 0, 0),
        ((-3,), [((0,), (1,))], 0, 0, 0),
    ],
)
def test_whatever_a_layout_holds_is_drawn_or_counted(shape, chunks, areas, empty, faulty):
    layout = ChunkLayout(shape, [offsets for offsets, _ in chunks], [sizes for _, sizes in chunks])
    scene = scene_of(layout)
    drawn = sum(len(panel.chunks) for panel in scene.panels)
    assert (drawn, scene.empty) == (areas, empty)
    assert scene.faulty == faulty or not scene.panels
    ET.fromstring(drawing(scene, legend(), "w"))


def test_gaps_are_hatched_and_doubled_elements_outlined_where_findings_say():
    chunks = ChunkLayout((8, 4), [(0, 0), (4, 0)], [(4, 4), (2, 4)])
    scene = scene_of(chunks, gaps=[((6, 0), (2, 4))], doubled=[((0, 0), (1, 1))])
    text = drawing(scene, legend(), "w")
    ((_, _, gap_top, _, gap_height), *_), ((_, _, _, width, _), *_) = rectangles(text, "gap"), rectangles(text, "two")
    ((_, _, top, wide, high), _) = rectangles(text, "c")
    assert ((gap_top - top) / high * 4, gap_height / high * 4) == pytest.approx((6, 2), abs=0.02)
    assert width == pytest.approx(wide / 4, abs=0.02)


def test_the_smallest_gap_is_seen_inside_the_picture_even_at_the_last_element():
    for dim in (10**9, 2**63 - 1):
        scene = scene_of(ChunkLayout((dim,), [(0,)], [(dim - 1,)]), gaps=[((dim - 1,), (1,))])
        text = drawing(scene, legend(), "w")
        ((_, x, _, width, _), *_), ((_, left, _, wide, _),) = rectangles(text, "gap"), rectangles(text, "edge")
        assert width >= 2
        assert left < x < x + width <= left + wide + 0.01


def test_a_tensor_without_chunks_is_a_gap_all_over():
    chunks = ChunkLayout((6, 4), [(2, 0)], [(0, 4)])
    page_of_one = chunks._repr_html_()
    svg = page_of_one[page_of_one.index("<svg") : page_of_one.index("</svg>") + 6]
    ((gap, *place), *_), ((_, *edge),) = rectangles(svg, "gap"), rectangles(svg, "edge")
    assert place == edge
    assert "SP302" in gap[0].text


def test_equal_chunks_share_a_label():
    chunks = ChunkLayout((8, 4), [(0, 0), (4, 0), (4, 0)], [(4, 4)] * 3)
    root = ET.fromstring(drawing(scene_of(chunks), legend(), "w"))
    assert {element.text for element in root.iter(f"{SVG}text")} >= {"0", "1, 2"}


def test_names_from_files_stay_text():
    hostile = "<script>alert(1)</script>\"'&{y}\x1b[2J"
    scene = scene_of(ChunkLayout((2,), [(0,)], [(2,)]), [0])
    text = drawing(scene, legend((hostile.replace("\x1b", ""),), lambda _: hostile.replace("\x1b", "")), "<b>&")
    assert "<script" not in text
    root = ET.fromstring(text)
    words = [element.text or "" for element in root.iter() if element.tag in {f"{SVG}text", f"{SVG}title"}]
    assert sum("<script>alert(1)</script>" in word for word in words) == 2


def test_a_million_chunks_are_a_small_picture():
    chunks = grid((10_000, 10_000), (10, 10))
    scene = scene_of(chunks, np.arange(len(chunks)) % 7, gaps=[((40, 40), (10, 10))])
    assert scene.panels[0].cells is not None
    assert np.allclose(scene.panels[0].cells.covered, 1)
    text = drawing(scene, legend(tuple("abcdefg")), "w")
    assert len(text) < 600_000
    assert len(rectangles(text, "gap")) == 2  # the gap, and its entry in the legend


def test_cells_shade_what_is_only_partly_covered():
    chunks = grid((400, 400), (5, 5))
    kept = np.flatnonzero(chunks.offsets[:, 0] < 200)
    assert len(kept) > RECTANGLES
    half = scene_of(ChunkLayout((400, 400), chunks.offsets[kept], chunks.sizes[kept])).panels[0].cells
    rows = len(half.covered)
    assert np.allclose(half.covered[: rows // 2], 1)
    assert np.allclose(half.covered[rows // 2 :], 0)


def test_cells_have_the_colour_of_their_chunks_where_they_agree():
    chunks = grid((400, 400), (5, 5))
    left = chunks.offsets[:, 1] < 200
    halves = scene_of(chunks, np.where(left, 3, 4)).panels[0].cells.owners
    assert set(halves[:, :20].ravel().tolist()) == {3}
    assert set(halves[:, -20:].ravel().tolist()) == {4}
    fine = grid((400, 400), (2, 2))
    mixed = scene_of(fine, np.arange(len(fine)) % 7)
    assert (mixed.panels[0].cells.owners == SEVERAL).all()
    assert "several files" in drawing(mixed, legend(), "w")


def test_chunks_at_the_end_of_a_huge_dimension_are_in_the_last_cell():
    end = 2**61
    starts = np.arange(end - RECTANGLES - 5, end)[:, None]
    cells = scene_of(ChunkLayout((end,), starts, np.ones_like(starts)), np.full(len(starts), 5)).panels[0].cells
    assert cells.owners[0, -1] == 5


def test_a_fault_in_a_late_slice_is_drawn():
    chunks = grid((1000, 8, 8), (1, 2, 2))
    missing = 16 * 700 + 5
    kept = [row for row in range(len(chunks)) if row != missing]
    broken = ChunkLayout(chunks.global_shape, chunks.offsets[kept], chunks.sizes[kept])
    (box,) = [finding.box for finding in prove(broken).findings]
    # The first dimension is cut most: one of the others is sliced.
    scene = scene_of(broken, gaps=[box])
    assert sum(len(panel.gaps) for panel in scene.panels) == 1
    deep = grid((40, 6, 6, 6), (1, 1, 1, 1))
    scene = scene_of(deep, doubled=[((3, 4, 5, 5), (1, 1, 1, 1))])
    assert (scene.slices, len(scene.panels)) == (36, PANELS)
    ((area, panel),) = [(area, panel) for panel in scene.panels for area in panel.doubled]
    assert panel is scene.panels[-1]
    assert (panel.slab, area.top) == (((2, 5, 6), (3, 5, 6)), 3)


def test_a_chunk_that_sticks_out_is_cut_and_outlined():
    chunks = ChunkLayout((10, 8), [(0, 0), (6, 0)], [(6, 8), (6, 8)])
    text = drawing(scene_of(chunks), legend(), "w")
    (out, _), (_, cut) = rectangles(text, "out"), rectangles(text, "c")
    assert out[1:] == cut[1:]
    assert out[4] / cut[3] == pytest.approx(4 / 8, abs=0.01)
    assert "ends outside the tensor\nchunk 1" in text
    assert rectangles(drawing(scene_of(grid((10, 8), (5, 8))), legend(), "w"), "out") == []


def test_places_beyond_a_limit_are_counted():
    wrong = [((n,), (1,)) for n in range(0, 2000, 2)]
    text = drawing(scene_of(ChunkLayout((2000,), [], []), gaps=wrong), legend(), "w")
    assert len(rectangles(text, "gap")) == 401
    assert "600 more places not marked" in text


def luminance(color):
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_texts_can_be_read_on_what_is_behind_them():
    """Contrast as WCAG 2 defines it: 4.5 for text, and 3 for lines."""
    schemes = [dict(re.findall(r"--(\w+):(#\w+)", block)) for block in re.findall(r"\.sp\{--[^}]*", STYLE)]
    pairs = [(fill, text, 4.5) for fill, text in PALETTE]
    pairs += [(look["bg"], look[name], 4.5) for look in schemes for name in ("fg", "dim", "bad")]
    pairs += [(look["bg"], look["mix"], 1.5) for look in schemes]
    assert len(pairs) == 16
    for one, other, least in pairs:
        bright, dark = sorted(map(luminance, (one, other)), reverse=True)
        assert (bright + 0.05) / (dark + 0.05) >= least, (one, other)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "shardproof", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_every_sample_is_drawn_with_the_findings_of_its_report():
    pages = tensors = marked = 0
    for directory in sorted(SAMPLES.glob("*/*")):
        try:
            checkpoint = open_checkpoint(str(directory))
        except ShardproofError:
            continue
        report = check_checkpoint(checkpoint, max_findings=10_000)
        listed = [Listed(part, tensor) for part in checkpoint.parts.values() for tensor in part.tensors.values()]
        text = page(listed, report, report.findings, color_by="process")
        assert "<script" not in text
        assert text.count("<section") == min(len(listed), 40)
        pages += 1
        for one in listed:
            picture = picture_of(one, report.findings)
            ET.fromstring(picture.svg)
            boxes = {f.box for f in picture.findings if f.box and f.code in GAPS | DOUBLED}
            drawn = rectangles(picture.svg, "gap") + rectangles(picture.svg, "two")
            legends = sum(bool(rectangles(picture.svg, look)) for look in ("gap", "two"))
            assert bool(boxes) == bool(drawn)
            assert len(drawn) - legends >= len(boxes)
            tensors += 1
            marked += bool(boxes)
    assert pages > 40
    assert tensors > 200
    assert marked > 10


def test_a_pointer_on_a_fault_shows_its_finding():
    checkpoint = open_checkpoint(str(SAMPLES / "torch_dcp" / "volume_ok_gap_and_overlap"))
    report = check_checkpoint(checkpoint)
    (part,) = checkpoint.parts.values()
    svg = picture_of(Listed(part, part.tensors["w"]), report.findings).svg
    assert "SP301 chunk-gap: 6 elements are not covered\n(0, 7)+(3, 2)" in svg
    assert "SP303 chunk-overlap: 6 elements are covered 2 times\nchunks 0, 1, (0, 3)+(3, 2)" in svg


@pytest.mark.parametrize("color_by", ["file", "process"])
def test_names_of_files_cannot_break_a_picture(color_by, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    numpy.save_file({"<b>\x07": np.zeros(3)}, tmp_path / "<i>\x1b&.safetensors")
    checkpoint = open_checkpoint(str(tmp_path))
    (part,) = checkpoint.parts.values()
    svg = picture_of(Listed(part, part.tensors["<b>\x07"]), [], color_by=color_by).svg
    words = [element.text or "" for element in ET.fromstring(svg).iter()]
    assert "<i>\\x1b&.safetensors" in words


def test_a_page_draws_few_chunks_in_all(monkeypatch):
    checkpoint = open_checkpoint(str(SAMPLES / "torch_dcp" / "two_faults"))
    (part,) = checkpoint.parts.values()
    listed = [Listed(part, tensor) for tensor in part.tensors.values()]
    report = check_checkpoint(checkpoint)
    assert len(listed) == 4
    # Room for all, and for the first tensor alone: of one that has no room, no chunk is drawn.
    for most, few, drawn, cells in ((4000, 64, 13, 0), (3, 2, 3, 3)):
        monkeypatch.setattr("shardproof.report.page._RECTANGLES", most)
        monkeypatch.setattr("shardproof.report.page._FEW", few)
        text = page(listed, report, report.findings, color_by="file")
        assert (text.count("data-chunk"), text.count('class="cells"')) == (drawn, cells)
        assert text.count("SP301 chunk-gap") == 2 * report.findings.counts["SP301"]


def test_the_command_writes_a_page_and_one_tensor(tmp_path):
    sample = SAMPLES / "torch_dcp" / "two_faults"
    done = run("map", sample, "-o", tmp_path / "map.html")
    assert (done.returncode, done.stderr) == (0, "")
    text = (tmp_path / "map.html").read_text()
    assert text.startswith("<!doctype html>")
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert run("map", sample, "w7", "-o", tmp_path / "w7.svg").returncode == 0
    assert len(rectangles((tmp_path / "w7.svg").read_text(), "c")) == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["map", SAMPLES / "torch_dcp" / "two_faults", "-o", "x.png"], ".svg or .html"),
        (["map", SAMPLES / "torch_dcp" / "two_faults", "-o", "x.svg"], "one tensor"),
        (["map", SAMPLES / "torch_dcp" / "two_faults", "w77", "-o", "x.svg"], "did you mean w7?"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_sentence(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_everything_shows_itself_in_a_notebook():
    broken = ChunkLayout((8, 4), [(0, 0), (4, 0)], [(4, 4), (2, 4)])
    picture = broken._repr_html_()
    assert "2 chunks, not whole" in picture
    assert len(rectangles(picture, "gap")) == 2
    assert "SP301" in prove(broken)._repr_html_()
    local = ShardLayout((16,), [(0,), (12,)], [(0,), (3,)], [(4,), (4,)], (8,))._repr_html_()
    assert len(rectangles(local[: local.index("</svg>") + 6], "two")) == 2
    assert "SP308" in local
    assert "SP101" in ShardLayout((16,), [(0,)], [], [(4,)], (8,))._repr_html_()
    sample = str(SAMPLES / "torch_dcp" / "two_faults")
    assert "broken" in check_checkpoint(sample)._repr_html_()
    bars = open_checkpoint(sample)._repr_html_()
    assert bars.count('class="bar"') == 4
    assert "href" not in bars


def test_the_picture_in_the_readme_is_what_the_tool_draws(tmp_path):
    root = SAMPLES.parents[2]
    line = re.search(r"\$ shardproof (map .*) -o (docs/.*\.svg)\n", (root / "README.md").read_text())
    arguments = [str(root / word) if word.startswith("tests/") else word for word in line[1].split()]
    assert run(*arguments, "-o", tmp_path / "map.svg").returncode == 0
    assert (tmp_path / "map.svg").read_text() == (root / line[2]).read_text(), f"shardproof {line[1]} -o {line[2]}"
