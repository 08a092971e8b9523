"""Where a PCI device sits in this machine, as the system tells it."""

from __future__ import annotations

import re
from pathlib import Path

_BUS_ID = re.compile(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]")


def numa_node(pci_bus_id: str) -> int | None:
    """Return the NUMA node that a PCI device of this machine is near; None where the system does not tell."""
    if not _BUS_ID.fullmatch(pci_bus_id):
        return None
    try:
        node = int(Path(f"/sys/bus/pci/devices/{pci_bus_id.lower()[-12:]}/numa_node").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None
