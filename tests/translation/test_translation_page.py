"""The served page in a browser: what is drawn, by mouse and by keyboard, on a desk and on a phone."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from browser import IN_CHROMIUM, Browser
from small_results import load, serving

from neural_smt.translation.text import TextTranslator
from neural_smt.translation.translators import load_translator

pytestmark = IN_CHROMIUM

SYSTEMS = ("baseline", "network")
READY = "document.body?.dataset.ready === 'yes'"
SHOWN = "document.querySelectorAll('article svg .item').length > 0"
FOCUSED = "document.activeElement.getAttribute('aria-label')"


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The page of a phrase-based system and of an attention network."""
    experiment = load(tmp_path_factory.mktemp("small"))
    with ExitStack() as servers:
        texts = {name: TextTranslator(load_translator(experiment.open(name)), "en", "fr") for name in SYSTEMS}
        opened = {name: servers.enter_context(serving(text, name)) for name, text in texts.items()}
        yield {name: f"http://127.0.0.1:{server.port}/" for name, server in opened.items()}


def open_page(browser: Browser, address: str, width: int = 1280, height: int = 900, phone: bool = False) -> None:
    browser.requests.clear()
    browser.faults.clear()
    browser.window(width, height, phone)
    browser.open("about:blank")
    browser.open(address)
    browser.wait(READY)


def translate(browser: Browser, text: str) -> None:
    browser.type(text)
    browser.key("Enter", modifiers=2)
    browser.wait(SHOWN)


def text_of(browser: Browser, chosen: str) -> list[str]:
    """The text of all that a CSS selector finds."""
    return browser.value(f"[...document.querySelectorAll({chosen!r})].map((found) => found.textContent)")


def test_a_sentence_is_drawn_with_its_phrases(browser: Browser, addresses: dict[str, str]) -> None:
    open_page(browser, addresses["baseline"])
    assert browser.value("document.title") == "English \u2192 French \u2013 The baseline"
    translate(browser, 'a b "c" <i>c</i>')
    boxes = "[...document.querySelectorAll('svg .item')].map((item) => item.querySelectorAll('rect').length)"
    assert set(browser.value(boxes)) == {2}, "each phrase has a box on either side"
    assert text_of(browser, "article svg > text:not(.side)")[:4] == ["a", "b", '"', "c"]
    assert text_of(browser, "article p")[0] == 'a b "c" <i>c</i>'
    assert text_of(browser, "article i") == [], "text is no markup"
    assert len(text_of(browser, "article table tr")) > 2
    assert browser.faults == []
    assert all(request.startswith(addresses["baseline"]) for request in browser.requests if "about:" not in request)


def test_phrases_are_chosen_with_the_keyboard(browser: Browser, addresses: dict[str, str]) -> None:
    open_page(browser, addresses["baseline"])
    assert browser.value("document.activeElement.id") == "text"
    translate(browser, "c a c")
    browser.value("document.getElementById('translate').focus()")
    browser.key("Tab")
    first = browser.value(FOCUSED)
    assert "\u2192" in first
    browser.key("ArrowRight")
    second = browser.value(FOCUSED)
    assert second != first
    assert len(text_of(browser, ".item[aria-pressed=true]")) == 1
    assert text_of(browser, "article caption")[1] == second
    browser.key("ArrowLeft")
    assert browser.value(FOCUSED) == first
    browser.key(" ")
    assert text_of(browser, "article caption")[1] == first
    browser.key("Tab")
    assert browser.value("document.activeElement.tagName") == "BUTTON", "one stop for all phrases, then the list"
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_another_translation_of_the_list_is_shown(browser: Browser, addresses: dict[str, str]) -> None:
    open_page(browser, addresses["baseline"])
    translate(browser, "a b")
    texts = text_of(browser, ".others button span:first-child")
    assert len(texts) == 3
    browser.value("document.querySelectorAll('.others button')[2].click()")
    assert text_of(browser, "h2")[0] == texts[2]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("width", "phone"), [(1280, False), (360, True)])
def test_nothing_is_wider_than_the_window(
    browser: Browser, addresses: dict[str, str], tmp_path: Path, system: str, width: int, phone: bool
) -> None:
    open_page(browser, addresses[system], width, 800, phone)
    translate(browser, "a b c a b c a b c a b c a b c")
    assert browser.value("document.documentElement.scrollWidth") <= width
    assert browser.value("document.querySelector('svg').getBoundingClientRect().right") <= width
    targets = "[...document.querySelectorAll('button, select')].map((part) => part.getBoundingClientRect().height)"
    assert min(browser.value(targets)) >= 40, "large enough for a finger"
    assert browser.faults == []
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(browser: Browser, addresses: dict[str, str], dark: bool) -> None:
    browser.dark(dark)
    open_page(browser, addresses["baseline"])
    translate(browser, "c c c c c c c")
    ratios = browser.value(Path(__file__).with_name("contrast.js").read_text(encoding="utf-8"))
    browser.dark(False)
    assert len(ratios) >= 9 and min(ratios) >= 4.5, "WCAG 2 AA"


def test_faults_are_said_beside_the_form(browser: Browser, addresses: dict[str, str]) -> None:
    open_page(browser, addresses["baseline"])
    browser.value("document.getElementById('translate').click()")
    assert text_of(browser, "#status") == ["There is no text to translate."]
    browser.type("a" * 2001)
    assert text_of(browser, "#count") == ["2001 of 2000 characters"]
    browser.value("document.getElementById('translate').click()")
    assert text_of(browser, "#status") == ["The text has 2001 characters; send 2000 at most."]
    assert browser.value("document.getElementById('translate').disabled") is False
    browser.value("document.getElementById('text').value = 'a c'")
    translate(browser, "")
    assert text_of(browser, "figcaption")[0].endswith(" Not translated (dashed): c.")
    assert len(text_of(browser, ".item.copied")) == 1
    browser.value("document.getElementById('text').value = ''")
    browser.value("document.getElementById('translate').click()")
    assert text_of(browser, "article") == [], "nothing of the text before"


def test_words_of_a_network_show_what_brought_them(browser: Browser, addresses: dict[str, str]) -> None:
    open_page(browser, addresses["network"])
    translate(browser, "a b c a")
    browser.value("document.querySelector('.item').focus()")
    browser.key("Enter")
    shown = browser.value("document.querySelector('.columns').innerText")
    assert "looks at" in shown
    assert any(part in shown for part in ("dictionary: of", "frequent words: number", "in the vocabulary of every"))
