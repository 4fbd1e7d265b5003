"""A page that is watched: errors, refusals of the content policy and requests to other places fail the test."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 60_000
"""Milliseconds for which a page is waited for: as long as a busy machine may take, for nobody waits longer than it takes."""


@dataclass(kw_only=True, slots=True)
class Watched:
    """A page, and what it complained of."""

    page: Any
    home: str
    expected: Sequence[str] = ()
    complaints: list[str] = field(default_factory=list)

    def complain(self, what: str) -> None:
        if not any(one in what for one in self.expected):
            self.complaints.append(what)

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@contextmanager
def watched(
    browser: Any, address: str, *, size: tuple[int, int] = (1200, 900), expected: Sequence[str] = (), **how: Any
) -> Iterator[Watched]:
    """Open a page in a browser of its own; ``expected`` complaints are parts of texts that are none."""
    parts = urlsplit(address)
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **how)
    try:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        seen = Watched(page=page, home=parts.netloc, expected=expected)
        page.on("console", lambda line: seen.complain(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: seen.complain(f"error: {error}"))

        def said(dialog: Any) -> None:
            seen.complain(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", said)

        def asked(request: Any) -> None:
            to = urlsplit(request.url)
            if to.scheme not in ("data", "about") and to.netloc != seen.home:
                seen.complain(f"a request to {request.url}")

        page.on("request", asked)
        page.goto(address)
        yield seen
        if seen.complaints:
            raise AssertionError("; ".join(seen.complaints))
    finally:
        context.close()


CONTRAST = """
() => {
  const parse = (text) => { const found = text.match(/[\\d.]+/g).map(Number); return found.length === 3 ? [...found, 1] : found; };
  const over = (top, under) => top.slice(0, 3).map((one, at) => one * top[3] + under[at] * (1 - top[3]));
  const light = (colour) => {
    const [r, g, b] = colour.map((one) => one / 255).map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let one = element; one !== null; one = one.parentElement) layers.push(parse(getComputedStyle(one).backgroundColor));
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const bad = [];
  let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const words = walker.currentNode.textContent.trim();
    if (!words || element.closest("[disabled], .off, .hidden, noscript, script, .skip, .note, .tip")) continue;
    if (!element.checkVisibility({ checkVisibilityCSS: true })) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const text = over(parse(element instanceof SVGElement ? style.fill : style.color), under);
    const [a, b] = [light(text), light(under)].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    seen += 1;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) bad.push(`${element.localName}.${element.className}: ${words.slice(0, 40)} ${ratio.toFixed(2)}`);
  }
  return { seen, bad };
}
"""
"""Texts whose contrast with what is behind them is below WCAG's AA."""

NAMELESS = """
() => [...document.querySelectorAll("a[href],button,input,textarea,select,summary,dialog,section,nav,figure,[role=region]")]
  .filter((one) => one.type !== "hidden" && (one.localName === "dialog" || one.checkVisibility()))
  .filter((one) => {
    const ids = (one.getAttribute("aria-labelledby") || "").split(" ");
    const by = ids.map((id) => document.getElementById(id)?.textContent || "").join("");
    const labels = [...(one.labels || [])].map((label) => label.textContent).join("");
    const own = ["a", "button", "summary"].includes(one.localName) ? one.textContent : "";
    return !(by + labels + own + (one.getAttribute("aria-label") || "")).trim();
  })
  .map((one) => one.outerHTML.slice(0, 120))
"""
"""Things to use or to go to that have no name."""


class Held:
    """Answers of the service that are kept back until they are let go; ``page.route(address, held)``."""

    def __init__(self, *, first: Sequence[Callable[[Any], None]] = ()) -> None:
        self.asked: list[str] = []
        self._first = list(first)
        self._kept: list[Any] | None = []

    def __call__(self, route: Any) -> None:
        """Answer as the first ones are to be answered, and keep the others back."""
        self.asked.append(route.request.url)
        if self._first:
            self._first.pop(0)(route)
        elif self._kept is None:
            route.continue_()
        else:
            self._kept.append(route)

    def let_go(self) -> None:
        """Let the service answer what was kept back, and whatever comes from now on."""
        kept, self._kept = self._kept or [], None
        for route in kept:
            route.continue_()


def point_at(place: Any) -> None:
    """Move the pointer there when the page has come to rest: what is scrolled has no tip, and a scroll is told a frame later."""
    place.scroll_into_view_if_needed()
    place.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    place.hover()
