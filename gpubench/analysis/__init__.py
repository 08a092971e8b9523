"""Statistics on results: comparison, calibration, paired analysis. docs/statistics.md gives the reasons.

A comparison goes through the modules in one direction: `pairing` (which records stand against each other), `rounds`
(samples to round medians), `controls` (the machine's change), `calibration` (what repeated runs showed), `estimate`
(each pair's change beyond the machine's), `rule` (which changes are certain), `judge` (verdicts), `compare` (rows, with
the `differences` that may explain them). `planning` says how many rounds a later run takes.
"""
