"""The designs of PyTorch's elementwise kernels: iterator, vector width, launches and variants. Imports no torch."""
