"""What many runs tell: the machine's change from run to run (`runs`), steps, their causes, and a gate for a new run.

It stands on the parts of a comparison in `gpubench.analysis`; docs/history.md has the method.
"""
