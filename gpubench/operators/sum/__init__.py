"""sum: the sum over any set of dims."""
