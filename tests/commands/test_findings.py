"""What is wrong, and how often."""

from __future__ import annotations

from ottla.commands.findings import ALIKE_MAX, REBUILD_INDEX, Findings


def test_many_findings_of_a_kind_are_a_few_and_a_number() -> None:
    findings = Findings()
    for position in range(ALIKE_MAX + 4):
        findings.damage("a.index", position, "wrong", REBUILD_INDEX)
    findings.damage("b.index", 0, "wrong", REBUILD_INDEX)
    findings.note("b.index", "curious")
    assert [findings.more_like(finding) for finding in findings.found] == [0, 0, 4, 0, 0]
    assert findings.damage_count == ALIKE_MAX + 5


def test_notes_are_no_damage() -> None:
    findings = Findings()
    findings.note("a", "curious")
    assert findings.damage_count == 0
