"""The shapes of what brokers write into `state-change.log`."""

from typing import Final

from regent.pipeline.sources.log_shapes import LogFile, Shape, ShapeTable, Who, sum_of_counts
from regent.pipeline.sources.log_shapes_controller import LISR, SR, UMR

_OLD_EPOCH: Final = "old controller epoch"
_OLD_LEADER_EPOCH: Final = "old leader epoch"
_SAME_LEADER_EPOCH: Final = "same leader epoch"
_NOT_A_REPLICA: Final = "not a replica"
_OFFLINE_LOG_DIR: Final = "offline log directory"

#: How a broker names the request of which it ignores one partition.
_IGNORED: Final = (
    "Ignoring LeaderAndIsr request from controller {controller} with correlation id {correlation}"
    " epoch {epoch} for partition {tp}"
)

BROKER_SHAPES: Final = ShapeTable(
    LogFile.STATE_CHANGE,
    Who.BROKER,
    (
        # --- LeaderAndIsr ---
        Shape(
            name="lisr_in",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Received LeaderAndIsr request {partition_state} correlation id {correlation}"
            " from controller {controller} epoch {epoch}<< for partition {tp}>>",
            kinds=("leadership_heard",),
            constants=LISR,
        ),
        Shape(
            name="lisr_in_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Handling LeaderAndIsr request correlationId {correlation}"
            " from controller {controller} for {count} partitions",
            kinds=("request_received",),
            constants=LISR,
        ),
        Shape(
            name="lisr_finished",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Finished LeaderAndIsr request in {number}ms correlationId {correlation}"
            " from controller {controller} for {count} partitions",
            kinds=("request_handled",),
            constants=LISR,
        ),
        Shape(
            name="lisr_old_epoch",
            since="0.9",
            until="3.9",
            levels="WARN",
            template="Ignoring LeaderAndIsr request from controller {controller}"
            " with correlation id {correlation} since its controller epoch {epoch} is old."
            " Latest known controller epoch is {number}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OLD_EPOCH},
        ),
        Shape(
            name="lisr_old_epoch_first",
            since="0.8.1",
            until="0.8.2",
            levels="WARN",
            template="Received LeaderAndIsr request correlation id {correlation}"
            " with an old controller epoch {epoch}. Latest known controller epoch is {number}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OLD_EPOCH},
        ),
        Shape(
            name="lisr_smaller_leader_epoch",
            since="2.0",
            until="3.9",
            levels="WARN",
            template=f"{_IGNORED} since its associated leader epoch {{leader_epoch}}"
            " is smaller than the current leader epoch {number}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OLD_LEADER_EPOCH},
        ),
        Shape(
            name="lisr_same_leader_epoch",
            since="2.0",
            until="3.9",
            levels="DEBUG; INFO since 2.6",
            template=f"{_IGNORED} since its associated leader epoch {{leader_epoch}}"
            " matches the current leader epoch",
            kinds=("request_refused",),
            constants={**LISR, "reason": _SAME_LEADER_EPOCH},
        ),
        Shape(
            name="lisr_not_higher_leader_epoch",
            since="0.9",
            until="1.1",
            levels="WARN",
            template=f"{_IGNORED} since its associated leader epoch {{leader_epoch}}"
            " is not higher than the current leader epoch {number}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OLD_LEADER_EPOCH},
        ),
        Shape(
            name="lisr_older_leader_epoch",
            since="0.8.1",
            until="0.8.2",
            levels="WARN",
            template="Received invalid LeaderAndIsr request with correlation id {correlation}"
            " from controller {controller} epoch {epoch} with an older leader epoch"
            " {leader_epoch} for partition {tp}, current leader epoch is {number}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OLD_LEADER_EPOCH},
        ),
        Shape(
            name="lisr_not_a_replica",
            since="0.9",
            until="3.9",
            levels="WARN",
            template=f"{_IGNORED} as itself is not in assigned replica list {{replicas}}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _NOT_A_REPLICA},
        ),
        Shape(
            name="lisr_not_a_replica_first",
            since="0.8.1",
            until="0.8.2",
            levels="WARN",
            template="Ignoring LeaderAndIsr request<< from controller {controller}>>"
            " with correlation id {correlation}<< from controller {controller}>> epoch {epoch}"
            " as broker is not in assigned replica list {replicas} for partition {tp}",
            kinds=("request_refused",),
            constants={**LISR, "reason": _NOT_A_REPLICA},
        ),
        Shape(
            name="lisr_offline_log_dir",
            since="1.0",
            until="3.9",
            levels="WARN",
            template=f"{_IGNORED} as the local replica for the partition is in an offline"
            " log directory",
            kinds=("request_refused",),
            constants={**LISR, "reason": _OFFLINE_LOG_DIR},
        ),
        Shape(
            name="lisr_error",
            since="0.8.1",
            until="3.9",
            levels="ERROR",
            template="Error<< on broker {number}>> while processing LeaderAndIsr request"
            "<< with>> correlationId {correlation} received from controller {controller}"
            " epoch {epoch}<< for partition {tp}>>",
            kinds=("request_failed",),
            constants=LISR,
        ),
        # --- to lead and to follow ---
        Shape(
            name="role_change_started",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Handling LeaderAndIsr request correlationId {correlation} from controller"
            " {controller} epoch {epoch} starting the become-{role} transition for partition {tp}"
            "<< with leader {leader}>>",
            kinds=("role_change_started",),
            constants=LISR,
        ),
        Shape(
            name="role_change_finished",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Completed LeaderAndIsr request correlationId {correlation} from controller"
            " {controller} epoch {epoch} for the become-{role} transition for partition {tp}"
            "<< with leader {leader}>>",
            kinds=("role_change_finished",),
            constants=LISR,
        ),
        Shape(
            name="fetchers_stopped",
            since="0.8.1",
            until="2.5",
            levels="TRACE",
            template="Stopped fetchers as part of become-{role} request from controller"
            " {controller} epoch {epoch} with correlation id {correlation} for partition {tp}"
            "<< (last update controller epoch {number})>><< with leader {leader}>>",
            kinds=("fetchers_stopped",),
            constants=LISR,
        ),
        Shape(
            name="fetchers_stopped_to_lead",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Stopped fetchers as part of LeaderAndIsr request correlationId {correlation}"
            " from controller {controller} epoch {epoch} as part of the become-{role} transition"
            " for {count} partitions",
            kinds=("fetchers_stopped",),
            constants=LISR,
        ),
        Shape(
            name="fetchers_stopped_to_follow",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Stopped fetchers as part of become-{role} request from controller"
            " {controller} epoch {epoch} with correlation id {correlation}"
            " for {count} partitions",
            kinds=("fetchers_stopped",),
            constants=LISR,
        ),
        Shape(
            name="log_truncated",
            since="0.8.1",
            until="2.5",
            levels="TRACE",
            template="Truncated logs and checkpointed recovery boundaries for partition {tp}"
            " as part of become-{role} request with correlation id {correlation}"
            " from controller {controller} epoch {epoch}<< with leader {leader}>>",
            kinds=("log_truncated",),
            constants=LISR,
        ),
        Shape(
            name="fetcher_started",
            since="0.9",
            until="2.5",
            levels="TRACE",
            template="Started fetcher to new leader as part of become-{role} request"
            " from controller {controller} epoch {epoch} with correlation id {correlation}"
            " for partition {tp}<< with leader {leader_address}>>",
            kinds=("fetcher_started",),
            constants=LISR,
        ),
        Shape(
            name="leader_unavailable",
            since="0.9",
            until="3.9",
            levels="ERROR",
            template="Received LeaderAndIsrRequest with correlation id {correlation}"
            " from controller {controller} epoch {epoch} for partition {tp}"
            "<< (last update controller epoch {number})>> but cannot become follower"
            " since the new leader {leader} is unavailable.",
            kinds=("role_change_failed",),
            constants={**LISR, "reason": "the new leader is unavailable"},
        ),
        Shape(
            name="leader_starts",
            since="2.6",
            until="3.1",
            levels="INFO",
            template="Leader {tp} starts at leader epoch {leader_epoch} from offset {number}"
            " with high watermark {number} ISR [{isr}] addingReplicas [{adding}]"
            " removingReplicas [{removing}]. Previous leader epoch was {number}.",
            kinds=("leader_started",),
        ),
        Shape(
            name="leader_starts_with_partition_epoch",
            since="3.2",
            until="3.9",
            levels="INFO",
            template="Leader {tp} with topic id {some_topic_id} starts at leader epoch"
            " {leader_epoch} from offset {number} with partition epoch {zk_version},"
            " high watermark {number}, ISR [{isr}], adding replicas [{adding}] and"
            " removing replicas [{removing}] {any}. Previous leader {some_leader}"
            " and previous leader epoch was {number}.",
            kinds=("leader_started",),
        ),
        Shape(
            name="follower_starts",
            since="2.6",
            until="3.1",
            levels="INFO",
            template="Follower {tp} starts at leader epoch {leader_epoch} from offset {number}"
            " with high watermark {number}. Previous leader epoch was {number}.",
            kinds=("follower_started",),
        ),
        # Both "previous" values were overwritten before they were printed.
        Shape(
            name="follower_starts_with_partition_epoch",
            since="3.2",
            until="3.9",
            levels="INFO",
            template="Follower {tp} starts at leader epoch {leader_epoch} from offset {number}"
            " with partition epoch {zk_version} and high watermark {number}."
            " Current leader is {leader}. Previous leader {some_leader}"
            " and previous leader epoch was {number}.",
            kinds=("follower_started",),
        ),
        Shape(
            name="role_change_skipped_for",
            since="3.2",
            until="3.9",
            levels="INFO",
            template="Skipped the become-{role} state change for {tp} with topic id {any}"
            " and partition state {partition_state} since {any}",
            kinds=("role_change_skipped",),
            constants=LISR,
        ),
        Shape(
            name="role_change_skipped",
            since="0.9",
            until="3.1",
            levels="INFO",
            template="Skipped the become-{role} state change after marking its partition as {any}",
            kinds=("role_change_skipped",),
            constants=LISR,
        ),
        Shape(
            name="fetching_skipped",
            since="1.1",
            until="3.9",
            levels="TRACE",
            template="Skipped the adding-fetcher step of the become-{role} state change"
            " with correlation id {correlation} from controller {controller} epoch {epoch}"
            " for partition {tp}<< with leader {leader}>> since it is shutting down",
            kinds=("role_step_skipped",),
            constants=LISR,
        ),
        Shape(
            name="role_change_broken",
            since="1.1",
            until="3.9",
            levels="ERROR",
            template="Skipped the become-{role} state change with correlation id {correlation}"
            " from controller {controller} epoch {epoch} for partition {tp}"
            " (last update controller epoch {number})<< with leader {leader}>>"
            " since the replica for the partition is offline due to {any}",
            kinds=("role_change_failed",),
            constants={**LISR, "reason": _OFFLINE_LOG_DIR},
        ),
        Shape(
            name="recovery_ended",
            since="3.2",
            until="3.9",
            levels="INFO",
            template="The topic partition {tp} was marked as RECOVERING."
            " Marking the topic partition as RECOVERED.",
            kinds=("recovery_ended",),
        ),
        # --- topic ids ---
        Shape(
            name="topic_id_mismatch",
            since="2.8",
            until="3.9",
            levels="ERROR",
            template="Topic ID in memory: {topic_id} does not match the topic ID for partition"
            " {tp} received: {any}.",
            kinds=("topic_id_mismatch",),
        ),
        Shape(
            name="topic_id_adopted",
            since="2.8",
            until="3.9",
            levels="INFO",
            template="Updating log for {tp} to assign topic ID {topic_id} from LeaderAndIsr request"
            " from controller {controller} with correlation id {correlation} epoch {epoch}",
            kinds=("topic_id_adopted",),
            constants=LISR,
        ),
        # --- StopReplica ---
        Shape(
            name="stop_started",
            since="0.8.1",
            until="2.5",
            levels="TRACE",
            template="Handling stop replica (delete={delete}) for partition {tp}",
            kinds=("stop_started",),
            constants=SR,
        ),
        Shape(
            name="stop_finished",
            since="0.8.1",
            until="2.5",
            levels="TRACE",
            template="Finished handling stop replica (delete={delete}) for partition {tp}",
            kinds=("stop_finished",),
            constants=SR,
        ),
        Shape(
            name="stop_ignored",
            since="0.8.1",
            until="2.5",
            levels="TRACE",
            template="Ignoring stop replica (delete={delete}) for partition {tp} as {why}",
            kinds=("request_refused",),
            constants=SR,
        ),
        Shape(
            name="sr_in_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Handling StopReplica request correlationId {correlation}"
            " from controller {controller} for {count} partitions",
            kinds=("request_received",),
            constants=SR,
        ),
        Shape(
            name="sr_in",
            since="2.6",
            until="3.9",
            levels="TRACE",
            template="Received StopReplica request {stop_state} correlation id {correlation}"
            " from controller {controller} epoch {epoch} for partition {tp}",
            kinds=("stop_heard",),
            constants=SR,
        ),
        Shape(
            name="sr_ignored",
            since="2.6",
            until="3.9",
            levels="WARN",
            template="Ignoring StopReplica request (delete={delete}) from controller {controller}"
            " with correlation id {correlation} epoch {epoch} for partition {tp} as {why}",
            kinds=("request_refused",),
            constants=SR,
        ),
        Shape(
            name="sr_smaller_leader_epoch",
            since="2.6",
            until="3.9",
            levels="WARN",
            template="Ignoring StopReplica request (delete={delete}) from controller {controller}"
            " with correlation id {correlation} epoch {epoch} for partition {tp}"
            " since its associated leader epoch {leader_epoch} is smaller than"
            " the current leader epoch {number}",
            kinds=("request_refused",),
            constants={**SR, "reason": _OLD_LEADER_EPOCH},
        ),
        Shape(
            name="sr_same_leader_epoch",
            since="2.6",
            until="2.8",
            levels="INFO",
            template="Ignoring StopReplica request (delete={delete}) from controller {controller}"
            " with correlation id {correlation} epoch {epoch} for partition {tp}"
            " since its associated leader epoch {leader_epoch} matches the current leader epoch",
            kinds=("request_refused",),
            constants={**SR, "reason": _SAME_LEADER_EPOCH},
        ),
        Shape(
            name="sr_failed",
            since="2.6",
            until="3.9",
            levels="ERROR",
            template="Ignoring StopReplica request (delete={delete}) from controller {controller}"
            " with correlation id {correlation} epoch {epoch} for partition {tp}"
            " due to an unexpected {why}",
            kinds=("request_failed",),
            constants=SR,
        ),
        Shape(
            name="sr_old_epoch",
            since="2.6",
            until="3.9",
            levels="WARN",
            template="Ignoring StopReplica request from controller {controller}"
            " with correlation id {correlation} since its controller epoch {epoch} is old."
            " Latest known controller epoch is {number}",
            kinds=("request_refused",),
            constants={**SR, "reason": _OLD_EPOCH},
        ),
        # 0.8.1 forgot to fill in a placeholder.
        Shape(
            name="sr_old_epoch_old",
            since="0.8.1",
            until="2.5",
            levels="WARN",
            template="Received stop replica request from an old controller epoch {epoch}."
            " Latest known controller epoch is<< %d>> {number}",
            kinds=("request_refused",),
            constants={**SR, "reason": _OLD_EPOCH},
        ),
        # --- UpdateMetadata ---
        Shape(
            name="umr_in",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Cached leader info {partition_state} for partition {tp} in response to"
            " UpdateMetadata request sent by controller {controller} epoch {epoch}"
            " with correlation id {correlation}",
            kinds=("metadata_cached",),
            constants=UMR,
        ),
        Shape(
            name="umr_deleted",
            since="0.9",
            until="3.9",
            levels="TRACE",
            template="Deleted partition {tp} from metadata cache in response to UpdateMetadata"
            " request sent by controller {controller} epoch {epoch}"
            " with correlation id {correlation}",
            kinds=("metadata_forgotten",),
            constants=UMR,
        ),
        Shape(
            name="umr_deleted_topic",
            since="0.8.1",
            until="0.8.2",
            levels="TRACE",
            template="Deleted partitions for topic {topic} from metadata cache in response to"
            " UpdateMetadata request sent by controller {controller} epoch {epoch}"
            " with correlation id {correlation}",
            kinds=("metadata_forgotten",),
            constants=UMR,
        ),
        Shape(
            name="umr_in_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Add {count} partitions and deleted {more} partitions from metadata cache"
            " in response to UpdateMetadata request sent by controller {controller}"
            " epoch {epoch} with correlation id {correlation}",
            kinds=("metadata_updated",),
            constants=UMR,
            meaning=sum_of_counts,
        ),
        Shape(
            name="umr_old_epoch",
            since="0.8.1",
            until="3.9",
            levels="WARN",
            template="Received update metadata request with correlation id {correlation}"
            " from an old controller {controller} with epoch {epoch}."
            " Latest known controller epoch is {number}",
            kinds=("request_refused",),
            constants={**UMR, "reason": _OLD_EPOCH},
        ),
        # --- KRaft: not ours, and known not to be ---
        Shape(
            name="kraft_batch",
            since="2.8",
            until="3.9",
            levels="INFO, DEBUG, TRACE",
            template="Metadata batch {number}: {any}",
            kinds=("kraft_said",),
        ),
        Shape(
            name="kraft_transition",
            since="2.8",
            until="3.9",
            levels="INFO",
            template="Transitioning {number} partition(s) to {any}",
            kinds=("kraft_said",),
        ),
        Shape(
            name="kraft_offline",
            since="2.8",
            until="3.9",
            levels="INFO, WARN",
            template="Found {any} as offline{any}",
            kinds=("kraft_said",),
        ),
    ),
)
