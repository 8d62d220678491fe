"""What stands on a page: its words, and its tables by their titles."""

import html.parser
import re


class Page(html.parser.HTMLParser):
    """A page that was read."""

    def __init__(self, source):
        super().__init__()
        self.words, self.tables = [], {}
        self.hidden, self.rows, self.title, self.is_head = 0, None, None, False
        self.feed(source)
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attrs):
        if tag in ("style", "script"):
            self.hidden += 1
        elif tag == "table":
            self.rows = []
        elif tag == "caption":
            self.title = ""
        elif tag == "tr":
            self.rows.append([])
            self.is_head = True
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.is_head = self.is_head and tag == "th"

    def handle_endtag(self, tag):
        if tag in ("style", "script"):
            self.hidden -= 1
        elif tag == "caption":
            self.tables[self.title.strip()] = self.rows
            self.title = None
        elif tag == "tr" and self.is_head:
            self.rows.pop()
        elif tag == "table":
            self.rows = None

    def handle_data(self, data):
        if self.hidden:
            return
        self.words.append(data)
        if self.title is not None:
            self.title += data
        elif self.rows and self.rows[-1]:
            self.rows[-1][-1] += data

    def pairs(self, title):
        """The first two cells of a table's rows: a machine, and its client with the server."""
        return {tuple(it.strip() for it in row[:2]) for row in self.tables.get(title, [])}
