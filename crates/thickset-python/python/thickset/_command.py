"""The command `thickset`, as the wheel installs it."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command with this process's arguments and returns its exit code."""
    from thickset import _native

    # Python turns Ctrl-C into an exception, which native code would never see. The command is to die of it, as others do.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(["thickset", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
