"""Snakemake's report of the tiny experiment in a browser: nothing is missing, all of it can be read and searched."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, Browser
from checkouts import TINY, snakemake
from matplotlib.image import imread

from neural_smt.io.files import read_yaml

pytestmark = [pytest.mark.slow, IN_CHROMIUM]

DESK, PHONE = (1280, 900, False), (390, 844, True)

PARTS: dict[str, list[str]] = read_yaml(Path(__file__).with_name("report_parts.yaml"))
"""The parts of the report in their order, and the pages of each."""

ROWS = "[...document.querySelectorAll('#app nav tbody tr')]"

READY = "document.querySelector('#app nav li') !== null && document.readyState === 'complete'"

CONTRASTS = Path(__file__).with_name("contrasts.js").read_text(encoding="utf-8")
"""Contrast of every visible text with what is behind it, the lowest first."""

SHADED = """[...document.querySelectorAll('body:not(:has(#app)) *, .prose *')]
    .filter((e) => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'auto')
    .every((e) => getComputedStyle(e).backgroundImage.includes('gradient'))"""
"""Whether everything that can be moved sideways shows that there is more of it."""

INVERTED = "[...document.querySelectorAll('img, svg')].every((e) => getComputedStyle(e).filter.startsWith('invert'))"
"""Whether all drawings, which are black on white, are the other way round."""

LABELS = "Number(document.body.dataset.labels || 0)"
"""How many points of the map have a label, once it is drawn."""


@pytest.fixture(scope="module")
def report(finished: Path) -> Path:
    """The report as ``make report`` makes it."""
    (options,) = re.findall(r"^REPORT := (.*)$", (finished / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    done = snakemake(finished, "--report", "results/tiny/report.html", *shlex.split(options), "--configfile", TINY)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return finished / "results/tiny/report.html"


def open_report(browser: Browser, report: Path, window: tuple[int, int, bool] = DESK) -> None:
    for noted in (browser.requests, browser.failures, browser.faults):
        noted.clear()
    browser.window(*window)
    browser.open("about:blank")
    browser.open(report.as_uri())
    browser.wait(READY)


def check_nothing_missed(browser: Browser, report: Path) -> None:
    """Everything that was asked for is the report itself, or inside it."""
    strange = [address for address in browser.requests if not address.startswith(("data:", "about:", "blob:"))]
    assert set(strange) == {report.as_uri()}
    assert (browser.failures, browser.faults) == ([], [])


def click_entry(browser: Browser, text: str) -> None:
    """Press what has this text in the menu on the left."""
    entries = "[...document.querySelectorAll('#app > div > nav li a')]"
    browser.value(f"{entries}.find((entry) => entry.textContent === {text!r}).id = 'wanted'")
    browser.click("#wanted")


def open_part(browser: Browser, part: str) -> list[str]:
    """Go to a part of the report by the menu; the pages that it lists."""
    browser.click("#app nav nav a")
    browser.wait(f"[...document.querySelectorAll('#app nav li a')].some((e) => e.textContent === {part!r})")
    click_entry(browser, part)
    browser.wait("document.querySelector('#app nav tbody td') !== null")
    return browser.value(f"{ROWS}.map((row) => row.cells[0].textContent)")


def show(browser: Browser, part: str, page: str) -> None:
    """Go to a page by the menus."""
    open_part(browser, part)
    browser.value(f"{ROWS}.find((row) => row.cells[0].textContent === {page!r}).cells[0].id = 'wanted'")
    browser.click("#wanted")
    browser.wait("document.readyState === 'complete' && document.querySelector('h1')?.textContent", framed=True)


def check_screenshot(browser: Browser, path: Path, width: int, height: int) -> None:
    browser.screenshot(path, whole=False)
    pixels = imread(path)
    assert pixels.shape[:2] == (height, width)
    assert len({row.tobytes() for row in pixels}) > 50, "not blank"


def test_the_parts_of_the_report_and_their_pages(browser: Browser, report: Path, tmp_path: Path) -> None:
    assert 1_000_000 < report.stat().st_size < 20_000_000
    open_report(browser, report)
    shown = browser.value("document.querySelector('#app > div > nav + div').innerText")
    assert shown.strip().startswith("Neural SMT: tiny") and "utf-8" not in shown
    assert "\nOn news_test " in shown and "Baseline + RNN\t" in shown, "the main result, in a sentence and a table"
    assert browser.value("document.querySelector('#app .prose img').naturalWidth") > 500
    entries = browser.value("[...document.querySelectorAll('#app nav li a')].map((entry) => entry.textContent)")
    assert [entry for entry in entries if entry in PARTS] == list(PARTS)
    check_screenshot(browser, tmp_path / "start.png", 1280, 900)
    assert {part: open_part(browser, part) for part in PARTS} == PARTS
    check_nothing_missed(browser, report)


def test_links_of_the_description_lead_to_parts(browser: Browser, report: Path) -> None:
    open_report(browser, report)
    links = browser.value("[...document.querySelectorAll('#app .prose li a')].map((link) => link.textContent)")
    assert links == list(PARTS)
    for number, part in enumerate(PARTS, start=1):
        browser.click(f"#app .prose li:nth-child({number}) a")
        browser.wait(f"document.querySelector('#app nav tbody td')?.textContent === {PARTS[part][0]!r}")


@pytest.mark.parametrize("window", [DESK, PHONE], ids=["desk", "phone"])
def test_every_page_can_be_seen(browser: Browser, report: Path, tmp_path: Path, window: tuple[int, int, bool]) -> None:
    open_report(browser, report, window)
    width, height, _ = window
    assert browser.value(SHADED)
    for part, names in PARTS.items():
        for number, name in enumerate(names):
            show(browser, part, name)
            assert browser.value("document.documentElement.scrollWidth") <= width, name
            wide, room = browser.framed("[document.documentElement.scrollWidth, innerWidth]")
            assert wide <= room <= width and room > 0.6 * width, name
            assert browser.framed("[...document.images].every((image) => image.naturalWidth > 0)")
            assert browser.framed(SHADED), name
            check_screenshot(browser, tmp_path / f"{part[0]}.{number}.png", width, height)
    check_nothing_missed(browser, report)


def test_the_search_finds_pages_by_their_path(browser: Browser, report: Path) -> None:
    open_report(browser, report)
    browser.click("#app nav input")
    browser.type("curve_enc")
    browser.key("Enter")
    browser.wait("document.querySelectorAll('#app nav tbody tr').length === 1")
    browser.click("#app nav tbody a")
    browser.wait("document.querySelector('h1')?.textContent === 'Learning curve: encoder_decoder'", framed=True)
    assert browser.framed("document.querySelector('thead').innerText").startswith("Updates")


def test_a_word_is_found_among_the_translations(browser: Browser, report: Path, tmp_path: Path) -> None:
    open_report(browser, report)
    show(browser, "3 Sentences", "Translations: news_test")
    word = browser.framed("document.querySelector('article p').textContent.match(/[a-z]{5,}/)[0]")
    shown = "[...document.querySelectorAll('article')].filter((article) => !article.hidden)"
    every = browser.framed(f"{shown}.length")
    browser.click("#query", framed=True)
    browser.type(word.upper())
    browser.wait(f"{shown}.length < {every}", framed=True)
    texts = browser.framed(f"{shown}.map((article) => article.textContent.toLowerCase())")
    assert texts and all(word in text for text in texts)
    assert browser.framed("document.getElementById('count').textContent") == f"{len(texts)} of {every} sentences"
    assert not browser.framed("document.querySelector('.phrases').checkVisibility()")
    browser.click("#phrases", framed=True)
    assert browser.framed("document.querySelector('article:not([hidden]) .phrases').checkVisibility()")
    background = "getComputedStyle(document.querySelector('.r')).backgroundColor"
    marked = browser.framed(background)
    browser.framed("const menu = document.getElementById('against'); menu.value = ''; "
                   "menu.dispatchEvent(new Event('change'))")  # fmt: skip
    assert browser.framed(background) != marked
    check_screenshot(browser, tmp_path / "found.png", 1280, 900)
    check_nothing_missed(browser, report)


def test_a_word_is_found_on_the_map(browser: Browser, report: Path) -> None:
    open_report(browser, report)
    show(browser, "2 Cho et al. (2014)", "Figures 4 and 5 to explore")
    browser.wait(f"{LABELS} > 10", framed=True)
    browser.click("#query", framed=True)
    browser.type("the")
    browser.wait("document.querySelectorAll('#found button').length > 0", framed=True)
    assert browser.framed("document.querySelector('#found button').textContent").lower() == "the"
    browser.key("Enter")
    browser.wait("!document.getElementById('tip').hidden", framed=True)
    assert "near: " in browser.framed("document.getElementById('tip').textContent")
    check_nothing_missed(browser, report)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read_on_every_page(browser: Browser, report: Path, dark: bool) -> None:
    browser.dark(dark)
    folder = report.parent
    places = [*folder.glob("report/**/*.html"), *folder.glob("analysis/*.html")]
    places.remove(folder / "report/start.html")  # a part of what Snakemake's report opens on
    assert len(places) == sum(map(len, PARTS.values()))
    lowest: dict[str, Any] = {}
    for place in places:
        browser.open("about:blank")
        browser.open(place.as_uri())
        browser.wait("document.readyState === 'complete' && document.body !== null")
        browser.value("document.getElementById('phrases')?.click()")
        lowest[place.name] = browser.value(CONTRASTS)[0]
        assert browser.value(INVERTED) or not dark, place.name
    browser.dark(False)
    assert {name: worst for name, worst in lowest.items() if worst[0] < 4.5} == {}, "WCAG 2 AA"


def test_every_drawing_names_its_axes(browser: Browser, report: Path) -> None:
    for name, axes in {
        "lattices.html": ["source words translated so far (number of words)"],
        "alignments.html": ["source words (en) \u2192", "\u2190 target words (fr)"],
    }.items():
        browser.open((report.parent / "report" / name).as_uri())
        # a page that is still read may hold half of a drawing
        browser.wait("document.readyState === 'complete' && document.querySelectorAll('svg').length > 0")
        drawn = "[...document.querySelectorAll('svg')].map((svg) => [...svg.querySelectorAll('text')]"
        shown = browser.value(f"{drawn}.map((text) => text.textContent))")
        assert all(set(axes) <= set(texts) for texts in shown)
