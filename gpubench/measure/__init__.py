"""Measuring: when to sample, what to keep, when to stop, and what the samples say."""
