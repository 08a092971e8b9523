"""Statistics on results: comparison, calibration, paired analysis. docs/statistics.md gives the reasons.

A comparison goes through the modules in one direction: `rounds` (samples to round medians), `pairing` (which records
stand against each other), `controls` (the machine's change), `estimate` (each pair's change beyond it), `rule` (tests
and the gate), `judge` (verdicts), `compare` (rows). `planning` stands on it: noise floors, and rounds for a later run.
"""
