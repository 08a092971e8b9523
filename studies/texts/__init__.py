"""The texts on the kernels of PyTorch and OneFlow: what they claim, held against what was measured."""
