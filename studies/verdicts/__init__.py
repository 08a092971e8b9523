"""Simulated and recorded gates: how often rules of comparison cry wolf, how often they sleep, what intervals hold."""
