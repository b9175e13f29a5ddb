"""What is in a page."""

import json
from html.parser import HTMLParser


class Markup(HTMLParser):
    """Elements with the names of their attributes, where links lead, visible text, and the points of each chart."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.links, self.charts = [], [], []
        self.text = ""
        self._points = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, tuple(name for name, _ in attributes)))
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]
        self._points = ("type", "application/json") in attributes

    def handle_data(self, data):
        if self._points:
            self.charts.append(json.loads(data))
            self._points = False
        else:
            self.text += data
