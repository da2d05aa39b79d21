"""One of a broker's two disks fails while the broker lives."""

import shutil
from pathlib import Path

import pytest

from tests.interop.led_cluster import LedCluster
from tests.runtime.listener.clients import CLIENT_WARNINGS

pytestmark = [pytest.mark.interop, *CLIENT_WARNINGS]

BROKER = 1


def replicas_on(log_dir: Path, topic: str) -> set[int]:
    return {int(folder.name.rpartition("-")[2]) for folder in log_dir.glob(f"{topic}-*")}


def test_what_lies_on_a_failed_disk_is_led_by_others(led: LedCluster) -> None:
    """And what lies on the broker's other disk is served as before."""
    led.create_topic("on-disks", 6)
    broken, sound = led.apache.broker(BROKER).log_dirs
    failed = replicas_on(broken, "on-disks")
    assert failed
    assert replicas_on(sound, "on-disks")
    # A folder that is a file cannot be written to, not even by root.
    shutil.rmtree(broken)
    broken.touch()

    try:
        led.apache.wait_for(lambda: in_sync(led) == set(range(6)) - failed, "the disk to fail")
        for partition in led.apache.partitions("on-disks"):
            assert partition.leadership is not None
            assert partition.partition not in failed or partition.leadership.leader != BROKER
    finally:
        led.apache.kill(BROKER)
        broken.unlink()
        led.apache.start(BROKER)
    led.apache.wait_until_led("on-disks", 6)


def in_sync(led: LedCluster) -> set[int]:
    """The partitions in whose ISR the broker is, if all of them are led."""
    partitions = led.apache.partitions("on-disks")
    led_by_somebody = all(p.leadership and p.leadership.leader >= 0 for p in partitions)
    return {
        partition.partition
        for partition in partitions
        if led_by_somebody and partition.leadership and BROKER in partition.leadership.isr
    }
