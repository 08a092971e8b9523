"""Tests of gpubench.kernels. Those that compile need NVRTC (an optional extra), but no GPU."""
