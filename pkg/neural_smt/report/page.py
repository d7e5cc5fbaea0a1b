"""Pages of the report: one HTML file each, that loads nothing else and can be read in light and in the dark."""

import json
from base64 import b64encode
from html import escape
from pathlib import Path

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The browser itself refuses to fetch anything."""

STYLE = """
:root { color-scheme: light dark; --back: #fff; --panel: #f4f6f8; --text: #1b2129; --soft: #525c68; --line: #ccd2d9;
  --strong: #0b5394; --c0: #cfe3f7; --c1: #fbe0c3; --c2: #d6edcf; --c3: #f6d5dd; --c4: #e2d9f5; --c5: #f4ecb8; }
@media (prefers-color-scheme: dark) { :root { --back: #13171c; --panel: #1d242c; --text: #e6eaee; --soft: #a9b3bd;
  --line: #3a434d; --strong: #9cc8ef;
  --c0: #24486b; --c1: #684322; --c2: #2c5428; --c3: #683040; --c4: #47396f; --c5: #57501b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.2rem 1.2rem 3rem; font: 16px/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--back); overflow-wrap: break-word; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .6rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
p, li { max-width: 50rem; } p.about, .soft, figcaption { color: var(--soft); }
a { color: var(--strong); } code { font-size: .92em; }
.wide { overflow-x: auto; margin: .8rem 0; } .wide:focus-visible { outline: 3px solid var(--strong); }
table { border-collapse: collapse; font-size: .94rem; }
th, td { padding: .35rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
thead th { vertical-align: bottom; border-bottom: 2px solid var(--line); background: var(--panel); }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; } td.number { white-space: nowrap; }
tbody th { font-weight: 600; } .marks { display: inline-block; width: 1.7em; text-align: left; }
tbody th, thead th:first-child { position: sticky; left: 0; } tbody th { background: var(--back); }
figure.wide { margin: 1.2rem 0; } figure img { display: block; width: 100%; min-width: 30rem; max-width: max-content;
  height: auto; background: #fff; border: 1px solid var(--line); border-radius: 6px; }
details { margin: .8rem 0; } summary { cursor: pointer; padding: .3rem 0; color: var(--strong); }
.files a { margin-right: 1rem; }
@media (max-width: 40rem) { body { padding: .8rem .8rem 2rem; } table { font-size: .88rem; }
  th, td { padding: .3rem .5rem; } }
@media print { body { max-width: none; } .files { display: none; } }
""".strip()


def render_page(title: str, body: str, style: str = "", script: str = "", data: object = None) -> str:
    """The whole page. title: plain text; body: HTML; style: rules beside ``STYLE``; data: what the script finds, as
    JSON, in the element ``data``.
    """
    heading = f"<h1>{escape(title)}</h1>"
    return render_document(title, f"{heading}\n{body}", f"{STYLE}\n{style}", script, data)


def render_document(title: str, body: str, style: str, script: str = "", data: object = None) -> str:
    """A page whose body and style are all its own; the rest as ``render_page`` has it."""
    parts = [f'<script type="application/json" id="data">{script_json(data)}</script>'] if data is not None else []
    parts += [f"<script>\n{script}\n</script>"] if script else []
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<title>{escape(title)}</title>
<style>
{style}
</style>
</head>
<body>
{body}
{"".join(parts)}
</body>
</html>"""


def script_json(value: object) -> str:
    """JSON that may stand inside a script element, whatever text it holds: no ``<`` is left that could end it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def picture(path: Path, alternative: str) -> str:
    """HTML of a PNG file, which the page then holds itself."""
    source = f"data:image/png;base64,{b64encode(Path(path).read_bytes()).decode()}"
    shown = escape(alternative, quote=True)
    return f'<figure class="wide" tabindex="0"><img src="{source}" alt="{shown}"></figure>'


def download(path: Path) -> str:
    """HTML of a link that saves a CSV file, which the page then holds itself."""
    name = escape(Path(path).name, quote=True)
    return f'<a download="{name}" href="data:text/csv;base64,{b64encode(Path(path).read_bytes()).decode()}">{name}</a>'
