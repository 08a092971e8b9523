"""index_add: slices of a source added to the places of a destination that an index names, in place."""
