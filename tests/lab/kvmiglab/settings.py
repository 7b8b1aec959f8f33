# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names, addresses and folders of the lab, in one place.

Does not touch the machine; only computes names.
"""
import os
from pathlib import Path

PREFIX = "kvmig-lab-"
CONTROLLER_NS = PREFIX + "ctl"
HOST_NAMES = ("a", "b", "c")
MANAGEMENT_NET = "10.99.0."
GUEST_NET = "10.98.0."
CONTROLLER_ADDRESS = MANAGEMENT_NET + "1"
FIRST_GUEST, LAST_GUEST = 20, 250
GUEST_ECHO_PORT, GUEST_HTTP_PORT = 7777, 8080

NETNS_DIR = Path("/run/netns")
NETNS_ETC = Path("/etc/netns")
LOCK_FILE = Path("/run/lock/kvmig-lab.lock")
SOURCE_DIR = Path(__file__).resolve().parent.parent

# Paths as they are seen inside every host.
SHARED = "/srv/kvmig/shared"
PRIVATE = "/srv/kvmig/private"
CONSOLE = "/srv/kvmig/console"
BOOT = "/srv/kvmig/boot"
BLOCK = "/dev/kvmig"


def state_dir():
    return Path(os.environ.get("KVMIG_LAB_DIR", "/var/lib/kvmig-lab"))


def cache_dir():
    return Path(os.environ.get("KVMIG_LAB_CACHE", "/var/cache/kvmig-lab"))


def host_ns(name):
    return PREFIX + name


def host_address(name):
    return MANAGEMENT_NET + str(11 + HOST_NAMES.index(name))


def host_uri(name):
    return f"qemu+tcp://{host_address(name)}/system"


def host_uuid(name):
    return f"6b766d69-6700-4000-8000-0000000000{11 + HOST_NAMES.index(name):02d}"
