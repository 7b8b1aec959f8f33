# SPDX-License-Identifier: LGPL-2.1-or-later
"""The test lab as a Python package: what tests and the command line import.

Holds no logic of its own; see lab.py (the whole), hosts.py, vm.py, net.py.
"""
from .errors import LabError
from .lab import Lab

__all__ = ["Lab", "LabError"]
