"""Which GPU of a fleet is slow or wrong. `judge.judge` is the way in."""
