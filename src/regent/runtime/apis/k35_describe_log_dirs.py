"""DescribeLogDirs, versions 1 to 4: the logs on this node, which are none.

Tools ask every node that is listed, and give up if one of them does not understand.
"""

from regent.model.log_requests import DescribeLogDirsAnswer
from regent.runtime.desk import Desk
from regent.wire.exchange import Call


async def answer(_call: Call, _desk: Desk) -> DescribeLogDirsAnswer:
    """Logs are for brokers."""
    return DescribeLogDirsAnswer()
