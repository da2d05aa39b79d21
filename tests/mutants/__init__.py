"""Faults put into the core on purpose, to see that the simulator notices."""
