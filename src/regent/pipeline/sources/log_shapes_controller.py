"""The shapes of what controllers write into `state-change.log`."""

from typing import Final

from regent.pipeline.sources.log_shapes import (
    LogFile,
    Shape,
    ShapeTable,
    Who,
    each_partition,
    each_receiver,
    election,
    sum_of_counts,
)

LISR: Final = {"api": "LeaderAndIsr"}
UMR: Final = {"api": "UpdateMetadata"}
SR: Final = {"api": "StopReplica"}

CONTROLLER_SHAPES: Final = ShapeTable(
    LogFile.STATE_CHANGE,
    Who.CONTROLLER,
    (
        # --- partitions ---
        Shape(
            name="partition_new",
            since="0.8.1",
            until="3.9",
            levels="TRACE; INFO since 2.6",
            template="Changed partition {tp} state from {before} to {after}"
            " with assigned replicas {replicas}",
            kinds=("partition_moved", "assignment_changed"),
            constants={"adding": (), "removing": ()},
        ),
        Shape(
            name="partition_online",
            since="1.0",
            until="3.9",
            levels="TRACE; INFO since 2.6",
            template="Changed partition {tp} from {before} to {after} with state {leader_and_isr}",
            kinds=("leader_elected",),
            meaning=election,
        ),
        # The leadership follows in the request lines; until it is seen this is only a move.
        Shape(
            name="partition_online_old",
            since="0.8.1",
            until="0.10.2",
            levels="TRACE",
            template="Changed partition {tp} from {before} to {after} with leader {leader}",
            kinds=("partition_moved",),
        ),
        Shape(
            name="partition_moved",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Changed partition {tp} state from {before} to {after}",
            kinds=("partition_moved",),
        ),
        Shape(
            name="election_started",
            since="0.8.1",
            until="0.10.2",
            levels="TRACE",
            template="Started leader election for partition {tp}",
            kinds=("election_started",),
        ),
        Shape(
            name="leader_named",
            since="0.8.1",
            until="0.10.2",
            levels="TRACE",
            template="Elected leader {leader} for Offline partition {tp}",
            kinds=("leader_named",),
        ),
        Shape(
            name="partition_failed",
            since="1.0",
            until="3.9",
            levels="ERROR",
            template="Failed to change state for partition {tp} from {before} to {after}",
            kinds=("move_refused",),
        ),
        Shape(
            name="partition_failed_old",
            since="0.8.1",
            until="0.10.2",
            levels="ERROR",
            template="Initiated state change for partition {tp} from {before} to {after} failed",
            kinds=("move_refused",),
        ),
        Shape(
            name="partition_has_no_live_replica",
            since="0.8.1",
            until="0.10.2",
            levels="ERROR",
            template="Encountered error during state change of partition {tp} from New to Online,"
            " assigned replicas are [{replicas}], live brokers are [{any}]. {why}",
            kinds=("move_refused",),
            constants={"before": "NewPartition", "after": "OnlinePartition"},
        ),
        Shape(
            name="partition_is_led_already",
            since="0.8.1",
            until="0.10.2",
            levels="ERROR",
            template="Encountered error while changing partition {tp}'s state from New to Online"
            " since LeaderAndIsr path already exists with value {leader_and_isr}"
            " and controller epoch {number}",
            kinds=("move_refused",),
            constants={
                "before": "NewPartition",
                "after": "OnlinePartition",
                "reason": "LeaderAndIsr path already exists",
            },
        ),
        Shape(
            name="election_aborted",
            since="0.8.1",
            until="0.10.2",
            levels="ERROR",
            template="Aborted leader election for partition {tp} since {why}",
            kinds=("move_refused",),
            constants={"after": "OnlinePartition"},
        ),
        Shape(
            name="election_failed",
            since="0.8.1",
            until="0.10.2",
            levels="ERROR",
            template="Encountered error while electing leader for partition {tp} due to: {why}",
            kinds=("move_refused",),
            constants={"after": "OnlinePartition"},
        ),
        # --- replicas ---
        Shape(
            name="replica_moved",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Changed state of replica {broker} for partition {tp}"
            " from {replica_before} to {replica_after}",
            kinds=("replica_moved",),
        ),
        Shape(
            name="replica_failed",
            since="0.8.1",
            until="3.9",
            levels="ERROR",
            template="Initiated state change of replica {broker} for partition {tp}"
            " from {replica_before} to {replica_after} failed",
            kinds=("move_refused",),
        ),
        Shape(
            name="isr_shrunk",
            since="2.7",
            until="3.9",
            levels="INFO",
            template="Partition {tp} state changed to {written} after removing replica {broker}"
            " from the ISR as part of transition to OfflineReplica",
            kinds=("isr_shrunk",),
        ),
        Shape(
            name="log_dir_failed",
            since="1.0",
            until="3.9",
            levels="INFO",
            template="Mark replicas {tps} on broker {broker} as offline",
            kinds=("log_dir_failed",),
            constants={"loaded": False},
            meaning=each_partition,
        ),
        # --- requests out ---
        Shape(
            name="lisr_out",
            since="0.8.1",
            until="3.9",
            levels="TRACE",
            template="Sending become-{role} LeaderAndIsr request {partition_state}"
            "<< with correlationId {correlation}>> to broker {broker} for partition {tp}",
            kinds=("leadership_told",),
            constants=LISR,
        ),
        Shape(
            name="lisr_out_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Sending LeaderAndIsr request to broker {broker} with {count} become-leader"
            " and {more} become-follower partitions",
            kinds=("request_sent",),
            constants=LISR,
            meaning=sum_of_counts,
        ),
        Shape(
            name="umr_out_correlated",
            since="0.8.1",
            until="0.8.2",
            levels="TRACE",
            template="Sending UpdateMetadata request {partition_state}"
            " with correlationId {correlation} to broker {broker} for partition {tp}",
            kinds=("leadership_told",),
            constants=UMR,
        ),
        # One line for all brokers: a row for each would multiply the biggest part of these logs.
        Shape(
            name="umr_out",
            since="0.9",
            until="2.5",
            levels="TRACE",
            template="Sending UpdateMetadata request {partition_state} to brokers {any}"
            " for partition {tp}",
            kinds=("leadership_told",),
            constants=UMR,
        ),
        Shape(
            name="umr_out_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Sending UpdateMetadata request to brokers {broker_set}"
            " for {count} partitions",
            kinds=("request_sent", "nothing_sent"),
            constants=UMR,
            meaning=each_receiver,
        ),
        Shape(
            name="sr_out",
            since="2.6",
            until="3.9",
            levels="TRACE",
            template="Sending StopReplica request {stop_state} to broker {broker}"
            " for partition {tp}",
            kinds=("stop_told",),
            constants=SR,
        ),
        Shape(
            name="sr_out_summary",
            since="2.6",
            until="3.9",
            levels="INFO",
            template="Sending StopReplica request<< (delete = {delete})>> for {count} replicas"
            " to broker {broker}",
            kinds=("request_sent",),
            constants=SR,
        ),
        # --- answers in ---
        Shape(
            name="response",
            since="1.0",
            until="3.9",
            levels="TRACE",
            template="Received response {response} for request {api}"
            " with correlation id {correlation} sent to broker {node}",
            kinds=("request_answered",),
        ),
        Shape(
            name="response_correlated",
            since="0.8.1",
            until="0.8.2",
            levels="TRACE",
            template="Received response correlationId {correlation}"
            " for a request sent to broker {node}",
            kinds=("request_answered",),
        ),
        Shape(
            name="response_old",
            since="0.9",
            until="0.11",
            levels="TRACE",
            template="Received response {response} for a request sent to broker {node}",
            kinds=("request_answered",),
        ),
        Shape(
            name="response_bad",
            since="1.0",
            until="3.9",
            levels="ERROR",
            template="Received error<< {why}>> in {api} response {response} from broker {broker}",
            kinds=("answer_refused",),
        ),
        # --- reassignment ---
        Shape(
            name="reassignment_told",
            since="2.4",
            until="3.9",
            levels="TRACE; INFO since 2.6",
            template="Sent LeaderAndIsr request {written} with new replica assignment {assignment}"
            " to leader {leader} for partition being reassigned {tp}",
            kinds=("leader_epoch_raised",),
        ),
        Shape(
            name="reassignment_told_old",
            since="0.8.1",
            until="2.3",
            levels="TRACE",
            template="Sent LeaderAndIsr request {written} with new assigned replica list"
            " {replicas} to leader {leader} for partition being reassigned {tp}",
            kinds=("leader_epoch_raised",),
        ),
        Shape(
            name="reassignment_not_told",
            since="2.4",
            until="3.9",
            levels="ERROR",
            template="Failed to send LeaderAndIsr request with new replica assignment {assignment}"
            " to leader for partition being reassigned {tp}",
            kinds=("reassignment_not_told",),
        ),
        Shape(
            name="reassignment_not_told_old",
            since="0.8.1",
            until="2.3",
            levels="ERROR",
            template="Failed to send LeaderAndIsr request with new assigned replica list"
            " {replica_seq} to leader for partition being reassigned {tp}",
            kinds=("reassignment_not_told",),
        ),
    ),
)
