"""The number of the way of measuring: times of two protocols are not the same thing. docs/method.md says why."""

# History.
#   1  The first.
PROTOCOL = 1
