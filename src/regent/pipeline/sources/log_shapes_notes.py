"""The shapes of what controllers note in `controller.log` while they work, and no table needs.

Known all the same, so that a line which nobody has ever seen stands out. One row for each sentence,
all of the kind `noted`: which releases print it, at which level, and its template.
"""

from typing import Final

from regent.pipeline.sources.log_shapes import LogFile, Shape, ShapeTable, Who

_NOTES: Final = (
    # --- threads ---
    ("thread_starting", "0.10.2", "3.9", "INFO", "Starting<< >>"),
    ("thread_stopping", "0.10.2", "3.9", "INFO", "Shutting down"),
    ("thread_stopped", "0.10.2", "3.9", "INFO", "Stopped<< >>"),
    ("thread_ended", "0.10.2", "3.9", "INFO", "Shutdown completed"),
    (
        *("thread_awaited", "2.4", "3.9", "TRACE"),
        "ShutdownInitiated latch count reached zero. Shutdown called.",
    ),
    # --- taking office and leaving it ---
    ("starting_up", "0.10.2", "0.10.2", "INFO", "Controller starting up"),
    ("started_up", "0.10.2", "0.10.2", "INFO", "Controller startup complete"),
    (
        *("failover_aborted", "0.10.2", "0.10.2", "INFO"),
        "Controller has been shut down, aborting startup/failover",
    ),
    ("epoch_reading", "1.1", "1.1", "INFO", "Reading controller epoch from ZooKeeper"),
    ("epoch_incrementing", "1.1", "1.1", "INFO", "Incrementing controller epoch in ZooKeeper"),
    (
        *("epoch_initialized", "0.10.2", "1.1", "INFO"),
        "Initialized controller epoch to {number} and zk version {number}",
    ),
    ("handlers_registering", "1.1", "3.9", "INFO", "Registering handlers"),
    ("log_dir_events_deleting", "1.1", "3.9", "INFO", "Deleting log dir event notifications"),
    ("isr_notices_deleting", "1.1", "3.9", "INFO", "Deleting isr change notifications"),
    ("context_initializing", "1.1", "3.9", "INFO", "Initializing controller context"),
    ("deletions_fetching", "1.1", "3.9", "INFO", "Fetching topic deletions in progress"),
    ("deletions_initializing", "1.1", "3.9", "INFO", "Initializing topic deletion manager"),
    (
        *("deletions_initialized", "2.4", "3.9", "INFO"),
        "Initializing manager with initial deletions: {any}, initial ineligible deletions: {any}",
    ),
    ("metadata_sending", "1.1", "3.9", "INFO", "Sending update metadata request"),
    ("scheduler_starting", "1.1", "3.9", "INFO", "Starting the controller scheduler"),
    ("token_scheduler_starting", "1.1", "3.9", "INFO", "Starting the token expiry check scheduler"),
    ("brokers_active", "0.10.2", "3.9", "INFO", "Currently active brokers in the cluster: {any}"),
    (
        *("brokers_shutting", "0.10.2", "3.9", "INFO"),
        "Currently shutting brokers in the cluster: {any}",
    ),
    ("topics_current", "0.10.2", "3.9", "INFO", "Current list of topics in the cluster: {any}"),
    ("topics_to_delete", "0.10.2", "3.9", "INFO", "List of topics to be deleted: {any}"),
    ("topics_ineligible", "0.10.2", "3.9", "INFO", "List of topics ineligible for deletion: {any}"),
    ("partitions_initializing", "1.1", "3.9", "INFO", "Initializing partition state"),
    ("partitions_triggered", "1.1", "3.9", "INFO", "Triggering online partition state changes"),
    (
        *("partitions_started", "0.10.2", "3.9", "DEBUG; INFO before 2.4"),
        "Started partition state machine with initial state -> {any}",
    ),
    ("partitions_stopped", "0.10.2", "3.9", "INFO", "Stopped partition state machine"),
    ("replicas_initializing", "1.1", "3.9", "INFO", "Initializing replica state"),
    ("replicas_triggered", "1.1", "3.9", "INFO", "Triggering online replica state changes"),
    ("dead_replicas_triggered", "2.4", "3.9", "INFO", "Triggering offline replica state changes"),
    (
        *("replicas_started", "0.10.2", "3.9", "DEBUG; INFO before 2.4"),
        "Started replica state machine with initial state -> {any}",
    ),
    ("replicas_stopped", "0.10.2", "3.9", "INFO", "Stopped replica state machine"),
    ("resigning", "1.1", "3.9", "DEBUG", "Resigning"),
    ("resigning_old", "0.10.2", "0.10.2", "DEBUG", "Controller resigning, broker id {number}"),
    (
        *("isr_listener_added", "0.10.2", "0.10.2", "DEBUG"),
        "Registering IsrChangeNotificationListener",
    ),
    (
        *("isr_listener_removed", "0.10.2", "0.10.2", "DEBUG"),
        "De-registering IsrChangeNotificationListener",
    ),
    (
        *("session_expired_in_office", "0.10.2", "0.10.2", "INFO"),
        (
            "ZK expired, but the current controller id {number} is the same as this broker id,"
            " skip re-elect"
        ),
    ),
    (
        *("role_lost_already", "2.4", "3.9", "WARN"),
        "Controller has already moved when trying to trigger controller movement",
    ),
    # --- brokers ---
    (
        *("broker_listener_fired", "0.10.2", "0.10.2", "INFO"),
        "Broker change listener fired for path {any} with children {any}",
    ),
    ("broker_watched", "1.1", "3.9", "DEBUG", "Register BrokerModifications handler for {any}"),
    ("broker_unwatched", "1.1", "3.9", "DEBUG", "Unregister BrokerModifications handler for {any}"),
    ("brokers_shutting_down", "0.10.2", "3.9", "DEBUG", "All shutting down brokers: {any}"),
    ("brokers_live", "0.10.2", "3.9", "DEBUG", "Live brokers: {any}"),
    ("all_leaders", "0.10.2", "3.9", "TRACE", "All leaders = {any}"),
    (
        *("connecting", "0.10.2", "3.9", "DEBUG"),
        "Controller {controller} trying to connect to broker {broker}",
    ),
    (
        *("leader_not_assigned", "0.10.2", "3.9", "INFO"),
        "Leader not yet assigned for partition {tp}. Skip sending UpdateMetadataRequest.",
    ),
    (
        *("metadata_for_brokers", "0.10.2", "0.10.2", "DEBUG"),
        "Sending MetadataRequest to Brokers:{any} for TopicAndPartitions:{any}",
    ),
    (
        *("metadata_for_partitions", "1.1", "3.9", "DEBUG"),
        "Sending MetadataRequest to Brokers: {any} for TopicPartitions: {any}",
    ),
    (
        *("stops_sent", "0.10.2", "2.4", "DEBUG"),
        "The stop replica request (delete = {delete}) sent to broker {broker} is {any}",
    ),
    # --- topics ---
    (
        *("topic_listener_fired", "0.10.2", "0.10.2", "DEBUG"),
        "Topic change listener fired for path {any} with children {any}",
    ),
    (
        *("partition_listener_fired", "0.10.2", "0.10.2", "INFO"),
        "Partition modification triggered {any} for path {any}",
    ),
    ("partitions_added", "0.10.2", "3.9", "INFO", "New partitions to be added {any}"),
    (
        *("partitions_restored", "2.4", "3.9", "INFO"),
        "Restoring the partition replica assignment for topic {topic}",
    ),
    (
        *("partitions_refused", "0.10.2", "3.9", "WARN; ERROR before 2.4"),
        "Skipping adding partitions {any} for topic {topic} since it is currently being deleted",
    ),
    (
        *("partitions_invoked", "0.10.2", "0.10.2", "INFO"),
        "Invoking state change to {any} for partitions {any}",
    ),
    (
        *("replicas_invoked", "0.10.2", "0.10.2", "INFO"),
        "Invoking state change to {any} for replicas {any}",
    ),
    (
        *("unclean_enabled", "2.4", "3.9", "INFO"),
        "Unclean leader election has been enabled for topic {topic}",
    ),
    (
        *("unclean_enabled_everywhere", "2.4", "3.9", "INFO"),
        "Unclean leader election has been enabled by default",
    ),
    # --- leaders ---
    (
        *("live_replicas", "0.10.2", "0.10.2", "DEBUG"),
        "Live assigned replicas for partition {tp} are: [{any}]",
    ),
    (
        *("leadership_initializing", "0.10.2", "0.10.2", "DEBUG"),
        "Initializing leader and isr for partition {tp} to {any}",
    ),
    (
        *("leaders_cached", "0.10.2", "0.10.2", "DEBUG"),
        "After leader election, leader cache is updated to {any}",
    ),
    (
        *("some_in_isr_alive", "0.10.2", "0.10.2", "DEBUG"),
        "Some broker in ISR is alive for {tp}. Select {number} from ISR {any} to be the leader.",
    ),
    (
        *("none_in_isr_alive", "0.10.2", "0.10.2", "DEBUG"),
        (
            "No broker in ISR is alive for {tp}. Pick the leader from the alive assigned replicas:"
            " {any}"
        ),
    ),
    (
        *("leader_not_preferred", "0.10.2", "0.10.2", "INFO"),
        (
            "Current leader {number} for partition {tp} is not the preferred replica. Triggering"
            " preferred replica leader election"
        ),
    ),
    (
        *("leader_compared", "0.10.2", "0.10.2", "DEBUG"),
        "Partition {tp} : current leader = {number}, new leader = {number}",
    ),
    (
        *("leader_kept", "0.10.2", "0.10.2", "WARN"),
        (
            "I should never have been asked to perform leader election, returning the current"
            " LeaderAndIsr and replica assignment."
        ),
    ),
    (
        *("leader_epoch_updating", "0.10.2", "3.9", "DEBUG"),
        "Updating leader epoch for partition {tp}<<.>>",
    ),
    (
        *("replica_leaving_isr", "0.10.2", "0.10.2", "DEBUG"),
        "Removing replica {broker} from ISR {any} for partition {tp}.",
    ),
    (
        *("replica_not_in_isr", "0.10.2", "0.10.2", "WARN"),
        (
            "Cannot remove replica {broker} from ISR of partition {tp} since it is not in the ISR."
            " Leader = {number} ; ISR = {any}"
        ),
    ),
    (
        *("replica_in_no_isr", "0.10.2", "0.10.2", "WARN"),
        "Cannot remove replica {broker} from ISR of {tp} - leaderAndIsr is empty.",
    ),
    ("isrs_updating", "2.8", "3.9", "DEBUG", "Updating ISRs for partitions: {any}."),
    ("isr_listener_fired", "0.10.2", "0.10.2", "DEBUG", "ISR change notification listener fired"),
    (
        *("election_retried", "2.4", "3.9", "INFO"),
        "Retrying leader election with strategy {any} for partitions {any}",
    ),
    (
        *("election_lost_a_race", "2.8", "3.9", "DEBUG"),
        (
            "Controller failed to elect leader for partition {tp}. Attempted to write state {any},"
            " but failed with bad ZK version. This will be retried."
        ),
    ),
    (
        *("isr_lost_a_race", "2.8", "3.9", "DEBUG"),
        (
            "Controller failed to remove replica {broker} from ISR of partition {tp}. Attempted to"
            " write state {any}, but failed with bad ZK version. This will be retried."
        ),
    ),
    (
        *("preferred_listener_fired", "0.10.2", "0.10.2", "DEBUG"),
        (
            "Preferred replica election listener fired for path {any}. Record partitions to"
            " undergo preferred replica election {any}"
        ),
    ),
    (
        *("preferred_under_way", "0.10.2", "3.9", "INFO"),
        "Partitions undergoing preferred replica election: {any}",
    ),
    (
        *("preferred_again", "0.10.2", "0.10.2", "INFO"),
        "These partitions are already undergoing preferred replica election: {any}",
    ),
    (
        *("preferred_completed", "0.10.2", "3.9", "INFO"),
        "Partitions that completed preferred replica election: {any}",
    ),
    (
        *("preferred_skipped", "1.1", "3.9", "INFO"),
        "Skipping preferred replica election for partitions due to topic deletion: {any}",
    ),
    (
        *("preferred_resumed", "0.10.2", "3.9", "INFO"),
        "Resuming preferred replica election for partitions: {any}",
    ),
    (
        *("elections_awaited", "2.4", "3.9", "DEBUG"),
        (
            "Waiting for any successful result for election type ({any}) by {any} for partitions:"
            " {any}"
        ),
    ),
    (
        *("election_of_nothing", "2.4", "3.9", "INFO"),
        (
            "Skipping replica leader election ({any}) for partition {tp} by {any} since it doesn't"
            " exist."
        ),
    ),
    (
        *("elections_of_the_deleted", "2.4", "3.9", "WARN"),
        (
            "Skipping replica leader election ({any}) for partitions {any} by {any} since the"
            " respective topics are being deleted"
        ),
    ),
    # --- balance ---
    ("balance_checked", "1.1", "3.9", "TRACE", "Checking need to trigger auto leader balancing"),
    (
        *("balance_checked_old", "0.10.2", "0.10.2", "TRACE"),
        "Checking need to trigger partition rebalance",
    ),
    ("balance_by_broker", "0.10.2", "2.4", "DEBUG", "Preferred replicas by broker {any}"),
    ("balance_missed", "0.10.2", "3.9", "DEBUG", "Topics not in preferred replica {any}"),
    (
        *("balance_ratio", "0.10.2", "3.9", "TRACE"),
        "Leader imbalance ratio for broker {broker} is {any}",
    ),
    # --- reassignment ---
    (
        *("plan_listener_fired", "0.10.2", "0.10.2", "DEBUG"),
        (
            "Partitions reassigned listener fired for path {any}. Record partitions to be"
            " reassigned {any}"
        ),
    ),
    (
        *("plan_isr_listener_fired", "0.10.2", "0.10.2", "DEBUG"),
        "Reassigned partitions isr change listener fired for path {any} with children {any}",
    ),
    ("plan_under_way", "0.10.2", "1.1", "INFO", "Partitions being reassigned: {any}"),
    ("plan_done_already", "0.10.2", "0.10.2", "INFO", "Partitions already reassigned: {any}"),
    ("plan_resumed", "0.10.2", "0.10.2", "INFO", "Resuming reassignment of partitions: {any}"),
    (
        *("plan_failed", "2.4", "3.9", "WARN"),
        "Failed reassignment through zk with the following errors: {any}",
    ),
    (
        *("assignment_updating", "2.4", "3.9", "DEBUG"),
        "Updating assignment of partition {tp} from {any} to {any}",
    ),
    (
        *("assignment_updated_old", "0.10.2", "1.1", "INFO"),
        "Updated assigned replicas for partition {tp} being reassigned to {any}",
    ),
    (
        *("assignment_path_updated", "0.10.2", "0.10.2", "DEBUG"),
        "Updated path {any} with {any} for replica assignment",
    ),
    (
        *("reassignment_awaited", "0.10.2", "1.1", "INFO"),
        (
            "Waiting for new replicas {any} for partition {tp} being reassigned to catch up with"
            " the leader"
        ),
    ),
    (
        *("reassignment_needless", "0.10.2", "1.1", "INFO"),
        (
            "Partition {tp} to be reassigned is already assigned to replicas {any}. Ignoring"
            " request for partition reassignment."
        ),
    ),
    (
        *("reassignment_of_nothing", "1.1", "1.1", "ERROR"),
        "Ignoring request to reassign partition {tp} that doesn't exist.",
    ),
    (
        *("reassignment_of_the_deleted", "1.1", "3.9", "INFO"),
        "Skipping reassignment of {tp} since the topic is currently being deleted",
    ),
    # --- deletion ---
    (
        *("deletion_listener_fired", "0.10.2", "3.9", "DEBUG"),
        "Delete topics listener fired for topics {any} to be deleted",
    ),
    (
        *("deletion_of_nothing", "0.10.2", "3.9", "WARN"),
        "Ignoring request to delete non-existing topics {any}",
    ),
    ("deletion_disabled", "0.10.2", "3.9", "INFO", "Removing {any} since delete topic is disabled"),
    (
        *("deletion_signalled", "0.10.2", "0.10.2", "DEBUG"),
        "Waiting for signal to start or continue topic deletion",
    ),
    ("deletion_called_back", "0.10.2", "2.4", "INFO", "Topic deletion callback for {any}"),
    ("deletion_of_partitions", "0.10.2", "2.4", "INFO", "Partition deletion callback for {any}"),
    ("deletion_replicas_started", "0.10.2", "2.4", "DEBUG", "Deletion started for replicas {any}"),
    (
        *("deletion_replicas_done", "0.10.2", "3.9", "DEBUG"),
        "Deletion successfully completed for replicas {any}",
    ),
    (
        *("deletion_replicas_failed", "0.10.2", "3.9", "DEBUG"),
        "Deletion failed for replicas {any}. Halting deletion for topics {any}",
    ),
    (
        *("deletion_replicas_dead", "0.10.2", "3.9", "DEBUG"),
        "Dead Replicas ({any}) found for topic {topic}",
    ),
    (
        *("deletion_replicas_state", "0.10.2", "0.10.2", "DEBUG"),
        "Are all replicas for topic {topic} deleted {any}",
    ),
    (
        *("deletion_in_progress", "0.10.2", "1.1", "INFO"),
        "Deletion for replicas {any} for partition {any} of topic {topic} in progress",
    ),
    (
        *("deletion_answered", "2.4", "3.9", "DEBUG"),
        (
            "Delete topic callback invoked on StopReplica response received from broker {broker}:"
            " request error = {any}, partition errors = {any}"
        ),
    ),
    ("deletion_answered_old", "0.10.2", "1.1", "DEBUG", "Delete topic callback invoked for {any}"),
    (
        *("deletion_retry_begun", "2.4", "3.9", "DEBUG; INFO in 2.4"),
        "Retrying deletion of topic<<s>> {any} since replicas {any} were not successfully deleted",
    ),
    (
        *("deletion_restarted", "0.10.2", "3.9", "INFO"),
        (
            "Some replicas {any} for topics scheduled for deletion {any} are on the newly"
            " restarted brokers {any}. Signaling restart of topic deletion for these topics"
        ),
    ),
    # --- trouble ---
    (
        *("channel_removal_failed", "0.10.2", "3.9", "ERROR"),
        "Error while removing broker by the controller",
    ),
    ("request_lost", "0.10.2", "3.9", "ERROR", "Haven't been able to send {any}"),
    (
        *("movement_triggered", "1.1", "3.9", "ERROR"),
        "Error while electing or becoming controller on broker {any}",
    ),
    ("epoch_not_incremented", "1.1", "1.1", "ERROR", "Error while incrementing controller epoch"),
    ("moves_failed", "0.10.2", "3.9", "ERROR", "Error while moving some {any} to {any} state"),
    ("handling_failed", "0.10.2", "0.10.2", "ERROR", "Error while handling {any}"),
    (
        *("listener_failed", "1.1", "1.1", "ERROR"),
        "Error while invoking listener for processed event {any}",
    ),
    ("role_lost_meanwhile", "1.1", "3.9", "ERROR", "Controller moved to another broker when {any}"),
    ("event_uncaught", "2.4", "3.9", "ERROR", "Uncaught error processing event {any}"),
    (
        *("elections_failed", "0.10.2", "3.9", "ERROR; INFO if fenced"),
        "Error completing {any}replica leader election {any}",
    ),
    (
        *("reassignment_failed", "0.10.2", "3.9", "ERROR"),
        "Error completing reassignment of partition {tp}",
    ),
    (
        *("reassignment_fenced", "2.4", "3.9", "INFO"),
        "Failed completing reassignment of partition {tp} because {any}",
    ),
    (
        *("reassignment_not_handled", "0.10.2", "1.1", "ERROR"),
        "Error handling reassignment of partition {tp} to replicas {any}",
    ),
    (
        *("replica_not_assigned", "2.4", "3.9", "ERROR"),
        "Adding replica ({number}) that is not part of the assignment {any}",
    ),
    (
        *("shutdown_from_the_past", "2.2", "3.9", "INFO"),
        "Received controlled shutdown request from an old broker epoch {any}",
    ),
    (
        *("registration_refused", "2.7", "3.9", "WARN"),
        "Ignoring registration of {any} brokers due to incompatibilities {any}",
    ),
    (
        *("partition_change_ignored", "2.4", "3.9", "INFO"),
        "Ignoring partition change during topic deletion {any}",
    ),
    (
        *("features_not_empty", "2.7", "3.9", "WARN"),
        "FeatureZNode at path: {any} with disabled status {any}",
    ),
    (
        *("features_not_updated", "2.7", "3.9", "WARN"),
        "Processing of feature updates: {any} failed due to error: {any}",
    ),
    ("isr_request_failed", "2.7", "3.9", "ERROR", "Error when processing Alter{any}"),
    ("isr_not_updated", "2.7", "3.9", "ERROR", "Failed to update ISR for partition {tp}"),
    (
        *("preferred_of_the_deleted", "0.10.2", "1.1", "ERROR"),
        (
            "Skipping preferred replica election for partitions {any} since the respective"
            " topics are being deleted"
        ),
    ),
    (
        *("reassignment_of_the_deleted_old", "0.10.2", "0.10.2", "ERROR"),
        (
            "Skipping reassignment of partition {tp} for topic {topic} since it is currently"
            " being deleted"
        ),
    ),
    (
        *("reassignment_short_of", "0.10.2", "2.3", "INFO"),
        (
            "{number}/{number} replicas have caught up with the leader for partition {tp}"
            " being reassigned.<< >>Replica(s) {any} still need to catch up"
        ),
    ),
    # --- what brokers ask for ---
    (
        *("features_updated", "2.8", "3.9", "INFO"),
        "Updating FeatureZNode at path: {any} with contents: {any}",
    ),
    (
        *("producer_ids_none", "3.0", "3.9", "DEBUG"),
        "There is no producerId block yet (Zk path version {number}), creating the first block",
    ),
    (
        *("producer_ids_read", "3.0", "3.9", "DEBUG"),
        "Read current producerId block {any}, Zk path version {number}",
    ),
    (
        *("producer_ids_acquired", "3.0", "3.9", "INFO"),
        "Acquired new producerId block {any} by writing to Zk with path version {number}",
    ),
)

NOTE_SHAPES: Final = ShapeTable(
    LogFile.CONTROLLER,
    Who.CONTROLLER,
    tuple(
        Shape(
            name=name, since=since, until=until, levels=levels, template=template, kinds=("noted",)
        )
        for name, since, until, levels, template in _NOTES
    ),
    does="notes",
)
