"""Everything that is forbidden in a simulated world, one file for each thing."""

from regent.sim.checkers.acked_records_survive import AckedRecordsSurvive
from regent.sim.checkers.assignments_move_step_by_step import AssignmentsMoveStepByStep
from regent.sim.checkers.deposed_controllers_are_fenced import DeposedControllersAreFenced
from regent.sim.checkers.elections_are_clean import ElectionsAreClean
from regent.sim.checkers.elections_follow_the_order import ElectionsFollowTheOrder
from regent.sim.checkers.epochs_grow import EpochsGrow
from regent.sim.checkers.granted_isrs_are_sound import GrantedIsrsAreSound
from regent.sim.checkers.invariants_hold import InvariantsHold
from regent.sim.checkers.journal_suffices import JournalSuffices
from regent.sim.checkers.leaderships_are_sane import LeadershipsAreSane
from regent.sim.checkers.metadata_converges import MetadataConverges
from regent.sim.checkers.moves_are_legal import MovesAreLegal
from regent.sim.checkers.old_requests_are_refused import OldRequestsAreRefused
from regent.sim.checkers.one_active_controller import OneActiveController
from regent.sim.checkers.one_controller_per_epoch import OneControllerPerEpoch
from regent.sim.checkers.one_leader_per_epoch import OneLeaderPerEpoch
from regent.sim.checkers.only_unassigned_replicas_are_deleted import (
    OnlyUnassignedReplicasAreDeleted,
)
from regent.sim.checkers.races_are_decided_afresh import RacesAreDecidedAfresh
from regent.sim.checkers.requests_in_order import RequestsInOrder
from regent.sim.checkers.state_equals_cold_load import StateEqualsColdLoad
from regent.sim.checkers.told_only_what_is_durable import ToldOnlyWhatIsDurable
from regent.sim.observer import Observer


def all_checkers() -> list[Observer]:
    """A fresh one of each: they remember the run that they have seen."""
    return [
        OneControllerPerEpoch(),
        OneActiveController(),
        EpochsGrow(),
        DeposedControllersAreFenced(),
        LeadershipsAreSane(),
        ElectionsAreClean(),
        ElectionsFollowTheOrder(),
        ToldOnlyWhatIsDurable(),
        GrantedIsrsAreSound(),
        RacesAreDecidedAfresh(),
        OneLeaderPerEpoch(),
        AckedRecordsSurvive(),
        AssignmentsMoveStepByStep(),
        OnlyUnassignedReplicasAreDeleted(),
        RequestsInOrder(),
        OldRequestsAreRefused(),
        MovesAreLegal(),
        InvariantsHold(),
        StateEqualsColdLoad(),
        JournalSuffices(),
        MetadataConverges(),
    ]
