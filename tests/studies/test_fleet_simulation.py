from __future__ import annotations

from studies.fleet.simulation import simulate, table


def test_healthy_fleets_are_seldom_called_unhealthy_and_slow_gpus_are_found() -> None:
    """Fewer fleets than in docs/fleet.md, so with room: at most 1 % false alarms, at least 95 % found, two of eight."""
    healthy = [simulate(count, 0, 0.0, fleets) for count, fleets in ((8, 250), (64, 60), (256, 20))]
    assert all(row.false <= 0.01 * row.fleets + 3 * (0.01 * row.fleets) ** 0.5 for row in healthy)
    one = [simulate(count, 1, 0.02, fleets) for count, fleets in ((8, 200), (64, 60), (256, 20))]
    assert all(row.found >= 0.95 * row.fleets - 3 * (0.05 * 0.95 * row.fleets) ** 0.5 for row in one)
    two = simulate(8, 2, 0.02, 200)
    assert two.complete >= 0.92 * two.fleets
    blind = simulate(8, 1, 0.001, 100)
    assert blind.found <= 10, "what nobody could see is found"
    assert "1 by 2 %" in table(one)
