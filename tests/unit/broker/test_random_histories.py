"""Crashes, elections and late orders in any order: what was acknowledged is never lost.

The controller of these histories elects cleanly (from the ISR in the state znode) and may forget
to tell some brokers for a while. Disks survive crashes.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from regent.broker.broker_config import BrokerConfig, IsrMode
from regent.broker.hosted_partition import ReplicaRole
from regent.broker.log import Value
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from tests.unit.broker.wiring import ALL, B1, T0, Wiring

brokers = st.sampled_from(ALL)
steps = st.one_of(
    st.tuples(st.just("append"), brokers),
    st.tuples(st.just("append unseen"), brokers),
    st.tuples(st.just("crash"), brokers),
    st.tuples(st.just("start"), brokers),
    st.tuples(st.just("elect"), brokers),
    st.tuples(st.just("elect quietly"), brokers),
    st.tuples(st.just("tell"), brokers),
    st.tuples(st.just("wait"), brokers),
)


class History:
    """A wiring, and what its producers were promised."""

    def __init__(self, isr_mode: IsrMode) -> None:
        self.wiring = Wiring(*ALL, config=BrokerConfig(isr_mode=isr_mode))
        self.wiring.elect(T0, B1, ALL)
        self._request_id = 0

    def take(self, step: str, broker_id: BrokerId) -> None:
        """Do what the step says, where it makes sense."""
        wiring = self.wiring
        alive = broker_id in wiring.brokers
        if step.startswith("append") and alive:
            self._request_id += 1
            wiring.brokers[broker_id].append(T0, self._request_id, self._request_id)
            if step == "append":
                wiring.pump()
        elif step == "crash" and alive:
            wiring.crash(broker_id)
        elif step == "start" and not alive:
            wiring.start(broker_id)
            wiring.tell_who_lives()
            wiring.tell(T0, (broker_id,))
        elif step.startswith("elect"):
            self.elect(broker_id, told=(broker_id,) if step == "elect quietly" else ALL)
        elif step == "tell":
            wiring.tell(T0, (broker_id,))
        elif step == "wait":
            wiring.run_for(3_000)

    def elect(self, preferred: BrokerId, told: tuple[BrokerId, ...] = ALL) -> None:
        """A clean election: the ISR keeps its live members, one of which leads."""
        wiring = self.wiring
        isr = tuple(each for each in wiring.states[T0].isr if each in wiring.brokers)
        if isr:
            wiring.tell_who_lives()
            wiring.elect(T0, preferred if preferred in isr else isr[0], isr, told=told)

    def acknowledged(self) -> list[Value]:
        """What producers may rely on."""
        answers = self.wiring.answers.items()
        return [each for each, answer in answers if answer.error is ErrorCode.NONE]

    def check(self) -> None:
        """Every member of the ISR has all that was acknowledged or counted as committed."""
        wiring = self.wiring
        state = wiring.states[T0]
        for member in state.isr:
            assert set(self.acknowledged()) <= set(wiring.values(member, T0))
        leader = wiring.brokers.get(state.leader)
        hosted = leader.hosted.get(T0) if leader else None
        if hosted and hosted.role is ReplicaRole.LEADER:
            committed = wiring.values(state.leader, T0)[: hosted.high_watermark]
            for member in state.isr:
                assert wiring.values(member, T0)[: hosted.high_watermark] == committed


@settings(max_examples=150, deadline=None)
@given(isr_mode=st.sampled_from(IsrMode), story=st.lists(steps, max_size=30))
def test_acknowledged_records_survive_any_history(
    isr_mode: IsrMode, story: list[tuple[str, BrokerId]]
) -> None:
    """And once everybody is back, all logs are the same and all replicas in sync."""
    history = History(isr_mode)
    for step, broker_id in story:
        history.take(step, broker_id)
        history.check()

    for broker_id in ALL:
        history.take("start", broker_id)
    history.elect(B1)
    history.wiring.run_for(20_000)

    history.check()
    first, *others = [history.wiring.values(broker_id, T0) for broker_id in ALL]
    assert all(other == first for other in others)
    assert sorted(history.wiring.states[T0].isr) == sorted(ALL)
