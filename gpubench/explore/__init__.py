"""Looking for regions of cases in which a contender loses: what to try next, and what was found, in words.

Nothing here runs anything: `engine.explore` measures the cases that `search` asks for.
"""
