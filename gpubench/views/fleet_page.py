"""A fleet as one HTML page that needs nothing else: the strip, the heat map, and a row a GPU."""

from __future__ import annotations

import shlex
from typing import Any

from gpubench.findings import Findings, Gpu
from gpubench.views import fleet as words
from gpubench.views import text
from gpubench.views.charts.fleet import charts
from gpubench.views.report import own, pictures, policy, template_text, templates


def fleet_html(findings: Findings) -> str:
    """Return the page. Members that are not fine come first, with what may explain them."""
    css = template_text("report.css")
    fleet = findings.fleet
    bad = findings.having("MISSING", "WRONG", "FAILED", "SLOW", "SUSPECT")
    how = "at once" if fleet.at_once else "one after the other"
    ordered = [*bad, *sorted(findings.having("UNJUDGED", "FINE"), key=_effect, reverse=True)]
    return (
        templates()
        .get_template("fleet.html.j2")
        .render(
            title=f"gpubench: {text.printable(str(fleet.suite.get('name') or 'suite'))} on {len(fleet.members)} GPUs",
            subtitle=f"measured {text.printable(fleet.created)}, {how}, by gpubench {text.printable(fleet.gpubench)}",
            policy=policy(css),
            style=own(css),
            totals=words.totals(findings),
            rules=[words.rule(group) for group in findings.groups],
            notes=[text.printable(note) for note in findings.notes],
            facts=_facts(findings),
            bad=[_row(gpu) for gpu in bad],
            charts=pictures(charts(findings), "f"),
            rows=[_row(gpu) for gpu in ordered],
            command=text.printable(shlex.join(fleet.command)),
        )
    )


def _effect(gpu: Gpu) -> float:
    return gpu.effect.value if gpu.effect is not None else 0.0


def _facts(findings: Findings) -> list[tuple[str, str]]:
    fleet = findings.fleet
    begun = [member.started_s for member in fleet.members if member.started_s is not None]
    facts = [("hosts", str(len(fleet.hosts))), ("GPUs", str(len(fleet.members))), ("cases", _cases(findings))]
    if begun:
        facts.append(("first cases began within", f"{max(begun) - min(begun):.1f} s"))
    facts.append(("warmed up", f"{fleet.soak_s:g} s" if fleet.soak_s else "no"))
    return facts


def _cases(findings: Findings) -> str:
    return f"{len({case for case, _ in findings.works})}, {len(findings.works)} pieces of work"


def _row(gpu: Gpu) -> dict[str, Any]:
    member = gpu.member
    return {
        "key": text.printable(member.key),
        "finding": gpu.finding,
        "effect": words.signed(gpu.effect.value if gpu.effect else None),
        "interval": words.span(gpu.effect),
        "again": words.signed(gpu.again.value if gpu.again else None),
        "host": text.printable(member.host),
        "position": member.position,
        "pci": text.printable(member.pci_bus_id or text.MISSING),
        "numa": text.MISSING if member.numa_node is None else member.numa_node,
        "uuid": text.printable(member.uuid or text.MISSING),
        "started": text.MISSING if member.started_s is None else f"{member.started_s:.1f} s",
        "result": text.printable(member.result),
        "why": words.why(gpu),
    }
