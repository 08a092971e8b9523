#!/usr/bin/env python3
"""Hold contests over planted landscapes and say how good their choices are: the figures of docs/tuning.md.

.venv/bin/python scripts/tuning_simulation.py [--runs 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies.tuning import hold, landscape, summary


def main() -> None:
    """Hold them and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="contests")
    parser.add_argument("--seed", type=int, default=1, help="of landscapes and noise")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.runs)
    print(summary([hold(landscape(seed), seed) for seed in seeds]))


if __name__ == "__main__":
    main()
