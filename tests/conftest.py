"""What all tests have in common."""

import signal
from contextlib import suppress

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A script's background job has Ctrl-C ignored, and so had every process that a test starts: one
    # that is to end by it would never end.
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.default_int_handler)
