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
MANAGEMENT_NET6 = "fd00:99::"
GUEST_NET = "10.98.0."
CONTROLLER_ADDRESS = MANAGEMENT_NET + "1"
FIRST_GUEST, LAST_GUEST = 20, 250
GUEST_ECHO_PORT, GUEST_HTTP_PORT = 7777, 8080

# OVN: central, and the chassis that the client hangs on (the client's own namespace is in no other network).
OVN_NODE, EDGE_NODE = "ovn", "edge"
CLIENT_NS = PREFIX + "client"
UNDERLAY_NET = "10.95.0."
UNDERLAY_MTU = 9000
NB_PORT, SB_PORT, OVS_PORT = 6641, 6642, 6640
TLS_PORT_OFFSET = 10000
CLIENT_NUMBER = 10
# Logical switches: the guests' first and second network card, and the client's eth0 and eth1.
SWITCHES = (("kvmig0", "10.97.0.", "fd00:97::"), ("kvmig1", "10.96.0.", "fd00:96::"))

NETNS_DIR = Path("/run/netns")
NETNS_ETC = Path("/etc/netns")
LOCK_FILE = Path("/run/lock/kvmig-lab.lock")
SOURCE_DIR = Path(__file__).resolve().parent.parent

# Paths as they are seen inside every host.
SHARED = "/srv/kvmig/shared"
PRIVATE = "/srv/kvmig/private"
CONSOLE = "/srv/kvmig/console"
BOOT = "/srv/kvmig/boot"
OVS_LOG = "/srv/kvmig/ovs"
BLOCK = "/dev/kvmig"

_NODE_NUMBERS = {"ctl": 1, OVN_NODE: 2, EDGE_NODE: 3, **{h: 11 + i for i, h in enumerate(HOST_NAMES)}}


def state_dir():
    return Path(os.environ.get("KVMIG_LAB_DIR", "/var/lib/kvmig-lab"))


def cache_dir():
    return Path(os.environ.get("KVMIG_LAB_CACHE", "/var/cache/kvmig-lab"))


def node_names():
    """Everything with an address on the management network."""
    return tuple(_NODE_NUMBERS)


def host_ns(name):
    return PREFIX + name


def host_address(name):
    """The management address of a host, or of another node."""
    return MANAGEMENT_NET + str(_NODE_NUMBERS[name])


def host_address6(name):
    return MANAGEMENT_NET6 + str(_NODE_NUMBERS[name])


def underlay_address(name):
    return UNDERLAY_NET + str(_NODE_NUMBERS[name])


def underlay_mac(name):
    return f"02:00:00:95:00:{_NODE_NUMBERS[name]:02x}"


def host_uri(name):
    return f"qemu+tcp://{host_address(name)}/system"


def host_uuid(name):
    return f"6b766d69-6700-4000-8000-0000000000{11 + HOST_NAMES.index(name):02d}"


def port_addresses(nic, number):
    """Addresses of a guest's (or the client's) card on the logical switch of that number."""
    switch, net, net6 = SWITCHES[nic]
    third = net.split(".")[1]
    return {"switch": switch, "mac": f"52:54:00:{third}:00:{number:02x}", "ip": f"{net}{number}",
            "ip6": f"{net6}{number}"}
