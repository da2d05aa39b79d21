"""Apache's controller against Regent's, on one ZooKeeper and the same brokers: `make duel`."""
