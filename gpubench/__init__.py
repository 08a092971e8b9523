"""gpubench tells the truth about memory-bound GPU kernels: it runs suites of operators, times, checks and compares them."""

__version__ = "0.1.0"
