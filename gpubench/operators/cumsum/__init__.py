"""cumsum: the inclusive running sum along one dim."""
