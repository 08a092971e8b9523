"""The designs behind PyTorch's cumsum: a device-wide scan, rows, columns, and the dispatch. Imports no torch."""
