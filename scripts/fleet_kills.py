#!/usr/bin/env python3
"""Kill the processes of a cluster on this machine at random moments, and say what was left, as docs/fleet.md does.

.venv/bin/python scripts/fleet_kills.py --kills 200
.venv/bin/python scripts/fleet_kills.py --kills 20 --gpus --workers 2    # on this machine's GPUs, a worker each
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studies.fleet.kills import VICTIMS, kill_at_random, lines

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--kills", type=int, default=200)
parser.add_argument("--workers", type=int, default=3)
parser.add_argument("--gpus", action="store_true", help="measure on GPUs 0 to WORKERS - 1, not on scripted devices")
parser.add_argument("--only", action="append", choices=list(VICTIMS), help="whom to kill (repeat); anyone without it")
parser.add_argument("--give-up", type=float, default=3600.0, metavar="S", help="deal no kill after S seconds")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--folder", type=Path, help="keep everything here")
given = parser.parse_args()
with tempfile.TemporaryDirectory(prefix="gpubench-kills-") as temporary:
    folder = given.folder or Path(temporary)
    folder.mkdir(parents=True, exist_ok=True)
    victims = {who: often for who, often in VICTIMS.items() if given.only is None or who in given.only}
    about = (given.kills, given.seed, given.workers, given.give_up)
    account = kill_at_random(folder.resolve(), *about, on_gpus=given.gpus, victims=victims)
    sys.stdout.write("\n".join([account.table(), *lines(account)]) + "\n")
    sys.exit(bool(account.lost or account.repeated or account.invented))
