"""From a suite file to cases: read (safe YAML), schema (what may be written), expand (axes to cases), filters."""
