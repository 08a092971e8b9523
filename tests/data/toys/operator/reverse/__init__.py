"""reverse: the elements of a line from the last to the first."""
