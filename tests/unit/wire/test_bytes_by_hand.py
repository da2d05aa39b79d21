"""Whole frames written by hand from the protocol's description, one piece of it on each line.

The golden bytes check everything at once and are hard to read; these can be read.
"""

import pytest

from regent.model.admin_requests import ControlledShutdown
from regent.model.assignment import Assignment
from regent.model.brokers import Broker, Endpoint
from regent.model.control_requests import (
    ControlRequest,
    LeaderAndIsr,
    LeaderAndIsrPartition,
    PartitionMetadata,
    StopReplica,
    StopReplicaPartition,
    UpdateMetadata,
)
from regent.model.ids import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    ZkVersion,
)
from regent.model.leadership import Leadership
from regent.model.protocol_version import ProtocolVersion, request_versions
from regent.wire.control_encoder import ControlRequestEncoder
from regent.wire.exchange import encode_request, to_call
from tests.unit.wire.samples import ORDERS_ID

B1, B2 = BrokerId(1), BrokerId(2)
ENDPOINTS = {B1: Endpoint("h", 9092)}

LEADER_AND_ISR = LeaderAndIsr(
    controller_id=BrokerId(4),
    controller_epoch=ControllerEpoch(8),
    broker_epoch=BrokerEpoch(77),
    partitions=(
        LeaderAndIsrPartition(
            "t",
            3,
            Leadership(
                B1, LeaderEpoch(5), (B1, B2), ControllerEpoch(7), ZkVersion(9), recovering=True
            ),
            Assignment((B1, B2), adding=(B2,)),
            is_new=True,
        ),
    ),
    live_leaders=(B1,),
    topic_ids=(("t", ORDERS_ID),),
)
UPDATE_METADATA = UpdateMetadata(
    controller_id=BrokerId(4),
    controller_epoch=ControllerEpoch(8),
    broker_epoch=BrokerEpoch(77),
    partitions=(
        PartitionMetadata(
            "t",
            3,
            ControllerEpoch(7),
            B1,
            LeaderEpoch(5),
            (B1,),
            ZkVersion(9),
            (B1, B2),
            (B2,),
        ),
    ),
    live_brokers=(Broker(B1, (Endpoint("h", 9092, "L", "SSL"),), rack="r"),),
    topic_ids=(("t", ORDERS_ID),),
)
STOP_REPLICA = StopReplica(
    controller_id=BrokerId(4),
    controller_epoch=ControllerEpoch(8),
    broker_epoch=BrokerEpoch(77),
    partitions=(StopReplicaPartition("t", 3, LeaderEpoch(5), delete=True),),
)

LEADER_AND_ISR_0 = """
    0004 0000 00000001 0001 34      header: key, version, correlation id, client id
    00000004 00000008               controller id and epoch
    00000001                        one partition
    0001 74 00000003                topic and partition
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    00000002 00000001 00000002      ISR
    00000009                        zk version
    00000002 00000001 00000002      replicas
    00000001                        one live leader
    00000001 0001 68 00002384       id, host, port
"""
LEADER_AND_ISR_1 = LEADER_AND_ISR_0.replace("0004 0000", "0004 0001", 1).replace(
    "replicas\n", "replicas\n    01                              is new\n"
)
LEADER_AND_ISR_3 = """
    0004 0003 00000001 0001 34      header
    00000004 00000008               controller id and epoch
    000000000000004d                broker epoch
    00000001                        one topic
    0001 74                         its name
    00000001                        one partition
    00000003                        its number
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    00000002 00000001 00000002      ISR
    00000009                        zk version
    00000002 00000001 00000002      replicas
    00000001 00000002               adding
    00000000                        removing
    01                              is new
    00000001                        one live leader
    00000001 0001 68 00002384       id, host, port
"""
LEADER_AND_ISR_7 = """
    0004 0007 00000001 0001 34 00   header, with no tagged fields
    00000004 00 00000008            controller id, not of KRaft, controller epoch
    000000000000004d                broker epoch
    00                              type
    02                              one topic
    02 74                           its name
    666f6f6261726261                its id,
    7a71757578313233                in sixteen bytes
    02                              one partition
    00000003                        its number
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    03 00000001 00000002            ISR
    00000009                        zk version
    03 00000001 00000002            replicas
    02 00000002                     adding
    01                              removing
    01                              is new
    01                              recovering
    00                              end of the partition
    00                              end of the topic
    02                              one live leader
    00000001 02 68 00002384 00      id, host, port, end
    00                              end of the request
"""
LEADER_AND_ISR_4 = """
    0004 0004 00000001 0001 34 00   header, with no tagged fields
    00000004 00000008               controller id and epoch
    000000000000004d                broker epoch
    02 02 74                        one topic, its name
    02 00000003                     one partition, its number
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    03 00000001 00000002            ISR
    00000009                        zk version
    03 00000001 00000002            replicas
    02 00000002                     adding
    01                              removing
    01                              is new
    00 00                           end of the partition and of the topic
    02 00000001 02 68 00002384 00   one live leader: id, host, port, end
    00                              end of the request
"""
UPDATE_METADATA_2 = """
    0006 0002 00000001 0001 34      header
    00000004 00000008               controller id and epoch
    00000001                        one partition
    0001 74 00000003                topic and partition
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    00000001 00000001               ISR
    00000009                        zk version
    00000002 00000001 00000002      replicas
    00000001 00000001               one broker, its id
    00000001 00002384 0001 68 0001  one endpoint: port, host, security protocol
    0001 72                         rack
"""
UPDATE_METADATA_5 = """
    0006 0005 00000001 0001 34      header
    00000004 00000008               controller id and epoch
    000000000000004d                broker epoch
    00000001 0001 74                one topic, its name
    00000001 00000003               one partition, its number
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    00000001 00000001               ISR
    00000009                        zk version
    00000002 00000001 00000002      replicas
    00000001 00000002               offline
    00000001 00000001               one broker, its id
    00000001 00002384 0001 68       one endpoint: port, host,
    0001 4c 0001                    listener, security protocol
    0001 72                         rack
"""
UPDATE_METADATA_8 = """
    0006 0008 00000001 0001 34 00   header, with no tagged fields
    00000004 00 00000008            controller id, not of KRaft, controller epoch
    000000000000004d                broker epoch
    02 02 74                        one topic, its name
    666f6f6261726261                its id,
    7a71757578313233                in sixteen bytes
    02 00000003                     one partition, its number
    00000007 00000001 00000005      controller epoch, leader, leader epoch
    02 00000001                     ISR
    00000009                        zk version
    03 00000001 00000002            replicas
    02 00000002                     offline
    00 00                           end of the partition and of the topic
    02 00000001                     one broker, its id
    02 00002384 02 68 02 4c 0001 00 one endpoint: port, host, listener, security protocol, end
    02 72                           rack
    00 00                           end of the broker and of the request
"""
STOP_REPLICA_0 = """
    0005 0000 00000001 0001 34      header
    00000004 00000008               controller id and epoch
    01                              delete
    00000001 0001 74 00000003       one partition: topic and number
"""
STOP_REPLICA_1 = """
    0005 0001 00000001 0001 34      header
    00000004 00000008               controller id and epoch
    000000000000004d                broker epoch
    01                              delete
    00000001 0001 74                one topic, its name
    00000001 00000003               one partition
"""
STOP_REPLICA_4 = """
    0005 0004 00000001 0001 34 00   header, with no tagged fields
    00000004 00 00000008            controller id, not of KRaft, controller epoch
    000000000000004d                broker epoch
    02 02 74                        one topic, its name
    02 00000003 00000005 01         one partition: number, leader epoch, delete
    00 00 00                        end of the partition, the topic, the request
"""


def by_hand(text: str) -> bytes:
    """The hexadecimal pieces, up to the words that explain them, as a frame."""
    lines = (line[4:36] for line in text.splitlines())
    message = bytes.fromhex("".join(lines))
    return len(message).to_bytes(4, "big") + message


@pytest.mark.parametrize(
    ("protocol", "request_sent", "expected"),
    [
        ("0.9.0", LEADER_AND_ISR, LEADER_AND_ISR_0),
        ("1.0", LEADER_AND_ISR, LEADER_AND_ISR_1),
        ("2.4-IV0", LEADER_AND_ISR, LEADER_AND_ISR_3),
        ("2.7", LEADER_AND_ISR, LEADER_AND_ISR_4),
        ("3.9", LEADER_AND_ISR, LEADER_AND_ISR_7),
        ("0.10.0", UPDATE_METADATA, UPDATE_METADATA_2),
        ("2.4-IV0", UPDATE_METADATA, UPDATE_METADATA_5),
        ("3.9", UPDATE_METADATA, UPDATE_METADATA_8),
        ("1.0", STOP_REPLICA, STOP_REPLICA_0),
        ("2.4-IV0", STOP_REPLICA, STOP_REPLICA_1),
        ("3.9", STOP_REPLICA, STOP_REPLICA_4),
    ],
)
def test_control_requests_are_as_described(
    protocol: str, request_sent: ControlRequest, expected: str
) -> None:
    encoder = ControlRequestEncoder(
        request_versions(ProtocolVersion.from_text(protocol)), client_id="4"
    )
    call = encoder.to_call(request_sent, 1)

    frame = b"".join(encoder.encode(call, ENDPOINTS))

    assert frame.hex() == by_hand(expected).hex()


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, "0007 0000 00000001              \n    00000003"),
        (1, "0007 0001 00000001 0001 34      \n    00000003"),
        (2, "0007 0002 00000001 0001 34      \n    00000003 000000000000004d"),
        (3, "0007 0003 00000001 0001 34 00   \n    00000003 000000000000004d 00"),
    ],
)
def test_a_controlled_shutdown_is_as_described(version: int, expected: str) -> None:
    """The first version is the only request of all that has no client id."""
    request = ControlledShutdown(BrokerId(3), BrokerEpoch(77))
    call = to_call(request, api_version=version, correlation_id=1, client_id="4")

    assert encode_request(call).hex() == by_hand(f"    {expected}").hex()
