"""What a user brings: kernels and operators of their own, as a suite describes them. Reading it runs nothing."""
