"""The fast way of writing the two big requests gives the bytes of the plain way, always."""

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from regent.errors import ProtocolError
from regent.model.control_requests import (
    BrokerEntries,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    UpdateMetadata,
)
from regent.model.ids import BrokerEpoch, BrokerId, LeaderEpoch
from regent.wire import bulk_encoder, leader_and_isr, primitives, update_metadata
from regent.wire.apis import ApiKey
from regent.wire.bulk_encoder import LeaderAndIsrEncoder, UpdateMetadataEncoder
from regent.wire.payloads import encode_payload, request_schema
from tests.unit.wire import samples, strategies


def plain_leader_and_isr(request: LeaderAndIsr, api_version: int) -> bytes:
    values = leader_and_isr.request_values(request, samples.ENDPOINTS)
    return encode_payload(request_schema(ApiKey.LEADER_AND_ISR, api_version), values)


def plain_update_metadata(request: UpdateMetadata, api_version: int) -> bytes:
    values = update_metadata.request_values(request)
    return encode_payload(request_schema(ApiKey.UPDATE_METADATA, api_version), values)


@pytest.mark.parametrize("api_version", range(8))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests=st.lists(strategies.LEADER_AND_ISR, min_size=1, max_size=3))
def test_every_leader_and_isr_is_the_plain_one(
    api_version: int, requests: list[LeaderAndIsr]
) -> None:
    """One encoder for all, so that what it keeps of one request cannot spoil the next."""
    encoder = LeaderAndIsrEncoder(api_version)

    for request in [*requests, *requests]:
        encoded = b"".join(encoder.encode(request, samples.ENDPOINTS))
        assert encoded == plain_leader_and_isr(request, api_version)


@pytest.mark.parametrize("api_version", range(8))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    batches=st.lists(
        st.lists(strategies.LEADER_AND_ISR_PARTITION, min_size=1, max_size=8).map(tuple),
        min_size=1,
        max_size=2,
    ),
    request=strategies.LEADER_AND_ISR,
    step=st.integers(1, 3),
)
def test_every_part_of_a_batch_is_the_plain_request(
    api_version: int,
    batches: list[tuple[LeaderAndIsrPartition, ...]],
    request: LeaderAndIsr,
    step: int,
) -> None:
    """Brokers are told different parts of a batch, and the next batch looks much the same."""
    encoder = LeaderAndIsrEncoder(api_version)

    for batch in [*batches, *batches]:
        for first in range(step):
            entries = BrokerEntries(batch, range(first, len(batch), step))
            part = msgspec.structs.replace(request, partitions=entries)
            encoded = b"".join(encoder.encode(part, samples.ENDPOINTS))
            assert encoded == plain_leader_and_isr(part, api_version)


@pytest.mark.parametrize("api_version", range(9))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(requests=st.lists(strategies.UPDATE_METADATA, min_size=1, max_size=3))
def test_every_update_metadata_is_the_plain_one(
    api_version: int, requests: list[UpdateMetadata]
) -> None:
    """The requests come again as copies, so that topics are found by what was said of them."""
    encoder = UpdateMetadataEncoder(api_version)
    copies = [msgspec.convert(msgspec.to_builtins(r), UpdateMetadata) for r in requests]

    for request in [*requests, *copies]:
        encoded = b"".join(encoder.encode(request))
        assert encoded == plain_update_metadata(request, api_version)


def test_a_partition_is_written_once_for_all_its_replicas() -> None:
    """Three replicas of a hundred thousand partitions are told by as many bytes, not thrice."""
    encoder = LeaderAndIsrEncoder(7)
    first = encoder.encode(samples.LEADER_AND_ISR, samples.ENDPOINTS)
    other = msgspec.structs.replace(samples.LEADER_AND_ISR, broker_epoch=BrokerEpoch(2))

    second = encoder.encode(other, samples.ENDPOINTS)

    assert first[0] != second[0]
    assert _shared_with(second, first) == len(samples.LEADER_AND_ISR.partitions)


def test_brokers_with_different_partitions_share_the_bytes_of_those_in_common() -> None:
    """Each hosts a part of what the batch tells."""
    encoder = LeaderAndIsrEncoder(7)
    batch = tuple(samples.LEADER_AND_ISR.partitions)
    most = msgspec.structs.replace(samples.LEADER_AND_ISR, partitions=BrokerEntries(batch, [0, 1]))
    last = msgspec.structs.replace(samples.LEADER_AND_ISR, partitions=BrokerEntries(batch, [1, 2]))

    first = encoder.encode(most, samples.ENDPOINTS)
    second = encoder.encode(last, samples.ENDPOINTS)

    assert _shared_with(second, first) == 1


def test_more_lists_than_can_be_kept_are_written_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is kept has a bound, and is begun anew beyond it."""
    monkeypatch.setattr(primitives, "_KEPT_LISTS_MAX", 1)
    monkeypatch.setattr(bulk_encoder, "_KEPT_LAYOUTS_MAX", 1)

    leaderships = b"".join(LeaderAndIsrEncoder(7).encode(samples.LEADER_AND_ISR, samples.ENDPOINTS))
    metadata = b"".join(UpdateMetadataEncoder(8).encode(samples.UPDATE_METADATA))

    assert leaderships == plain_leader_and_isr(samples.LEADER_AND_ISR, 7)
    assert metadata == plain_update_metadata(samples.UPDATE_METADATA, 8)


def _shared_with(parts: list[bytes], others: list[bytes]) -> int:
    """How many parts of a partition's length are the same objects."""
    found = {id(part) for part in others if len(part) > 30}
    return len([part for part in parts if id(part) in found])


def test_a_batch_that_was_told_is_forgotten() -> None:
    """What is kept is as big as the cluster; between failovers nobody needs it."""
    encoder = LeaderAndIsrEncoder(7)
    first = encoder.encode(samples.LEADER_AND_ISR, samples.ENDPOINTS)

    encoder.forget()

    again = encoder.encode(samples.LEADER_AND_ISR, samples.ENDPOINTS)
    assert _shared_with(again, first) == 0
    assert b"".join(again) == b"".join(first)


def test_all_brokers_share_one_body() -> None:
    """Twelve brokers and five megabytes are five megabytes."""
    encoder = UpdateMetadataEncoder(8)
    _, first = encoder.encode(samples.UPDATE_METADATA)
    other = msgspec.structs.replace(samples.UPDATE_METADATA, broker_epoch=BrokerEpoch(2))

    _, second = encoder.encode(other)

    assert second is first


@pytest.mark.parametrize("api_version", range(5, 9))
def test_a_topic_that_changed_is_written_anew(api_version: int) -> None:
    encoder = UpdateMetadataEncoder(api_version)
    encoder.encode(samples.UPDATE_METADATA)
    first, *others = samples.UPDATE_METADATA.partitions
    changed = msgspec.structs.replace(first, leader_epoch=LeaderEpoch(99))
    request = msgspec.structs.replace(samples.UPDATE_METADATA, partitions=(changed, *others))

    encoded = b"".join(encoder.encode(request))

    assert encoded == plain_update_metadata(request, api_version)
    assert encoded != plain_update_metadata(samples.UPDATE_METADATA, api_version)


def test_a_topic_made_anew_has_its_new_id() -> None:
    """Deleted and created again, it may look the same in all but its id."""
    encoder = UpdateMetadataEncoder(8)
    encoder.encode(samples.UPDATE_METADATA)
    new_ids = (("orders", "AAAAAAAAAAAAAAAAAAAAAQ"),)
    request = msgspec.structs.replace(samples.UPDATE_METADATA, topic_ids=new_ids)

    assert b"".join(encoder.encode(request)) == plain_update_metadata(request, 8)


def test_a_number_that_does_not_fit_is_refused() -> None:
    """Whoever made it, a half-written request must not go out."""
    too_big = msgspec.structs.replace(samples.UPDATE_METADATA, controller_id=BrokerId(2**31))

    with pytest.raises(ProtocolError, match="cannot carry this"):
        UpdateMetadataEncoder(8).encode(too_big)
    wide = msgspec.structs.replace(samples.LEADER_AND_ISR, broker_epoch=BrokerEpoch(2**63))
    with pytest.raises(ProtocolError, match="cannot carry this"):
        LeaderAndIsrEncoder(7).encode(wide, {})
