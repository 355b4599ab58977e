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
_MANY_LINES = re.compile(r"\n\s*\n\s*")
_SPACES = re.compile(r"[ \t\f\v\xa0]+")


class _TextParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        if tag in _HIDDEN:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.parts.append("\n")
            self.parts += ["- "] if tag == "li" else []
        elif tag in {"td", "th"}:
            self.parts.append("\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
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
