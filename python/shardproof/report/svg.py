"""Drawing a tensor's chunks as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from shardproof.report.place import box, count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shardproof.report.scene import Area, Cells, Panel, Scene

__all__ = ["STYLE", "Legend", "drawing"]

_WIDEST: Final = 640
_HIGHEST: Final = 320
_THINNEST: Final = 26
_MARGIN: Final = 46
_LINE: Final = 16
_LETTER: Final = 6.4
"""Pixels of a letter, a little more than it takes."""
_LEGEND: Final = 10

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), and of the text on them.
_PALETTE: Final = (
    ("#0072b2", "#fff"),
    ("#e69f00", "#111"),
    ("#009e73", "#fff"),
    ("#cc79a7", "#111"),
    ("#56b4e9", "#111"),
    ("#d55e00", "#fff"),
    ("#f0e442", "#111"),
    ("#7a7a7a", "#fff"),
)

STYLE: Final = (
    ".sp{--fg:#1c1e21;--bg:#fff;--dim:#63686e;--bad:#c4161c;font:12px ui-monospace,SFMono-Regular,Menlo,monospace}"
    "@media(prefers-color-scheme:dark){.sp{--fg:#e8e6e3;--bg:#17191c;--dim:#a0a5ab;--bad:#ff7b72}}"
    ".sp text{fill:var(--fg)}.sp .dim{fill:var(--dim)}.sp .page{fill:var(--bg)}.sp .edge{fill:none;stroke:var(--dim)}"
    ".sp .c{stroke:var(--bg);stroke-width:1}.sp .c:hover{stroke:var(--fg);stroke-width:2}"
    ".sp .gap{fill:url(#sp-gap);stroke:var(--bad);stroke-width:1.5}.sp .hatch{stroke:var(--bad);stroke-width:1.5}"
    ".sp .two{fill:none;stroke:var(--bad);stroke-width:3}"
    + "".join(f".sp .o{n}{{fill:{fill}}}.sp .t{n}{{fill:{text}}}" for n, (fill, text) in enumerate(_PALETTE))
)

_GAP: Final = (
    '<defs><pattern id="sp-gap" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="page" width="7" height="7"/><path class="hatch" d="M0 0V7"/></pattern></defs>'
)


@dataclass(frozen=True, slots=True)
class Legend:
    """What the colours mean.

    Attributes
    ----------
    what
        What a colour stands for: ``"file"`` or ``"process"``.
    names
        Name of each owner, by number.
    tell
        Says of a chunk, by its row, what a pointer on it should show.
    """

    what: str
    names: Sequence[str]
    tell: Callable[[int], str]


def drawing(scene: Scene, legend: Legend, title: str, *, style: bool = True) -> str:
    """Draw a scene.

    Parameters
    ----------
    scene
        The panels.
    legend
        Colours and what they mean.
    title
        What stands above.
    style
        Whether the drawing has its own style; a page has it once.

    Returns
    -------
    str
        An ``<svg>`` element that needs nothing else.
    """
    scale = _Scale.of(scene)
    pieces: list[str] = []
    top = 0
    for line in filter(None, [title, *_facts(scene, scale)]):
        top += _LINE
        look = ' class="dim"' if line is not title else ""
        pieces.append(f'<text x="4" y="{top}"{look}>{escape(line)}</text>')
    entries = _legend(scene, legend)
    beside = scale.width < _WIDEST / 2
    bottom = 0
    for number, panel in enumerate(scene.panels):
        if panel.slab:
            top += _LINE + 4
            where = ", ".join(f"dim {d} from {start} to {stop}" for d, start, stop in panel.slab)
            pieces.append(f'<text x="{_MARGIN}" y="{top}">{escape(where)}</text>')
        top += _LINE
        pieces += _panel(scene, panel, scale, legend, top + 4)
        if beside and number == 0:
            bottom = _placed(entries, _MARGIN + round(scale.width) + 28, top - 4, pieces)
        top += round(scale.height) + 8
    top = max(top, bottom) if beside and scene.panels else _placed(entries, _MARGIN, top, pieces)
    width, height = _WIDEST + _MARGIN + 12, top + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sp" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    )
    background = f'<rect class="page" width="{width}" height="{height}"/>'
    css = f"<style>{STYLE}</style>" if style else ""
    return "\n".join([head + css + _GAP + background, *pieces, "</svg>"])


class _Pixels(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    @property
    def attributes(self) -> str:
        """Where it is, as a rectangle says it."""
        return f'x="{self.left:.2f}" y="{self.top:.2f}" width="{self.width:.2f}" height="{self.height:.2f}"'


@dataclass(frozen=True, slots=True)
class _Scale:
    """Pixels of a panel."""

    width: float
    height: float
    true: bool
    across: float
    down: float

    @classmethod
    def of(cls, scene: Scene) -> _Scale:
        wide, high = max(scene.width, 1), max(scene.height, 1)
        if scene.down is None:
            return cls(_WIDEST, _THINNEST, True, _WIDEST / wide, _THINNEST)
        each = min(_WIDEST / wide, _HIGHEST / high)
        width, height = max(wide * each, 3 * _THINNEST), max(high * each, 3 * _THINNEST)
        return cls(width, height, width == wide * each and height == high * each, width / wide, height / high)

    def place(self, area: Area, top: float) -> _Pixels:
        """Find where an area of the panel that begins at `top` is."""
        left, right = _MARGIN + area.left * self.across, _MARGIN + area.right * self.across
        return _Pixels(left, top + area.top * self.down, right - left, (area.bottom - area.top) * self.down)


def _facts(scene: Scene, scale: _Scale) -> list[str]:
    shape = f"({', '.join(map(str, scene.global_shape))}{',' * (len(scene.global_shape) == 1)})"
    drawn = [f"dim {d} {way}" for d, way in ((scene.down, "down"), (scene.across, "across")) if d is not None]
    facts = [f"shape {shape}", *drawn]
    if not scene.panels:
        facts.append("nothing to draw: no elements")
    elif not scale.true:
        facts.append("not to scale")
    lines = [", ".join(facts)]
    more = []
    if scene.slices > len(scene.panels):
        more.append(f"the first {len(scene.panels)} of {count(scene.slices, 'slice')}")
    if any(panel.cells for panel in scene.panels):
        more.append("too many chunks to outline: a cell has the colour of one of its chunks")
    if scene.empty:
        more.append(f"{count(scene.empty, 'empty chunk')} not drawn")
    if scene.faulty:
        more.append(f"{count(scene.faulty, 'chunk')} outside the tensor")
    return lines + [", ".join(more)] * bool(more)


def _panel(scene: Scene, panel: Panel, scale: _Scale, legend: Legend, top: float) -> list[str]:
    pieces = [_edges(scene, panel, scale, top)]
    if panel.cells is not None:
        pieces += _cells(panel.cells, scale, top)
    for area in panel.chunks:
        color = int(scene.owners[area.chunk]) % len(_PALETTE)
        place = scale.place(area, top)
        hover = f"<title>{escape(legend.tell(area.chunk))}</title>"
        shape = f'<rect class="c o{color}" data-chunk="{area.chunk}" {place.attributes}>{hover}</rect>'
        pieces.append(shape + _label(str(area.chunk), color, place))
    wrong = ((panel.gaps, "gap", "no chunk covers this"), (panel.doubled, "two", "several chunks cover this"))
    for areas, look, words in wrong:
        for area in areas:
            place = scale.place(area, top)
            # Something is wrong here, however small it is.
            place = place._replace(width=max(place.width, 3), height=max(place.height, 3))
            where = box((area.top, area.left), (area.bottom - area.top, area.right - area.left))
            hover = f"<title>{words}: {escape(where)}</title>"
            pieces.append(f'<rect class="{look}" {place.attributes}>{hover}</rect>')
    pieces.append(f'<rect class="edge" {_Pixels(_MARGIN, top, scale.width, scale.height).attributes}/>')
    return pieces


def _label(text: str, color: int, place: _Pixels) -> str:
    if len(text) * _LETTER + 4 > place.width or place.height < _LINE - 2:
        return ""
    at = f'x="{place.left + place.width / 2:.1f}" y="{place.top + place.height / 2 + 4:.1f}"'
    return f'<text class="t{color}" pointer-events="none" text-anchor="middle" {at}>{text}</text>'


def _cells(cells: Cells, scale: _Scale, top: float) -> list[str]:
    """Rows of cells; neighbours that look the same are one rectangle."""
    pieces = []
    rows, columns = cells.covered.shape
    wide, high = scale.width / columns, scale.height / rows
    for y, (covered, owners) in enumerate(zip(cells.covered.tolist(), cells.owners.tolist(), strict=True)):
        looks = [_look(share, owner) for share, owner in zip(covered, owners, strict=True)]
        start = 0
        for x in range(1, columns + 1):
            if x < columns and looks[x] == looks[start]:
                continue
            if looks[start]:
                at = _Pixels(_MARGIN + start * wide, top + y * high, (x - start) * wide, high).attributes
                pieces.append(f"<rect {looks[start]} {at}/>")
            start = x
    return pieces


def _look(covered: float, owner: int) -> str:
    if covered < 1e-6:
        return ""
    color = f'class="o{owner % len(_PALETTE)}"' if owner >= 0 else 'class="dim"'
    return color if covered > 0.999 else f'{color} opacity="{max(covered, 0.15):.1f}"'


def _edges(scene: Scene, panel: Panel, scale: _Scale, top: float) -> str:
    """Offsets at the edges: the ends, and those between that have room."""
    pieces = []
    if scene.across is not None:
        ends = sorted({0, scene.width, *(end for area in panel.chunks for end in (area.left, area.right))})
        for end in _apart(ends, scale.across, len(str(ends[-1])) * _LETTER + 6):
            x = _MARGIN + end * scale.across
            pieces.append(f'<text class="dim" text-anchor="middle" x="{x:.1f}" y="{top - 4:.1f}">{end}</text>')
    if scene.down is not None:
        ends = sorted({0, scene.height, *(end for area in panel.chunks for end in (area.top, area.bottom))})
        for end in _apart(ends, scale.down, _LINE):
            y = top + end * scale.down + 4
            pieces.append(f'<text class="dim" text-anchor="end" x="{_MARGIN - 5}" y="{y:.1f}">{end}</text>')
    return "".join(pieces)


def _apart(ends: list[int], each: float, room: float) -> list[int]:
    kept = [ends[0]]
    for end in ends[1:-1]:
        if (end - kept[-1]) * each >= room and (ends[-1] - end) * each >= room:
            kept.append(end)
    return [*kept, ends[-1]]


def _legend(scene: Scene, legend: Legend) -> list[tuple[str, str]]:
    """Say what each look means: a class, and words."""
    seen = sorted(set(scene.owners.tolist())) if scene.panels else []
    entries = []
    for owner in seen[:_LEGEND]:
        known = 0 <= owner < len(legend.names)
        entries.append((f"o{owner % len(_PALETTE)}", legend.names[owner] if known else f"no {legend.what}"))
    if len(seen) > _LEGEND:
        entries.append(("", f"and {len(seen) - _LEGEND:,} more"))
    if any(panel.gaps for panel in scene.panels):
        entries.append(("gap", "not covered by any chunk"))
    if any(panel.doubled for panel in scene.panels):
        entries.append(("two", "covered by several chunks"))
    return entries


def _placed(entries: list[tuple[str, str]], left: int, top: int, pieces: list[str]) -> int:
    """Write the legend from a place on; where it ends."""
    for look, words in entries:
        top += _LINE + 2
        if look:
            pieces.append(f'<rect class="{look}" x="{left}" y="{top - 10}" width="12" height="12"/>')
        pieces.append(f'<text x="{left + 20}" y="{top}">{escape(words)}</text>')
    return top
