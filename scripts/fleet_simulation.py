#!/usr/bin/env python3
"""Print how often `gpubench fleet check` is wrong, by simulated fleets: the table of docs/fleet.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from studies.fleet.simulation import rows, table

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--fleets", type=int, default=1000, help="healthy fleets of each size; half as many of the others")
parser.add_argument("--sizes", type=int, nargs="+", default=[8, 64, 256])
parser.add_argument("--seed", type=int, default=1)
given = parser.parse_args()
print(table(list(rows(given.sizes, given.fleets, given.seed))))
