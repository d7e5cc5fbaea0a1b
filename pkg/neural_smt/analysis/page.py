"""The interactive page of projected words and phrases: one file that needs nothing else."""

from collections.abc import Mapping, Sequence
from html import escape, unescape

from neural_smt.analysis.embedding import Point
from neural_smt.analysis.page_script import SCRIPT
from neural_smt.report.page import render_document

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1d232b; --soft: #68727e; --line: #d5dae0; --panel: #fffffff2;
  --point: #5b8db8; --strong: #0b5394; --found: #b93a0b; }
@media (prefers-color-scheme: dark) { :root { --back: #14181d; --text: #e4e8ec; --soft: #98a2ad; --line: #363e47;
  --panel: #1c2229f2; --point: #5f8fb8; --strong: #9cc8ef; --found: #ff9a5c; } }
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body { display: flex; flex-direction: column; font: 15px/1.4 system-ui, sans-serif; color: var(--text);
  background: var(--back); }
header { display: flex; flex-wrap: wrap; gap: .5rem .8rem; align-items: center; padding: .6rem .9rem;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1rem; margin: 0; flex: 1 1 12rem; }
button, input { font: inherit; color: inherit; background: transparent; border: 1px solid var(--line);
  border-radius: 8px; padding: .4rem .75rem; min-height: 40px; }
input { flex: 1 1 13rem; min-width: 0; font-size: 16px; }
button[aria-pressed=true] { border-color: var(--strong); color: var(--strong); font-weight: 600; }
.tabs { display: flex; gap: .4rem; }
main { position: relative; flex: 1; min-height: 0; }
canvas { position: absolute; inset: 0; width: 100%; height: 100%; touch-action: none; cursor: grab; }
#found { position: absolute; top: .5rem; right: .5rem; width: min(19rem, 70vw); max-height: 45%; overflow: auto;
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px; margin: 0; padding: .3rem;
  list-style: none; }
#found:empty { display: none; }
#found button { width: 100%; text-align: left; border: 0; min-height: 36px; padding: .2rem .5rem; }
#found button:hover, #found button:focus { background: var(--line); }
#found span { display: block; padding: .2rem .5rem; color: var(--soft); }
#tip { position: absolute; pointer-events: none; max-width: 17rem; background: var(--panel); padding: .45rem .7rem;
  border: 1px solid var(--line); border-radius: 8px; box-shadow: 0 2px 10px #0003; overflow-wrap: anywhere; }
#tip b { display: block; } #tip small { color: var(--soft); display: block; } #tip[hidden] { display: none; }
.zoom { position: absolute; right: .6rem; bottom: .6rem; display: flex; gap: .4rem; }
.zoom button { background: var(--panel); min-width: 44px; min-height: 44px; }
#hint { position: absolute; left: .4rem; bottom: .4rem; color: var(--soft); font-size: .8rem; pointer-events: none;
  background: var(--panel); border-radius: 8px; padding: .1rem .4rem;
  max-width: calc(100% - 13rem); }
""".strip()


def render_map(layers: Mapping[str, Sequence[Point]], title: str = "") -> str:
    """The page: a tab for each layer (name -> points, most frequent first), one can search, zoom, drag and hover.

    Characters that the tokeniser wrote as entities are shown as themselves.
    """
    data = {
        name: [[unescape(point.text), point.count, round(point.x, 3), round(point.y, 3)] for point in points]
        for name, points in layers.items()
    }
    name = title or "Words and phrases as the encoder sees them"
    tabs = "".join(
        f'<button type="button" data-layer="{escape(layer, quote=True)}" aria-pressed="false">'
        f"{escape(layer.capitalize())} <small>{len(points):,}</small></button>"
        for layer, points in layers.items()
    )
    body = f"""<header>
<h1>{escape(name)}</h1>
<div class="tabs">{tabs}</div>
<input id="query" type="search" placeholder="Search a word" aria-label="Search a word" autocomplete="off">
</header>
<main>
<canvas id="plane" aria-label="Points of words or phrases; near ones are alike to the encoder"></canvas>
<ul id="found" aria-live="polite"></ul>
<div id="tip" hidden></div>
<div id="hint">t-SNE: near points are alike to the encoder; axes have no unit. Drag, pinch or scroll; point
 to read.</div>
<div class="zoom"><button type="button" id="in" aria-label="Zoom in">+</button><button type="button" id="out"
 aria-label="Zoom out">−</button><button type="button" id="all">All</button></div>
</main>"""
    return render_document(name, body, STYLE, SCRIPT, data)
