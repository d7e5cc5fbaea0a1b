"""How the page of translations looks, and its script: search, what is marked, what is shown."""

STYLE = """
.tools { display: flex; flex-wrap: wrap; gap: .6rem 1.4rem; align-items: center; padding: .7rem 0; margin-bottom: .6rem;
  border-bottom: 1px solid var(--line); }
.tools label { display: inline-flex; gap: .5rem; align-items: center; min-height: 40px; }
.tools input[type=checkbox] { width: 1.15rem; height: 1.15rem; }
input[type=search], select, button { font: inherit; font-size: 16px; color: inherit; background: var(--back);
  border: 1px solid var(--soft); border-radius: 8px; padding: .35rem .6rem; min-height: 40px; }
input[type=search] { width: min(17rem, 60vw); }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 1px; }
#count { color: var(--soft); }
article { border: 1px solid var(--line); border-radius: 10px; padding: .7rem .9rem; margin: 1rem 0; }
article h2 { font-size: .92rem; font-weight: 600; color: var(--soft); margin: 0 0 .3rem; }
.row { display: grid; grid-template-columns: 12rem 1fr; gap: 0 1rem; padding: .28rem 0;
  border-top: 1px solid var(--line); }
.row b { font-weight: 600; font-size: .92rem; } .row p { margin: 0; max-width: none; }
.row[hidden], article[hidden], .phrases[hidden] { display: none; }
[data-against=reference] .r, [data-against=baseline] .b { background: var(--mark); border-radius: 3px;
  box-shadow: inset 0 -2px 0 var(--edge); }
:root { --mark: #fde3c8; --edge: #b45309; --hit: #ffe066; }
@media (prefers-color-scheme: dark) { :root { --mark: #5b3a16; --edge: #f0a95b; --hit: #6b5a00; } }
::highlight(found) { background-color: var(--hit); color: var(--text); }
.phrases { grid-column: 2; display: flex; flex-wrap: wrap; gap: .3rem; list-style: none;
  margin: .35rem 0 .2rem; padding: 0; }
.phrases li { border-radius: 6px; padding: .1rem .45rem .2rem; max-width: none; }
.phrases small { display: block; font-size: .8rem; } .phrases i { font-style: normal; }
.c0 { background: var(--c0); } .c1 { background: var(--c1); } .c2 { background: var(--c2); }
.c3 { background: var(--c3); } .c4 { background: var(--c4); } .c5 { background: var(--c5); }
@media (max-width: 40rem) { .row { grid-template-columns: 1fr; } .phrases { grid-column: 1; }
  .tools { gap: .3rem 1rem; } }
""".strip()

SCRIPT = r"""
"use strict";
const byId = (id) => document.getElementById(id);
const articles = [...document.querySelectorAll("article")];
const query = byId("query"), against = byId("against"), phrases = byId("phrases"), count = byId("count");

// The places of a word in what is shown of the sentences, for browsers that can highlight them.
function places(words) {
  const found = [];
  for (const article of articles) {
    if (article.hidden) continue;
    const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.data.toLowerCase();
      for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, Math.min(at + words.length, node.data.length));
        found.push(range);
      }
    }
  }
  return found;
}
function search() {
  const words = query.value.trim().toLowerCase();
  let shown = 0;
  for (const article of articles) {
    const texts = [...article.querySelectorAll(".row:not([hidden]) > p")];
    article.hidden = words !== "" && !texts.some((text) => text.textContent.toLowerCase().includes(words));
    shown += article.hidden ? 0 : 1;
  }
  count.textContent = words ? shown + " of " + articles.length + " sentences" : articles.length + " sentences";
  if (window.CSS && CSS.highlights) CSS.highlights.set("found", new Highlight(...(words ? places(words) : [])));
}
function mark() { document.body.dataset.against = against.value; }
function split() { for (const list of document.querySelectorAll(".phrases")) list.hidden = !phrases.checked; }
query.addEventListener("input", search);
against.addEventListener("change", mark);
phrases.addEventListener("change", split);
for (const box of document.querySelectorAll("[data-show]")) {
  box.addEventListener("change", () => {
    for (const row of document.querySelectorAll('[data-system="' + box.dataset.show + '"]')) row.hidden = !box.checked;
    search();
  });
}
mark();
"""
