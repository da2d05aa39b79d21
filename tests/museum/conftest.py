"""The scenes of the core's tests, for the faults that are provoked in the core."""

from tests.unit.core.conftest import cluster, node, scene

__all__ = ["cluster", "node", "scene"]
