"""Drawing a tensor's chunks as SVG."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

from shardproof.report.place import count
from shardproof.report.scene import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from shardproof.report.scene import Area, Cells, Panel, Scene

__all__ = ["STYLE", "Legend", "drawing"]

_WIDEST: Final = 560
_HIGHEST: Final = 300
_THINNEST: Final = 26
_BESIDE: Final = 36
"""Pixels right of a panel, for half of the number at its end."""
_LINE: Final = 16
_FINE: Final = 4
"""Pixels of a chunk below which a line between chunks would hide it."""
_LETTER: Final = 7.3
"""Pixels of a letter, a little more than it takes."""
_SMALLEST: Final = 5
"""Pixels of a place where something is wrong, however small it is."""
_NOTHING: Final = 1e-6
"""Part of a cell that is nothing: sums of a million chunks are that exact."""
_LETTERS: Final = 84
"""Letters of a line; of more the middle is left out."""

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), and of the text on them.
PALETTE: Final = (
    ("#0072b2", "#fff"),
    ("#e69f00", "#111"),
    ("#009e73", "#111"),
    ("#cc79a7", "#111"),
    ("#56b4e9", "#111"),
    ("#d55e00", "#111"),
    ("#f0e442", "#111"),
    ("#6e6e6e", "#fff"),
)

STYLE: Final = (
    ".sp{--fg:#1c1e21;--bg:#fff;--dim:#63686e;--bad:#c4161c;--mix:#b9c0c7;"
    "font:12px ui-monospace,SFMono-Regular,Menlo,monospace}"
    "@media(prefers-color-scheme:dark){.sp{--fg:#e8e6e3;--bg:#17191c;--dim:#a0a5ab;--bad:#ff7b72;--mix:#565d66}}"
    ".sp text{fill:var(--fg);stroke-width:3;paint-order:stroke}"
    ".sp .dim{fill:var(--dim)}.sp .page{fill:var(--bg)}.sp .edge{fill:none;stroke:var(--dim)}"
    ".sp .c{stroke:var(--bg);stroke-width:1}.sp .fine{stroke-width:.2}.sp .c:hover{stroke:var(--fg);stroke-width:2}"
    ".sp .gap{fill:url(#sp-gap);stroke:var(--bad);stroke-width:1.5}.sp .hatch{stroke:var(--bad);stroke-width:1.5}"
    ".sp .halo{fill:none;stroke:var(--bg);stroke-width:5}.sp .two,.sp .out{fill:none;stroke:var(--bad);stroke-width:3}"
    ".sp .out{stroke-dasharray:7 4}.sp .mix{fill:var(--mix)}"
    ".sp .two:hover,.sp .out:hover,.sp .gap:hover{stroke-width:5}"
    + "".join(
        f".sp .o{n}{{fill:{fill}}}.sp .t{n}{{fill:{text};stroke:{fill}}}" for n, (fill, text) in enumerate(PALETTE)
    )
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
    label
        What is written on a chunk, by its row.
    gaps, doubled
        What is wrong with the boxes that the scene was given, in words.
    """

    what: str
    names: Mapping[int, str]
    tell: Callable[[int], str]
    label: Callable[[int], str] = str
    gaps: Sequence[str] = ()
    doubled: Sequence[str] = ()


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
    for number, line in enumerate([title, *_facts(scene, scale)]):
        top += _LINE
        look = ' class="dim"' if number else ""
        pieces.append(f'<text x="4" y="{top}"{look}>{escape(_shortened(line))}</text>')
    entries = _legend(scene, legend)
    beside = scale.width < _WIDEST / 2
    bottom = 0
    for number, panel in enumerate(scene.panels):
        if panel.slab:
            top += _LINE + 4
            where = ", ".join(f"dim {d} from {start} to {stop}" for d, start, stop in panel.slab)
            pieces.append(f'<text x="{scale.margin}" y="{top}">{escape(where)}</text>')
        top += _LINE
        pieces += _panel(scene, panel, scale, legend, top + 4)
        if beside and number == 0:
            bottom = _placed(entries, scale.margin + round(scale.width) + _BESIDE, top - 4, pieces, wrap=False)
        top += round(scale.height) + 8
    top = max(top, bottom) if beside and scene.panels else _placed(entries, scale.margin, top, pieces, wrap=True)
    width, height = _WIDEST + scale.margin + _BESIDE, top + 10
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sp" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    )
    background = f'<rect class="page" width="{width}" height="{height}"/>'
    css = f"<style>{STYLE}</style>" if style else ""
    return "\n".join([head + css + _GAP + background, *pieces, "</svg>"])


def _shortened(line: str) -> str:
    half = (_LETTERS - 1) // 2
    return line if len(line) <= _LETTERS else f"{line[:half]}…{line[-half:]}"


class _Pixels(NamedTuple):
    left: float
    top: float
    width: float
    height: float

    @property
    def attributes(self) -> str:
        """Where it is, as a rectangle says it."""
        x, y, width, height = (f"{number:.2f}".rstrip("0").rstrip(".") for number in self)
        return f'x="{x}" y="{y}" width="{width}" height="{height}"'


@dataclass(frozen=True, slots=True)
class _Scale:
    """Pixels of a panel."""

    width: float
    height: float
    margin: int
    true: bool
    across: float
    down: float

    @classmethod
    def of(cls, scene: Scene) -> _Scale:
        wide, high = max(scene.width, 1), max(scene.height, 1)
        margin = max(46, round(len(str(high)) * _LETTER) + 12)
        if scene.down is None:
            return cls(_WIDEST, _THINNEST, margin, True, _WIDEST / wide, _THINNEST)
        each = min(_WIDEST / wide, _HIGHEST / high)
        width, height = max(wide * each, 3 * _THINNEST), max(high * each, 3 * _THINNEST)
        return cls(width, height, margin, width == wide * each and height == high * each, width / wide, height / high)

    def place(self, area: Area, top: float) -> _Pixels:
        """Find where an area of the panel that begins at `top` is."""
        left, right = self.margin + area.left * self.across, self.margin + area.right * self.across
        return _Pixels(left, top + area.top * self.down, right - left, (area.bottom - area.top) * self.down)

    def shown(self, place: _Pixels, top: float) -> _Pixels:
        """Make a place large enough to be seen, without leaving the panel."""
        width, height = max(place.width, _SMALLEST), max(place.height, _SMALLEST)
        left = min(place.left, self.margin + self.width - width)
        return _Pixels(left, min(place.top, top + self.height - height), width, height)


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
        more.append("too many chunks to outline")
    if scene.empty:
        more.append(f"{count(scene.empty, 'empty chunk')} not drawn")
    if scene.faulty:
        more.append(f"{count(scene.faulty, 'chunk')} outside the tensor")
    if unmarked := sum(panel.unmarked for panel in scene.panels):
        more.append(f"{count(unmarked, 'more place')} not marked")
    return lines + [", ".join(more)] * bool(more)


def _panel(scene: Scene, panel: Panel, scale: _Scale, legend: Legend, top: float) -> list[str]:
    pieces = [_edges(scene, panel, scale, top)]
    if panel.cells is not None:
        pieces.append(_cells(panel.cells, scale, top))
    owners = scene.owners.tolist() if panel.chunks else []
    places = [scale.place(area, top) for area in panel.chunks]
    thin = " fine" if any(min(place.width, place.height) < _FINE for place in places) else ""
    # Chunks in the same place share a label.
    labels: dict[_Pixels, tuple[str, list[str]]] = {}
    for area, place in zip(panel.chunks, places, strict=True):
        color = _color(owners[area.of])
        hover = f"<title>{escape(legend.tell(area.of))}</title>"
        pieces.append(f'<rect class="c {color}{thin}" data-chunk="{area.of}" {place.attributes}>{hover}</rect>')
        labels.setdefault(place, (color, []))[1].append(legend.label(area.of))
    for areas, look, words in (
        (panel.outside, "out", ()),
        (panel.gaps, "gap", legend.gaps),
        (panel.doubled, "two", legend.doubled),
    ):
        for area in areas:
            place = scale.place(area, top)
            place = scale.shown(place, top)
            told = words[area.of] if words else legend.tell(area.of) if look == "out" else ""
            halo = "" if look == "gap" else f'<rect class="halo" {place.attributes}/>'
            pieces.append(f'{halo}<rect class="{look}" {place.attributes}><title>{_SAID[look]}')
            pieces[-1] += f"{escape(chr(10) + told) if told else ''}</title></rect>"
    pieces.append(f'<rect class="edge" {_Pixels(scale.margin, top, scale.width, scale.height).attributes}/>')
    written = (_label(", ".join(texts), color, place) for place, (color, texts) in labels.items())
    return [*pieces, *filter(None, written)]


_SAID: Final = {
    "out": "ends outside the tensor",
    "gap": "not covered by any chunk",
    "two": "covered by several chunks",
}
"""What a look means."""


def _color(owner: int) -> str:
    return "dim" if owner == -1 else "mix" if owner == SEVERAL else f"o{owner % len(PALETTE)}"


def _label(text: str, color: str, place: _Pixels) -> str:
    if len(text) * _LETTER + 4 > place.width or place.height < _LINE - 2:
        return ""
    at = f'x="{place.left + place.width / 2:.1f}" y="{place.top + place.height / 2 + 4:.1f}"'
    look = color.replace("o", "t") if color.startswith("o") else "page"
    return f'<text class="{look}" pointer-events="none" text-anchor="middle" {at}>{text}</text>'


def _cells(cells: Cells, scale: _Scale, top: float) -> str:
    """Draw the cells of each look as one path, neighbours together, with a cell as the unit."""
    rows, columns = cells.covered.shape
    paths: dict[str, list[str]] = {}
    for y, (covered, owners) in enumerate(zip(cells.covered.tolist(), cells.owners.tolist(), strict=True)):
        looks = [_look(share, owner) for share, owner in zip(covered, owners, strict=True)]
        start = 0
        for x in range(1, columns + 1):
            if x < columns and looks[x] == looks[start]:
                continue
            paths.setdefault(looks[start], []).append(f"M{start} {y}h{x - start}v1H{start}z")
            start = x
    paths.pop("", None)
    drawn = "".join(f'<path {look} d="{"".join(path)}"/>' for look, path in paths.items())
    scaled = f"translate({scale.margin} {top:g}) scale({scale.width / columns:.5g} {scale.height / rows:.5g})"
    return f'<g class="cells" shape-rendering="crispEdges" transform="{scaled}">{drawn}</g>'


def _look(covered: float, owner: int) -> str:
    if covered < _NOTHING:
        return ""
    color = f'class="{_color(owner)}"'
    return color if covered > 0.999 else f'{color} opacity="{max(covered, 0.15):.1f}"'


def _edges(scene: Scene, panel: Panel, scale: _Scale, top: float) -> str:
    """Offsets at the edges: the ends, and those between that have room."""
    pieces = []
    if scene.across is not None:
        ends = sorted({0, scene.width, *(end for area in panel.chunks for end in (area.left, area.right))})
        for end in _apart(ends, scale.across, len(str(ends[-1])) * _LETTER + 6):
            x = scale.margin + end * scale.across
            pieces.append(f'<text class="dim" text-anchor="middle" x="{x:.1f}" y="{top - 4:.1f}">{end}</text>')
    if scene.down is not None:
        ends = sorted({0, scene.height, *(end for area in panel.chunks for end in (area.top, area.bottom))})
        for end in _apart(ends, scale.down, _LINE):
            y = top + end * scale.down + 4
            pieces.append(f'<text class="dim" text-anchor="end" x="{scale.margin - 5}" y="{y:.1f}">{end}</text>')
    return "".join(pieces)


def _apart(ends: list[int], each: float, room: float) -> list[int]:
    kept = [ends[0]]
    for end in ends[1:-1]:
        if (end - kept[-1]) * each >= room and (ends[-1] - end) * each >= room:
            kept.append(end)
    return [*kept, ends[-1]]


def _legend(scene: Scene, legend: Legend) -> list[tuple[str, str]]:
    """Say what each look means: a class, and words."""
    seen: set[int] = set()
    owners = scene.owners.tolist()
    for panel in scene.panels:
        seen.update(owners[area.of] for area in panel.chunks)
        if panel.cells is not None:
            seen.update(panel.cells.owners[panel.cells.covered > _NOTHING].tolist())
    named: dict[str, list[str]] = {}
    for owner in sorted(seen - {SEVERAL}):
        named.setdefault(_color(owner), []).append(legend.names.get(owner, f"no {legend.what}"))
    if SEVERAL in seen:
        named[_color(SEVERAL)] = ["several files" if legend.what == "file" else "several processes"]
    entries = []
    for color, names in named.items():
        shown = ", ".join(names[:2])
        entries.append((color, shown + f" and {len(names) - 2:,} more" * (len(names) > 2)))
    if any(panel.gaps for panel in scene.panels):
        entries.append(("gap", _SAID["gap"]))
    if any(panel.doubled for panel in scene.panels):
        entries.append(("two", _SAID["two"]))
    if any(panel.outside for panel in scene.panels):
        entries.append(("out", _SAID["out"]))
    return [(look, _shortened(words)) for look, words in entries]


def _placed(entries: list[tuple[str, str]], left: int, top: int, pieces: list[str], *, wrap: bool) -> int:
    """Write the legend from a place on, in a column or in lines; where it ends."""
    wide = max((len(words) for _, words in entries), default=0) * _LETTER + 44
    columns = max(int(_WIDEST / wide), 1) if wrap else 1
    rows = -(-len(entries) // columns)
    for number, (look, words) in enumerate(entries):
        x, y = left + round(wide) * (number // rows), top + (number % rows + 1) * (_LINE + 2)
        pieces.append(f'<rect class="{look}" x="{x}" y="{y - 10}" width="12" height="12"/>')
        pieces.append(f'<text x="{x + 20}" y="{y}">{escape(words)}</text>')
    return top + rows * (_LINE + 2)
