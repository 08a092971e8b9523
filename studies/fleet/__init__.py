"""How often the judgement of a fleet is wrong, by simulation."""
