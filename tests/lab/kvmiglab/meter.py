# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long an address was away, seen from the client: ping every few milliseconds.

A yardstick independent of the library's own probe. The resolution is the
interval; ping's replies carry the times at which they came in.
"""
import re
import signal
import subprocess

from .errors import LabError

REPLY = re.compile(r"^\[(\d+\.\d+)\] .*icmp_seq=(\d+) .*time=")


class GapMeter:
    """Use as `with`; afterwards the figures are there."""

    def __init__(self, argv_in_client, address, interval_ms=20):
        family = "-6" if ":" in address else "-4"
        self._argv = argv_in_client(["ping", family, "-n", "-D", "-i", str(interval_ms / 1000), address])
        self.longest_gap_ms = self.sent = self.lost = self.duplicates = None
        self.times = []

    def __enter__(self):
        self._process = subprocess.Popen(self._argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.STDOUT, text=True)
        return self

    def __exit__(self, *_):
        self._process.send_signal(signal.SIGINT)
        output, _ = self._process.communicate(timeout=10)
        replies = [line for line in output.splitlines() if REPLY.match(line)]
        self.duplicates = sum("(DUP!)" in line for line in replies)
        self.times = sorted(float(REPLY.match(line)[1]) for line in replies if "(DUP!)" not in line)
        count = re.search(r"(\d+) packets transmitted, (\d+) received", output)
        if count:
            self.sent, self.lost = int(count[1]), int(count[1]) - int(count[2])
        if len(self.times) < 2:
            raise LabError(f"no replies to ping: {output[-300:]}")
        self.longest_gap_ms = round(max(b - a for a, b in zip(self.times, self.times[1:])) * 1000, 1)
