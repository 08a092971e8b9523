"""Statistics on results: comparison, calibration, paired analysis. docs/statistics.md gives the reasons."""
