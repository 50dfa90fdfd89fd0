"""Reads the charts of a page of `mpistair machine show --plot` and others: what Vega gets to draw."""
import html
import json
import pathlib
import re


class Page:
    """titles: of the charts, in order. text: what stands above them."""

    def __init__(self, path):
        page = pathlib.Path(path).read_text()
        self.text = html.unescape(re.search(r'<section id="summary".*?<p>(.*?)</p>', page, re.S)[1])
        found = dict(re.findall(r'<h2 id="(chart-\d+)-title">(.*?)</h2>', page))
        self.titles = [html.unescape(title) for title in found.values()]
        self.charts = {html.unescape(title): json.loads(re.search(rf'id="data-{name}">(.*?)</script>', page)[1])
                       for name, title in found.items()}
        assert page.count('id="drawing-chart"') == 1 and len(self.charts) == len(self.titles)

    def values(self, title):
        return self.charts[title]["values"]

    def rows(self, title, table):
        table = self.charts[title]["tables"][table]
        return [dict(zip(table["fields"], row)) for row in table["rows"]]

    def names(self, title):
        return [row["name"] for row in self.rows(title, "series") if row["legend"]]

    def series(self, title, name, pale=None, line=None, hollow=None):
        """The rows of the series of that name, and of that style where it is given."""
        ids = {row["id"] for row in self.rows(title, "series") if row["name"] == name and
               pale in (None, row["opacity"] < 1) and line in (None, bool(row["line"])) and hollow in (None, bool(row["hollow"]))}
        return [row for row in self.rows(title, "point") if row["series"] in ids and row["y"] is not None]

    def points(self, title, name, **style):
        return [(row["x"], row["y"]) for row in self.series(title, name, **style)]
