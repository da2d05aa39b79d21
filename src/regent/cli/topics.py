"""`regent topics`: make, show, grow and delete topics of any Kafka cluster."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypeAlias

import typer

from regent.cli.bootstrap import (
    EXIT_CODES,
    EXIT_REFUSED,
    BootstrapOption,
    JsonOption,
    TimeoutOption,
    complain,
    connected,
)
from regent.cli.outcomes import print_as_json, print_rows, report, to_outcomes
from regent.cli.topic_options import read_assignment, read_configs
from regent.client.refusals import explain
from regent.client.seen import ClusterSeen, PartitionSeen, TopicSeen
from regent.client.status import is_offline, is_under_replicated
from regent.client.verification import say_ids
from regent.errors import BadInput
from regent.model.admin_requests import MorePartitions, NewTopic
from regent.model.assignment import Assignment
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

app = typer.Typer(
    name="topics",
    help="Create, list, describe, grow and delete topics of a live cluster.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

# fmt: off
NameArgument: TypeAlias = Annotated[str, typer.Argument(metavar="NAME")]
AssignmentOption: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="1:2,2:3", help="The brokers of each new partition, the leader first."),
]
ValidateOption: TypeAlias = Annotated[
    bool, typer.Option("--validate-only", help="Only say whether it could be done.")
]
# fmt: on


@app.command(epilog=EXIT_CODES)
def create(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    name: NameArgument,
    bootstrap: BootstrapOption,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many; without it, the brokers' default."),
    ] = None,
    replication_factor: Annotated[
        int | None,
        typer.Option(min=1, metavar="R", help="Replicas of each; without it, their default."),
    ] = None,
    replica_assignment: AssignmentOption = None,
    config: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of the topic. May be repeated."),
    ] = None,
    validate_only: ValidateOption = False,
    if_not_exists: Annotated[
        bool, typer.Option("--if-not-exists", help="Be content if there is such a topic already.")
    ] = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Create a topic."""
    if replica_assignment is not None and (partitions or replication_factor):
        raise BadInput(
            "--replica-assignment says how many partitions and replicas there are; leave out"
            " --partitions and --replication-factor"
        )
    placed = () if replica_assignment is None else read_assignment(replica_assignment)
    topic = NewTopic(
        name,
        partition_count=partitions or -1,
        replication_factor=replication_factor or -1,
        assignments=tuple(enumerate(placed)),
        configs=read_configs(config or ()),
    )
    with connected(bootstrap, timeout_s) as admin:
        results = admin.create([topic], validate_only=validate_only)
    outcomes = to_outcomes(
        results,
        done="could be created" if validate_only else "created",
        content_with={ErrorCode.TOPIC_ALREADY_EXISTS: "exists already"} if if_not_exists else {},
    )
    report("Topics", outcomes, as_json=as_json)


@app.command(epilog=EXIT_CODES)
def delete(
    names: Annotated[list[str], typer.Argument(metavar="NAME")],
    bootstrap: BootstrapOption,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Be content if there is no such topic.")
    ] = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Delete topics, with all that is in them."""
    with connected(bootstrap, timeout_s) as admin:
        results = admin.delete(tuple(dict.fromkeys(names)))
    absent = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "was not there"}
    outcomes = to_outcomes(results, done="deleted", content_with=absent if if_exists else {})
    report("Topics", outcomes, as_json=as_json)


@app.command(name="add-partitions", epilog=EXIT_CODES)
def add_partitions(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    name: NameArgument,
    bootstrap: BootstrapOption,
    to: Annotated[
        int, typer.Option("--to", min=1, metavar="N", help="How many it shall have in all.")
    ],
    replica_assignment: AssignmentOption = None,
    validate_only: ValidateOption = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Give a topic more partitions."""
    placed = None if replica_assignment is None else read_assignment(replica_assignment)
    with connected(bootstrap, timeout_s) as admin:
        results = admin.grow([MorePartitions(name, to, placed)], validate_only=validate_only)
    done = f"could have {to} partitions" if validate_only else f"has {to} partitions"
    report("Topics", to_outcomes(results, done=done, content_with={}), as_json=as_json)


@app.command(name="list", epilog=EXIT_CODES)
def list_topics(
    bootstrap: BootstrapOption, timeout_s: TimeoutOption = 30, as_json: JsonOption = False
) -> None:
    """Name all topics."""
    with connected(bootstrap, timeout_s) as admin:
        topics = admin.describe().topics
    if as_json:
        print_as_json(
            [
                {
                    "name": topic.name,
                    "partitions": len(topic.partitions),
                    "replication_factor": _replication_factor(topic),
                    "is_internal": topic.is_internal,
                }
                for topic in topics
            ]
        )
        return
    rows = [
        (
            topic.name,
            f"{len(topic.partitions):,}",
            str(_replication_factor(topic)),
            "internal" if topic.is_internal else "",
        )
        for topic in topics
    ]
    print_rows("Topics", ("name", "partitions", "replicas", ""), rows)


@app.command(epilog=EXIT_CODES)
def describe(  # noqa: PLR0913, PLR0917 - typer makes an option of each
    bootstrap: BootstrapOption,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME")] = None,
    under_replicated: Annotated[
        bool, typer.Option("--under-replicated", help="Only partitions that lack replicas in sync.")
    ] = False,
    unavailable: Annotated[
        bool, typer.Option("--unavailable", help="Only partitions that nobody leads.")
    ] = False,
    timeout_s: TimeoutOption = 30,
    as_json: JsonOption = False,
) -> None:
    """Show where the partitions of topics are, who leads them and who is in sync."""
    with connected(bootstrap, timeout_s) as admin:
        seen = admin.describe(tuple(dict.fromkeys(names)) if names else None)
        moving = admin.moving_if_told()[0] or {}
    live = {broker.broker_id for broker in seen.brokers}
    shown = [
        partition
        for partition in seen.partitions()
        if not under_replicated or is_under_replicated(partition, moving.get(partition.name))
        if not unavailable or is_offline(partition, live)
    ]
    missing = _complaints(seen, names or ())
    if as_json:
        print_as_json([_to_json(partition, seen, moving) for partition in shown])
    else:
        _print_partitions(shown, seen, moving)
    for complaint in missing:
        complain(complaint)
    if missing:
        raise typer.Exit(EXIT_REFUSED)


# --- showing ----------------------------------------------------------------------------------


def _replication_factor(topic: TopicSeen) -> int:
    """That of the first partition, as Kafka's tools count."""
    return len(topic.partitions[0].replicas) if topic.partitions else 0


def _complaints(seen: ClusterSeen, names: Sequence[str]) -> list[str]:
    """Topics that were asked for and are not to be had."""
    there = {topic.name: topic for topic in seen.topics}
    complaints = []
    for name in dict.fromkeys(names):
        topic = there.get(name)
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic is None else topic.error
        if error is not ErrorCode.NONE and not (topic and topic.partitions):
            complaints.append(f"{name}: {error.name}: {explain(error, None)}")
    return complaints


def _print_partitions(
    shown: Sequence[PartitionSeen], seen: ClusterSeen, moving: Mapping[TopicPartition, Assignment]
) -> None:
    rows = [
        (
            str(each.name),
            str(each.leader) if each.has_leader else "none",
            say_ids(each.replicas),
            say_ids(each.isr),
            say_ids(each.offline) if each.offline else "",
            _marks(each, seen, moving),
        )
        for each in shown
    ]
    print_rows("Partitions", ("partition", "leader", "replicas", "ISR", "offline", ""), rows)


def _marks(
    partition: PartitionSeen, seen: ClusterSeen, moving: Mapping[TopicPartition, Assignment]
) -> str:
    if is_offline(partition, {broker.broker_id for broker in seen.brokers}):
        return "unavailable"
    is_short = is_under_replicated(partition, moving.get(partition.name))
    return "under-replicated" if is_short else ""


def _to_json(
    partition: PartitionSeen, seen: ClusterSeen, moving: Mapping[TopicPartition, Assignment]
) -> dict[str, object]:
    live = {broker.broker_id for broker in seen.brokers}
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "leader": partition.leader if partition.has_leader else None,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "offline": partition.offline,
        "is_unavailable": is_offline(partition, live),
        "is_under_replicated": is_under_replicated(partition, moving.get(partition.name)),
    }
