# SPDX-License-Identifier: LGPL-2.1-or-later
"""The one exception type of the lab. Does nothing else."""


class LabError(Exception):
    """Something the lab was asked for could not be done; the text says what."""
