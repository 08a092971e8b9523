"""Runs over many GPUs: who takes part, in which order they work, and what ties their results together."""
