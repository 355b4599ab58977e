"""The text of an HTML page or mail, without its scripts, styles and tags."""

import re
from html.parser import HTMLParser

_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "fieldset", "figcaption"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol"),
        *("p", "pre", "section", "table", "tr", "ul"),
    }
)
_HIDDEN = frozenset({"script", "style", "head", "title", "template", "noscript"})
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_INVISIBLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_MANY_LINES = re.compile(r"\n\s*\n\s*")
_SPACES = re.compile(r"[ \t\f\v\xa0]+")


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: str | None = None
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":  # the head before it may have no end
            self._hidden = None
        if self._hidden is not None:
            self._depth += tag == self._hidden
        elif tag in _HIDDEN or (tag not in _VOID and _INVISIBLE.search(dict(attrs).get("style") or "")):
            self._hidden, self._depth = tag, 1
        elif tag in _BLOCKS:
            self.parts.append("\n")
            self.parts += ["- "] if tag == "li" else []
        elif tag in {"td", "th"}:
            self.parts.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if self._hidden is not None:
            self._depth -= tag == self._hidden
            self._hidden = self._hidden if self._depth else None
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            self.parts.append(data.replace("\r", " ").replace("\n", " "))


def html_to_text(html: str) -> str:
    """The visible text of some HTML, a line for each block; nothing that it names is fetched."""
    parser = _TextParser()
    try:
        parser.feed(html)
        parser.close()
    except (AssertionError, ValueError):  # of malformed declarations
        return ""
    lines = (_SPACES.sub(" ", line).strip() for line in "".join(parser.parts).split("\n"))
    return _MANY_LINES.sub("\n\n", "\n".join(lines)).strip()
