"""The number of the way of measuring: times of two protocols are not the same thing. docs/method.md says why."""

# History.
#   1  The first.
#   2  Lines pinned in the L2 cache are set free before every sample. Reads that the L2 cache gives up first compete for
#      the ceiling, which is the least of several rounds; shares of it count whole sectors of memory.
#   3  Inductor gives a result that lies as the case says, row by row unless the operands' order is asked for.
PROTOCOL = 3
