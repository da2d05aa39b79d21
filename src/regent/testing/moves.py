"""Partitions that are moved to other brokers while clients use them.

Through the door that administrators use. A move that is refused is no failure of a test: a
controller may be changing, and what is moved may be deleted at the same time.
"""

from collections.abc import Sequence

from regent.client.addresses import parse_bootstrap
from regent.client.admin import Admin
from regent.client.cluster import Cluster
from regent.errors import ClusterUnreachable, RequestRefused
from regent.model.admin_requests import ReassignmentTarget
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.testing.patient import wait_until


def move_partition(bootstrap: str, lot: float, broker_ids: Sequence[int]) -> str:
    """Have as many of these brokers as it has replicas keep a partition; what became of it.

    `lot` is from 0 to 1, and says which of all partitions that fit. Nothing waits for the move.
    """
    with Cluster(parse_bootstrap(bootstrap)) as asked:
        admin = Admin(asked)
        try:
            partitions = list(admin.describe().partitions())
            fitting = [each for each in partitions if len(each.replicas) <= len(broker_ids)]
            if not fitting:
                return "there is no partition to be moved"
            chosen = fitting[int(lot * len(fitting))]
            targets = tuple(map(BrokerId, broker_ids[: len(chosen.replicas)]))
            wish = ReassignmentTarget(chosen.topic, chosen.partition, targets)
            (result,) = admin.reassign([wish])
        except (ClusterUnreachable, RequestRefused) as error:
            return f"nothing is moved: {error}"
    outcome = "moves" if result.error is ErrorCode.NONE else f"is refused ({result.error.name})"
    return f"{chosen.name} from {list(chosen.replicas)} to {list(targets)} {outcome}"


def wait_for_moves(bootstrap: str) -> None:
    """Until no partition is being moved any more."""
    with Cluster(parse_bootstrap(bootstrap)) as asked:
        admin = Admin(asked)
        wait_until(lambda: admin.moving_if_told()[0] == {}, "all moves to be done")
