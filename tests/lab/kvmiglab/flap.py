# SPDX-License-Identifier: LGPL-2.1-or-later
"""Faults that act all the time while a test runs: an interface whose readiness comes and goes.

A Flap is a thread of the test process; whoever starts it must stop it
(Ovn.heal stops all).
"""
import threading
import time

from .errors import LabError

INSTALLED, INSTALLED_TS = "ovn-installed", "ovn-installed-ts"


class Flap:
    """Takes ovn-installed off an interface and puts it back with a new ovn-installed-ts, over and over."""

    def __init__(self, chassis, iface, period_ms=50, off_ms=2):
        self.rounds = 0
        self.error = None
        self._chassis, self._iface = chassis, iface
        self._off, self._on = off_ms / 1000, max(period_ms - off_ms, 0) / 1000
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._flap, daemon=True)
        self._thread.start()

    def _flap(self):
        try:
            while not self._stop.is_set():
                self._chassis.set_interface_ids(self._iface, remove=[INSTALLED])
                time.sleep(self._off)
                self._chassis.set_interface_ids(
                    self._iface, **{INSTALLED: "true", INSTALLED_TS: int(time.time() * 1000)})
                self.rounds += 1
                self._stop.wait(self._on)
        except LabError as e:
            self.error = e

    def stop(self):
        """Leaves the interface with ovn-installed=true."""
        self._stop.set()
        self._thread.join(15)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
