"""The contents of znodes: every version that Kafka ever wrote, and everything it never would."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regent.core.asks import TopicRead
from regent.errors import CorruptZnode
from regent.model.assignment import Assignment
from regent.model.ids import BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition, ZkVersion
from regent.model.leadership import Leadership
from regent.zookeeper.znodes import (
    ControllerHolder,
    decode_config,
    decode_controller,
    decode_controller_epoch,
    decode_feature,
    decode_isr_change,
    decode_leadership,
    decode_topic,
    encode_config,
    encode_controller,
    encode_controller_epoch,
    encode_feature,
    encode_isr_change,
    encode_leadership,
    encode_topic,
)

B1, B2, B3 = BrokerId(1), BrokerId(2), BrokerId(3)
STATE = "/brokers/topics/t/partitions/0/state"
TOPIC = "/brokers/topics/t"

INT32 = st.integers(0, 2**31 - 1)
BROKER_IDS = INT32.map(BrokerId)
ISRS = st.lists(BROKER_IDS, min_size=1, max_size=5, unique=True).map(tuple)
LEADERSHIPS = st.builds(
    Leadership,
    st.integers(-1, 2**31 - 1).map(BrokerId),
    INT32.map(LeaderEpoch),
    ISRS,
    INT32.map(ControllerEpoch),
    INT32.map(ZkVersion),
    st.booleans(),
)


def dumped(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


# --- the controller -------------------------------------------------------------------------


def test_the_controller_is_written_as_version_2_without_kraft() -> None:
    """A KRaft epoch above 0 would stop 3.7 brokers from writing configs."""
    raw = encode_controller(B3, now_ms=1700000000123)

    assert raw == (
        b'{"version":2,"brokerid":3,"timestamp":"1700000000123","kraftControllerEpoch":-1}'
    )
    assert decode_controller(raw) == ControllerHolder(B3)


@pytest.mark.parametrize(
    ("raw", "holder"),
    [
        (b"3", ControllerHolder(B3)),
        (b'{"version":1,"brokerid":3,"timestamp":"1"}', ControllerHolder(B3)),
        (b'{ "timestamp": "1", "brokerid": 3, "version": 2 }', ControllerHolder(B3)),
        (b'{"version":2,"brokerid":3,"kraftControllerEpoch":5}', ControllerHolder(B3, 5)),
    ],
)
def test_every_form_of_the_controller_is_read(raw: bytes, holder: ControllerHolder) -> None:
    """Clusters are upgraded one broker at a time, in any order of keys."""
    assert decode_controller(raw) == holder


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (None, "expected JSON, found no data"),
        (b"", "expected JSON, found nothing"),
        (b"{", "expected JSON, found { (Input data was truncated)"),
        (b"-1", "Expected `int` >= 0; found -1"),
        (b"true", "Expected `int | object`, got `bool`; found true"),
        (
            dumped(version=3, brokerid=3),
            "Expected `int` <= 2 - at `$.version`; found version: 3",
        ),
        (
            dumped(version=2, brokerid="3"),
            'Expected `int`, got `str` - at `$.brokerid`; found brokerid: "3"',
        ),
        (
            dumped(version=2, brokerid=-3),
            "Expected `int` >= 0 - at `$.brokerid`; found brokerid: -3",
        ),
        (
            dumped(version=2),
            'Object missing required field `brokerid`; found {"version":2}',
        ),
    ],
)
def test_a_broken_controller_is_loud(raw: bytes | None, reason: str) -> None:
    """Taking it for "none" would make two controllers."""
    with pytest.raises(CorruptZnode) as caught:
        decode_controller(raw)

    assert (caught.value.path, caught.value.reason) == ("/controller", reason)


@given(INT32.map(ControllerEpoch))
def test_a_controller_epoch_reads_back(controller_epoch: ControllerEpoch) -> None:
    """Plain digits, not JSON."""
    raw = encode_controller_epoch(controller_epoch)

    assert raw == str(controller_epoch).encode()
    assert decode_controller_epoch(raw) == controller_epoch


@pytest.mark.parametrize("raw", [None, b"", b"-1", b"+1", b" 1", b"1.0", b'"1"', b"x"])
def test_a_broken_controller_epoch_is_no_fence(raw: bytes | None) -> None:
    """An epoch that has to be guessed protects nobody."""
    with pytest.raises(CorruptZnode) as caught:
        decode_controller_epoch(raw)

    assert caught.value.reason == f"expected decimal digits, found {raw!r}"


# --- leadership -----------------------------------------------------------------------------


def test_a_leadership_is_written_without_its_version() -> None:
    """Recovery is mentioned only while it lasts, so that releases before 3.2 can read it."""
    leadership = Leadership(B2, LeaderEpoch(5), (B2, B3), ControllerEpoch(7), ZkVersion(4))

    plain = encode_leadership(leadership)
    recovering = encode_leadership(
        Leadership(B3, LeaderEpoch(6), (B3,), ControllerEpoch(7), ZkVersion(5), recovering=True)
    )

    assert plain == b'{"version":1,"leader":2,"leader_epoch":5,"controller_epoch":7,"isr":[2,3]}'
    assert recovering == (
        b'{"version":1,"leader":3,"leader_epoch":6,"controller_epoch":7,"isr":[3],'
        b'"leader_recovery_state":1}'
    )


@pytest.mark.behaviour("zk-030")
@given(LEADERSHIPS)
def test_a_leadership_reads_back_with_the_znodes_version(leadership: Leadership) -> None:
    """The partition epoch is the version of the znode and nowhere in the JSON."""
    raw = encode_leadership(leadership)

    assert decode_leadership(STATE, raw, leadership.zk_version) == leadership
    assert "zk_version" not in json.loads(raw)
    assert ("leader_recovery_state" in json.loads(raw)) is leadership.recovering


def test_unknown_fields_of_a_state_are_ignored() -> None:
    """A later release may say more; what we know stays the same."""
    raw = dumped(version=1, leader=-1, leader_epoch=0, controller_epoch=0, isr=[1], more={})

    assert decode_leadership(STATE, raw, 3) == Leadership(
        BrokerId(-1), LeaderEpoch(0), (B1,), ControllerEpoch(0), ZkVersion(3)
    )


GOOD_STATE: dict[str, Any] = {
    "version": 1,
    "leader": 1,
    "leader_epoch": 2,
    "controller_epoch": 3,
    "isr": [1, 2],
}


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("version", 0, "Expected `int` >= 1 - at `$.version`; found version: 0"),
        ("version", 2, "Expected `int` <= 1 - at `$.version`; found version: 2"),
        ("version", "1", 'Expected `int`, got `str` - at `$.version`; found version: "1"'),
        ("leader", "1", 'Expected `int`, got `str` - at `$.leader`; found leader: "1"'),
        ("leader", True, "Expected `int`, got `bool` - at `$.leader`; found leader: true"),
        ("leader", -2, "Expected `int` >= -1 - at `$.leader`; found leader: -2"),
        ("leader_epoch", 1.5, ("Expected `int`, got `float` - at `$.leader_epoch`; "
         "found leader_epoch: 1.5")),
        ("leader_epoch", 2**31, ("Expected `int` <= 2147483647 - at `$.leader_epoch`; "
         "found leader_epoch: 2147483648")),
        ("controller_epoch", None, ("Expected `int`, got `null` - at `$.controller_epoch`; "
         "found controller_epoch: null")),
        ("isr", [], "Expected `array` of length >= 1 - at `$.isr`; found isr: []"),
        ("isr", [1, -2], "Expected `int` >= 0 - at `$.isr[1]`; found isr: [1,-2]"),
        ("isr", ["1"], 'Expected `int`, got `str` - at `$.isr[0]`; found isr: ["1"]'),
        ("isr", [True], "Expected `int`, got `bool` - at `$.isr[0]`; found isr: [true]"),
        ("isr", 1, "Expected `array`, got `int` - at `$.isr`; found isr: 1"),
        ("isr", [1, 2, 1], "expected an ISR without repetition, found [1, 2, 1]"),
        ("leader_recovery_state", 2, ("Invalid enum value 2 - at `$.leader_recovery_state`; "
         "found leader_recovery_state: 2")),
    ],
)  # fmt: skip
def test_a_broken_state_says_what_was_found_and_expected(
    field: str, value: object, reason: str
) -> None:
    """Whoever repairs it by hand reads nothing but this."""
    with pytest.raises(CorruptZnode) as caught:
        decode_leadership(STATE, dumped(**{**GOOD_STATE, field: value}), 0)

    assert (caught.value.path, caught.value.reason) == (STATE, reason)


@pytest.mark.parametrize("field", sorted(GOOD_STATE))
def test_a_state_without_a_field_is_malformed(field: str) -> None:
    """Nothing is made up: a leadership with a guessed epoch would be believed."""
    rest = {name: value for name, value in GOOD_STATE.items() if name != field}

    with pytest.raises(CorruptZnode, match=f"missing required field `{field}`"):
        decode_leadership(STATE, dumped(**rest), 0)


@pytest.mark.parametrize(
    "raw", [None, b"", b"[]", b"null", b"\xff\xfe", b'{"version":1} x', b"[" * 9999, b'["\\ud800"]']
)
def test_what_is_no_object_is_no_state(raw: bytes | None) -> None:
    """Any bytes at all end in CorruptZnode, never in another exception."""
    with pytest.raises(CorruptZnode):
        decode_leadership(STATE, raw, 0)


@given(st.binary(max_size=40))
def test_no_bytes_break_a_decoder(raw: bytes) -> None:
    """A znode may hold anything; only CorruptZnode may come of it."""
    for decode in (
        decode_controller,
        decode_feature,
        lambda raw: decode_leadership(STATE, raw, 0),
        lambda raw: decode_topic(TOPIC, raw),
        lambda raw: decode_config("/config/topics/t", raw),
        lambda raw: decode_isr_change("/isr_change_notification/isr_change_0", raw),
    ):
        with pytest.raises(CorruptZnode):
            raise CorruptZnode("/", str(decode(raw)))


def test_a_long_content_is_quoted_in_part() -> None:
    """A reason goes into a journal line."""
    with pytest.raises(CorruptZnode) as caught:
        decode_leadership(STATE, b"x" * 10_000, 0)

    assert len(caught.value.reason) < 300


# --- topics ---------------------------------------------------------------------------------


def test_a_topic_is_written_as_version_3_with_its_id() -> None:
    """Only what is being reassigned is in the two maps, and the partitions are in order."""
    partitions = {
        1: Assignment((B2, B3)),
        0: Assignment((B3, B1), adding=(B3,), removing=(B1,)),
    }

    assert encode_topic("q3dVYr2sT5-0kXo1mYzA7g", partitions) == (
        b'{"version":3,"topic_id":"q3dVYr2sT5-0kXo1mYzA7g","partitions":{"0":[3,1],"1":[2,3]},'
        b'"adding_replicas":{"0":[3]},"removing_replicas":{"0":[1]}}'
    )
    assert encode_topic(None, {}) == (
        b'{"version":3,"partitions":{},"adding_replicas":{},"removing_replicas":{}}'
    )


@st.composite
def assignments(draw: st.DrawFn) -> Assignment:
    replicas = draw(ISRS)
    movers = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    return Assignment(replicas, draw(movers), draw(movers))


@given(st.none() | st.text(min_size=1), st.dictionaries(INT32, assignments(), max_size=5))
def test_a_topic_reads_back(topic_id: str | None, partitions: dict[int, Assignment]) -> None:
    """The id above all: a topic that loses it gets another, and brokers refuse both."""
    raw = encode_topic(topic_id, partitions)

    read = decode_topic(TOPIC, raw)

    assert read == TopicRead(topic_id, partitions)
    assert list(read.partitions) == sorted(partitions)


@pytest.mark.parametrize(
    ("fields", "topic_id"),
    [
        ({"version": 1}, None),
        ({"version": 2, "adding_replicas": {}, "removing_replicas": {}}, None),
        ({"version": 3, "topic_id": "id", "adding_replicas": {}}, "id"),
        ({"version": 3, "topic_id": None}, None),
        ({"version": 4, "topic_id": "id", "news": []}, "id"),
    ],
)
def test_every_version_of_a_topic_is_read(fields: dict[str, Any], topic_id: str | None) -> None:
    """Kafka's decoder ignores the number, and so a newer one must not hide a topic."""
    raw = dumped(partitions={"10": [2], "9": [1]}, **fields)

    assert decode_topic(TOPIC, raw) == TopicRead(
        topic_id, {9: Assignment((B1,)), 10: Assignment((B2,))}
    )


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"partitions": []}, "in partitions: Expected `array` of length >= 1; found []"),
        ({"partitions": [1, 1]}, "expected replicas without repetition, found [1, 1]"),
        ({"partitions": [-1]}, "in partitions: Expected `int` >= 0 - at `$[0]`; found [-1]"),
        ({"partitions": ["1"]},
         'in partitions: Expected `int`, got `str` - at `$[0]`; found ["1"]'),
        ({"partitions": [True]},
         "in partitions: Expected `int`, got `bool` - at `$[0]`; found [true]"),
        ({"partitions": None}, "in partitions: Expected `array`, got `null`; found null"),
        ({"partitions": [1], "adding_replicas": [2]},
         "expected adding to be among [1], found [2]"),
        ({"partitions": [1], "removing_replicas": [2]},
         "expected removing to be among [1], found [2]"),
        ({"partitions": [1], "adding_replicas": [1, 1]},
         "expected adding without repetition, found [1, 1]"),
        ({"partitions": [1], "adding_replicas": "1"},
         'in adding_replicas: Expected `array`, got `str`; found "1"'),
        ({"removing_replicas": [1]},
         "expected an entry in partitions, as it is reassigned; found none"),
    ],
)  # fmt: skip
def test_a_bad_entry_spoils_only_its_partition(entry: dict[str, Any], reason: str) -> None:
    """One slip in a topic of a thousand partitions must not stop the others."""
    fields: dict[str, dict[str, Any]] = {"partitions": {"0": [1, 2], "2": [3]}}
    for name, value in entry.items():
        fields.setdefault(name, {})["1"] = value

    read = decode_topic(TOPIC, dumped(version=3, topic_id="id", **fields))

    assert read == TopicRead(
        "id", {0: Assignment((B1, B2)), 2: Assignment((B3,))}, malformed={1: reason}
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 3, "partitions": {"x": [1]}}, "at `key` in `$.partitions`"),
        ({"version": 3, "partitions": {"-1": [1]}}, "at `key` in `$.partitions`"),
        ({"version": 3, "partitions": {"1.0": [1]}}, "at `key` in `$.partitions`"),
        ({"version": 3, "partitions": {}, "adding_replicas": {"x": []}}, "$.adding_replicas"),
        ({"version": 3}, "missing required field `partitions`"),
        ({"version": 3, "partitions": [1]}, "Expected `object`, got `array`"),
        ({"partitions": {}}, "missing required field `version`"),
        ({"version": 0, "partitions": {}}, "found version: 0"),
        ({"version": "3", "partitions": {}}, 'found version: "3"'),
        ({"version": True, "partitions": {}}, "found version: true"),
        ({"version": 3, "partitions": {}, "topic_id": 7}, "found topic_id: 7"),
        ({"version": 3, "partitions": {}, "topic_id": ""}, 'found topic_id: ""'),
    ],
)  # fmt: skip
def test_a_topic_that_cannot_be_trusted_is_malformed_whole(
    fields: dict[str, Any], reason: str
) -> None:
    """If it is not clear which partitions there are, none of them is safe to touch."""
    with pytest.raises(CorruptZnode) as caught:
        decode_topic(TOPIC, dumped(**fields))

    assert caught.value.path == TOPIC
    assert reason in caught.value.reason


# --- configs, notifications, features -------------------------------------------------------


@given(st.dictionaries(st.text(), st.text(), max_size=4))
def test_a_config_reads_back(config: dict[str, str]) -> None:
    """All values are strings, and their order does not depend on how they were put together."""
    raw = encode_config(config)

    assert decode_config("/config/topics/t", raw) == config
    assert raw == encode_config(dict(reversed(config.items())))


def test_a_config_without_data_sets_nothing() -> None:
    """Kafka creates such znodes for brokers."""
    assert decode_config("/config/brokers/1", None) == {}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"version": 1, "config": {"a": 1}},
         'Expected `str`, got `int` - at `$.config[...]`; found config: {"a":1}'),
        ({"version": 1}, 'Object missing required field `config`; found {"version":1}'),
        ({"version": 2, "config": {}}, "Expected `int` <= 1 - at `$.version`; found version: 2"),
    ],
)  # fmt: skip
def test_a_broken_config_says_why(fields: dict[str, Any], reason: str) -> None:
    """A config that reads as empty would switch its settings off."""
    with pytest.raises(CorruptZnode) as caught:
        decode_config("/config/topics/t", dumped(**fields))

    assert caught.value.reason == reason


@given(st.lists(st.builds(TopicPartition, st.text(min_size=1), INT32), max_size=4).map(tuple))
def test_an_isr_notification_reads_back(partitions: tuple[TopicPartition, ...]) -> None:
    """In its order, whatever a topic is called."""
    raw = encode_isr_change(partitions)

    assert decode_isr_change("/isr_change_notification/isr_change_0000000000", raw) == partitions


@pytest.mark.parametrize(
    "fields",
    [
        {"version": 1},
        {"version": 2, "partitions": []},
        {"version": 1, "partitions": [{"topic": "t"}]},
        {"version": 1, "partitions": [{"topic": "t", "partition": "0"}]},
        {"version": 1, "partitions": [{"topic": "", "partition": 0}]},
    ],
)
def test_a_broken_isr_notification_is_malformed(fields: dict[str, Any]) -> None:
    """It is then deleted unread, which must be said."""
    with pytest.raises(CorruptZnode):
        decode_isr_change("/isr_change_notification/isr_change_0000000000", dumped(**fields))


def test_features_are_a_status_and_nothing_else() -> None:
    """An entry that a broker does not support would kill that broker."""
    assert encode_feature(enabled=True) == b'{"version":2,"status":1,"features":{}}'
    assert encode_feature(enabled=False) == b'{"version":2,"status":0,"features":{}}'
    assert [decode_feature(encode_feature(enabled=each)) for each in (True, False)] == [True, False]


def test_features_of_an_unknown_status_are_malformed() -> None:
    """Enabled and disabled are all there is."""
    with pytest.raises(CorruptZnode, match="Invalid enum value 2"):
        decode_feature(dumped(version=2, status=2, features={}))
