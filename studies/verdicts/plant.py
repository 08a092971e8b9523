"""Copy cuda_src with a wait of some cycles at the start of every thread of elementwise/naive.cu: a slow-down to find.

.venv/bin/python -m studies.verdicts.plant CYCLES FOLDER
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

MARK = "    const C first = convert<C>(p0);\n"
"""The first line of each of the three kernels (one, two, three operands)."""


def plant(cycles: int, folder: Path) -> None:
    """Write the copy to `folder`/cuda_src. ValueError when the kernels are not as they were."""
    shutil.copytree(Path(__file__).resolve().parents[2] / "cuda_src", folder / "cuda_src")
    path = folder / "cuda_src" / "elementwise" / "naive.cu"
    text = path.read_text(encoding="utf-8")
    if text.count(MARK) != 3:
        raise ValueError(f"{path} does not have three kernels that begin as expected")
    wait = f"    for (const long long from = clock64(); clock64() - from < {cycles};) {{\n    }}\n"
    path.write_text(text.replace(MARK, wait + MARK), encoding="utf-8")


if __name__ == "__main__":
    plant(int(sys.argv[1]), Path(sys.argv[2]))
