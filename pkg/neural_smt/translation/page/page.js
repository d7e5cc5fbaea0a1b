// The page: asks for translations, and shows each with its alignment, what its score is made of, and the next best ones.

import { draw, element } from "/drawing.js";

const NAMES = {
  LexicalReordering: "reordering", Distortion: "distance", LM: "n-gram model", UnknownWordPenalty: "unknown words",
  WordPenalty: "word penalty", PhrasePenalty: "phrase penalty", TranslationModel: "phrase table",
  EncoderDecoder: "RNN encoder-decoder", Cslm: "neural n-gram model", Recurrent: "recurrent model",
  Attention: "attention network",
};
const byId = (id) => document.getElementById(id);
const [form, text, nbest, button, status, results, count] =
  ["form", "text", "nbest", "translate", "status", "results", "count"].map(byId);
let system = { characters: 2000, lines: 20, source: "en", target: "fr", label: "" };

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// of a feature: those of one kind are numbered from 0
function titleOf(name) {
  const kind = name.slice(0, -1), place = Number(name.slice(-1));
  return (NAMES[kind] ?? kind) + (place ? ` ${place + 1}` : "");
}

const number = (value) => value.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "\u2212");

function language(code) {
  try {
    return new Intl.DisplayNames(["en"], { type: "language" }).of(code);
  } catch {
    return code;
  }
}

async function ask(path, options) {
  const answer = await fetch(path, options).catch(() => { throw new Error("The server does not answer."); });
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

function say(sentence, bad = false) {
  status.textContent = sentence;
  status.classList.toggle("bad", bad);
  if (bad) results.replaceChildren(); // translations of an earlier text
}

const charactersOf = () => [...text.value].length;

function countCharacters() {
  const [used, most] = [charactersOf(), system.characters];
  count.textContent = `${used} of ${most} characters`;
  count.classList.toggle("bad", used > most);
}

// Rows of a table with a bar for each share, the largest first.
function shareTable(title, shares) {
  const rows = Object.entries(shares).filter(([, share]) => Math.abs(share) >= 0.005)
    .sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  const largest = Math.max(...rows.map(([, share]) => Math.abs(share)), 1e-9);
  const table = make("table", {}, make("caption", {}, title));
  for (const [name, share] of rows) {
    const size = 48 * Math.abs(share) / largest;
    const place = { x: share < 0 ? 50 - size : 50, y: 2, width: size, height: 10, class: share < 0 ? "down" : "up" };
    const bar = element("svg", { viewBox: "0 0 100 14", preserveAspectRatio: "none", "aria-hidden": "true" },
      element("rect", place), element("line", { x1: 50, x2: 50, y1: 0, y2: 14, class: "zero" }));
    table.append(make("tr", {}, make("th", { scope: "row" }, titleOf(name)),
      make("td", { class: "number" }, number(share)), make("td", { class: "bar" }, bar)));
  }
  if (!rows.length) table.append(make("tr", {}, make("td", {}, "nothing")));
  return table;
}

const joined = (words, [start, stop]) => words.slice(start, stop).join(" ");
const total = (shares) => Object.values(shares).reduce((sum, share) => sum + share, 0);

// What can be chosen in the drawing, and what is then shown beside it.
function phraseItems(words, candidate) {
  return candidate.phrases.map((phrase) => {
    const pair = `${joined(words, phrase.source)} \u2192 ${joined(candidate.words, phrase.target)}`;
    const copied = candidate.untranslated.includes(phrase.target[0]);
    return { ...phrase, copied, label: `${pair}: ${number(total(phrase.shares))}`,
      show: () => [shareTable(`${pair}: ${number(total(phrase.shares))}`, phrase.shares)] };
  });
}

function wordItems(words, candidate) {
  const lookedAt = new Map(candidate.alignment.map(([i, j]) => [j, i]));
  return candidate.words.map((word, place) => {
    const origin = candidate.origins[place];
    const at = lookedAt.has(place) ? lookedAt.get(place) : null;
    const where = at === null ? "the end of the sentence" : `\u201c${words[at]}\u201d`;
    return { source: at === null ? null : [at, at + 1], target: [place, place + 1], label: `${word} looks at ${where}`,
      copied: candidate.untranslated.includes(place),
      show: () => [originList(`\u201c${word}\u201d looks at ${where}`, origin, words)] };
  });
}

function originList(title, origin, words) {
  const lines = [];
  if (origin.replaced !== null) lines.push(`stands for \u201c${words[origin.replaced]}\u201d, in place of an unknown word`);
  for (const [word, p] of origin.dictionary.slice(0, 5)) lines.push(`dictionary: of \u201c${word}\u201d, ${number(p)}`);
  for (const [one, other, p] of origin.phrases.slice(0, 5)) {
    lines.push(`phrases: \u201c${one}\u201d \u2192 \u201c${other}\u201d, ${number(p)}`);
  }
  if (origin.frequent) lines.push(`frequent words: number ${origin.frequent}`);
  else if (origin.frequent === 0) lines.push("in the vocabulary of every sentence");
  const table = make("table", {}, make("caption", {}, title));
  for (const line of lines) table.append(make("tr", {}, make("td", {}, line)));
  return table;
}

function scoreTitle(candidate) {
  const [score, sum] = [number(candidate.score), number(total(candidate.shares))];
  return candidate.phrases.length || score === sum ? `Score of the sentence: ${score}` : `log p: ${sum}; by length: ${score}`;
}

function showCandidate(place, sentence, candidate) {
  const phrases = candidate.phrases.length > 0;
  const items = (phrases ? phraseItems : wordItems)(sentence.words, candidate);
  const beside = make("div", { "aria-live": "polite" });
  const whole = shareTable(scoreTitle(candidate), candidate.shares);
  const figure = make("figure");
  const hint = phrases ? "Boxes are phrases, lines join words. Choose a phrase for its part of the score."
    : "Lines lead to the source word that each word looked at. Choose a word for what brought it.";
  const alone = Object.keys(candidate.whole_sentence).map(titleOf);
  const note = alone.length ? ` In no phrase: ${alone.join(", ")}, which scores the sentence as a whole.` : "";
  const copied = candidate.untranslated.map((place) => candidate.words[place]);
  const unknown = copied.length ? ` Not translated (dashed): ${copied.join(", ")}.` : "";
  const caption = make("figcaption", {}, hint + note + unknown);
  place.replaceChildren(figure, make("div", { class: "columns" }, whole, beside));
  let selected = -1;
  const choose = (chosen) => {
    selected = chosen;
    beside.replaceChildren(...items[chosen].show());
  };
  const refresh = () => {
    const room = place.clientWidth;
    const { drawing, upright } = draw({ source: sentence.words, target: candidate.words, items, selected, room,
      links: candidate.alignment, sides: [language(system.source), language(system.target)], chosen: choose });
    figure.replaceChildren(drawing, caption);
    figure.dataset.room = room;
    place.classList.toggle("upright", upright);
  };
  place.redraw = () => { if (Number(figure.dataset.room) !== place.clientWidth) refresh(); };
  refresh();
}

function showSentence(sentence) {
  const heading = make("h2", { lang: system.target });
  const place = make("div", { class: "candidate" });
  const article = make("article", {}, make("p", { class: "soft", lang: system.source }, sentence.line), heading, place);
  const select = (candidate) => {
    heading.textContent = candidate.text || "(nothing)";
    showCandidate(place, sentence, candidate);
  };
  results.append(article);
  select(sentence.candidates[0]);
  if (sentence.candidates.length > 1) {
    const list = make("ol", { class: "others" });
    sentence.candidates.forEach((candidate, rank) => {
      const entry = make("button", { type: "button", "aria-pressed": String(rank === 0) },
        make("span", { lang: system.target }, candidate.text), make("span", { class: "score" }, number(candidate.score)));
      entry.addEventListener("click", () => {
        for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === entry));
        select(candidate);
      });
      list.append(make("li", {}, entry));
    });
    article.append(make("h3", {}, "Best translations"), list);
  }
}

async function translate(event) {
  event?.preventDefault();
  if (button.disabled) return;
  if (!text.value.trim()) {
    say("There is no text to translate.", true);
    text.focus();
    return;
  }
  if (charactersOf() > system.characters) {
    say(`The text has ${charactersOf()} characters; send ${system.characters} at most.`, true);
    text.focus();
    return;
  }
  button.disabled = true;
  say("Translating \u2026");
  try {
    const body = JSON.stringify({ text: text.value, nbest: Number(nbest.value) });
    const headers = { "Content-Type": "application/json" };
    const data = await ask("/api/translate", { method: "POST", headers, body });
    results.replaceChildren();
    data.sentences.forEach(showSentence);
    say(`${data.sentences.length === 1 ? "1 sentence" : `${data.sentences.length} sentences`} in ${data.seconds} s`);
  } catch (error) {
    say(error.message, true);
  }
  button.disabled = false;
}

form.addEventListener("submit", translate);
text.addEventListener("input", countCharacters);
text.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate(event);
});
window.addEventListener("resize", () => {
  for (const place of document.querySelectorAll(".candidate")) place.redraw();
});

try {
  system = await ask("/api/system");
  const title = `${language(system.source)} \u2192 ${language(system.target)}`;
  document.title = `${title} \u2013 ${system.label}`;
  byId("languages").textContent = title;
  byId("system").textContent = `${system.label} \u00b7 ${system.experiment}, run ${system.run}`;
  text.lang = system.source;
  countCharacters();
  document.body.dataset.ready = "yes";
} catch {
  say("The server does not answer.", true);
}
