"""What is worth waking somebody for, from journals that are still being written (Q8)."""
