"""What only scripts need: pages made from recorded results, and simulations. Not part of what is installed."""
