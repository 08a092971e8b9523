"""Tuning: the best constants for a GPU, found by racing, kept in a file as evidence, and in force for `auto`."""
