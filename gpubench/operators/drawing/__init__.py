"""Drawing the parameters of random cases: exact numbers, shapes and layouts. Each operator's `drawn.py` uses these."""
