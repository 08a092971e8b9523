"""gpubench tells the truth about memory-bound GPU kernels: it times, checks and compares suites of operators."""

__version__ = "0.1.0"
