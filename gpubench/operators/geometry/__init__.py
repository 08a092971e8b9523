"""How kernels see operands, whatever the operator: rows, columns, transposed lines, vectors, and how these are cut."""
