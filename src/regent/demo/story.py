"""What the demo shows, in order. Only words and deeds; `stage` knows how each deed is done."""

from enum import Enum, auto
from typing import Final

from msgspec import Struct


class Deed(Enum):
    """What is done to the cluster in a chapter."""

    START = auto()
    CREATE_TOPICS = auto()
    KILL_LEADER = auto()
    KILL_CONTROLLER = auto()
    BRING_BACK = auto()
    MOVE_REPLICAS = auto()
    STOP_LEADER = auto()
    DELETE_TOPIC = auto()


class Chapter(Struct, frozen=True):
    """A heading, what is about to happen, and the deed that makes it happen."""

    title: str
    text: str
    deed: Deed
    #: How long clients are watched when everything is well again.
    rest_s: float = 2.0


STORY: Final = (
    Chapter(
        "Three brokers start",
        "Each of them can be the controller. The first to create /controller in ZooKeeper is, and"
        " raises the controller epoch, which fences all who were in office before.",
        Deed.START,
        rest_s=0.5,
    ),
    Chapter(
        "Two topics are created, and clients begin",
        "The controller elects a leader for each partition, writes it to ZooKeeper, and only then"
        " tells the brokers. A producer writes with acks=all, a group of two consumers reads.",
        Deed.CREATE_TOPICS,
        rest_s=3.0,
    ),
    Chapter(
        "A leader is killed",
        "kill -9. Its launcher sees it die and closes its session, so nobody waits for a timeout:"
        " the controller moves its leaderships to replicas in sync.",
        Deed.KILL_LEADER,
        rest_s=3.0,
    ),
    Chapter(
        "The dead broker comes back",
        "It follows the new leaders until it has caught up, and they have it in sync again. Then"
        " leaders are elected where they are preferred.",
        Deed.BRING_BACK,
    ),
    Chapter(
        "The controller is killed",
        "Another broker takes office under the next epoch, learns everything from ZooKeeper, and"
        " elects leaders for what the dead one led. Both happen while clients write.",
        Deed.KILL_CONTROLLER,
        rest_s=3.0,
    ),
    Chapter(
        "It comes back, as one broker among others",
        "The office stays where it is.",
        Deed.BRING_BACK,
    ),
    Chapter(
        "Replicas are moved",
        "A replica is added where there was none, catches up, and only then does another one go.",
        Deed.MOVE_REPLICAS,
    ),
    Chapter(
        "A broker is stopped in order",
        "SIGTERM. It asks the controller to take its leaderships away, and goes when it has none.",
        Deed.STOP_LEADER,
    ),
    Chapter(
        "The stopped broker comes back",
        "A restart of this kind, broker by broker, is how clusters are upgraded.",
        Deed.BRING_BACK,
    ),
    Chapter(
        "A topic is deleted",
        "Its replicas go offline, then their files, then its znodes; last of all it is forgotten.",
        Deed.DELETE_TOPIC,
        rest_s=1.0,
    ),
)
