"""HTML of records and reports for notebooks: verdict, blocked ranks, wait-for graph."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipesim.api import Record, Report

_STUCK_SHOWN = 16
_PRE = "white-space: pre-wrap; margin: 0.3em 0"


def report_html(report: Report) -> str:
    """Returns the report as HTML: who waits for whom, a table of blocked ranks, the graph, and the
    whole text."""
    head, _, _ = report.text.strip().partition("\n\n")
    verdict, _, story = head.partition("\n")
    parts = [f"<p><b>{html.escape(verdict)}</b></p>"]
    if story:
        parts.append(f'<pre style="{_PRE}">{html.escape(story)}</pre>')
    if report.stuck:
        rows = [(str(each.rank), each.op, each.at) for each in report.stuck[:_STUCK_SHOWN]]
        more = len(report.stuck) - len(rows)
        parts.append(_table(("rank", "blocked in", "line"), rows))
        parts.append(f"<p>{more} more</p>" if more else "")
    graph = report._wait_for() if report.hangs and report._wait_for is not None else ""
    parts.append(graph[graph.find("<svg") :] if "<svg" in graph else "")
    text = html.escape(report.text)
    parts.append(f'<details><summary>Report</summary><pre style="{_PRE}">{text}</pre></details>')
    return f"<div>{''.join(parts)}</div>"


def record_html(record: Record) -> str:
    """Returns the record as HTML: how its ranks ended, and the last report on it."""
    ends: dict[tuple[str, str], list[str]] = {}
    for end in record.ends:
        ends.setdefault((end.end, end.text or end.why), []).append(str(end.rank))
    rows = [(", ".join(ranks), end, why) for (end, why), ranks in ends.items()]
    title = f"Record of {record.world} {'rank' if record.world == 1 else 'ranks'}, {record.backend}"
    parts = [f"<p><b>{html.escape(title)}</b></p>", _table(("ranks", "end", ""), rows)]
    if record._reports:
        parts.append(report_html(record._reports[-1]))
    else:
        parts.append("<p><code>.check()</code> finds out whether it can hang.</p>")
    return f"<div>{''.join(parts)}</div>"


def _table(titles: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        style = ' style="text-align: left"'
        return "".join(f"<{tag}{style}>{html.escape(cell)}</{tag}>" for cell in cells)

    lines = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{row(titles, 'th')}</tr></thead><tbody>{lines}</tbody></table>"
