"""What results look like in a notebook: plain HTML and SVG, every text escaped, no script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thickset._function_audit import FunctionAudit
    from thickset._results import Audit

#: The most rows of a table that are shown.
_SHOWN = 10


def bars(title: str, values: Sequence[tuple[str, float]]) -> str:
    """Horizontal bars around zero, with their numbers."""
    largest = max((abs(value) for _, value in values), default=0.0) or 1.0
    height, left, width = 22, 190, 260
    negative = any(value < 0 for _, value in values)
    zero = left + (width // 2 if negative else 0)
    room = width / 2 if negative else width
    marks = []
    for place, (name, value) in enumerate(values):
        y = 30 + place * height
        length = room * abs(value) / largest
        start = zero - length if value < 0 else zero
        colour = "#c4572e" if value < 0 else "#2f6db3"
        marks.append(
            f'<text x="{left - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{start:.1f}" y="{y}" width="{length:.1f}" height="14" fill="{colour}"/>'
            f'<text x="{left + width + 8}" y="{y + 12}">{value:.4g}</text>'
        )
    total = 40 + len(values) * height
    said = escape(f"{title}: " + ", ".join(f"{name} {value:.4g}" for name, value in values))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="560" height="{total}" role="img" aria-label="{said}" '
        f'font-family="sans-serif" font-size="12" fill="currentColor"><text x="0" y="16" font-weight="bold">{escape(title)}</text>'
        + "".join(marks)
        + "</svg>"
    )


def table(title: str, columns: Mapping[str, Any]) -> str:
    """The first rows of a table."""
    rows = list(zip(*(list(column)[:_SHOWN] for column in columns.values()), strict=True))
    total = len(next(iter(columns.values()), []))
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    more = paragraph(f"and {total - _SHOWN} more rows") if total > _SHOWN else ""
    return f"{paragraph(title)}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def figures(audit: Audit | FunctionAudit) -> str:
    """The figures of an audit, and what was required."""
    rows = "".join(
        f"<tr><td>{escape(one['label'])}</td><td>{one['value']:.4f}</td><td>{_interval(one)}</td></tr>"
        for one in audit.figures.values()
    )
    gate = "".join(
        paragraph(f"{one['text']}: {'holds' if one['holds'] else 'fails'}") for one in audit.gate
    )
    head = "<tr><th>figure</th><th>value</th><th>95% interval</th></tr>"
    return f"{paragraph(repr(audit)[1:-1])}<table><thead>{head}</thead><tbody>{rows}</tbody></table>{gate}"


def page(html: str) -> str:
    """A whole page inside a notebook, closed until it is asked for."""
    frame = f'<iframe srcdoc="{escape(html)}" style="width:100%;height:640px;border:1px solid #8884" sandbox></iframe>'
    return f"<details><summary>report</summary>{frame}</details>"


def paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _interval(figure: Mapping[str, Any]) -> str:
    if figure["low"] is None:
        return ""
    return f"{figure['low']:.4f} to {figure['high']:.4f}"


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else escape(str(value))
