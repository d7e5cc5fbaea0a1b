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
        range.setStart(node, Math.min(at, node.data.length)); // lower-cased text can be longer
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
