# SPDX-License-Identifier: LGPL-2.1-or-later
"""What must be true of every port after a test: nothing temporary left, and bound where the guest runs.

Only reads. A complaint is a sentence; an empty list of them means clean.
"""
import time

from .errors import LabError
from .ports import VM_KEY

TOKEN_PREFIX = "kvmig-"
REQUESTED, STRATEGY = "requested-chassis", "activation-strategy"
ACTIVATED = "additional-chassis-activated"


def _temporary(port):
    """What is never left in the northbound database, wherever the port is."""
    wrong = [f"external_ids:{key}={value} is left" for key, value in port["external_ids"].items()
             if key.startswith(TOKEN_PREFIX)]
    if STRATEGY in port["options"]:
        wrong.append(f"options:{STRATEGY}={port['options'][STRATEGY]} is left")
    if "," in port["options"].get(REQUESTED, ""):
        wrong.append(f"options:{REQUESTED}={port['options'][REQUESTED]} still lists two")
    return wrong


def _northbound(port, chassis, pinned):
    wrong = _temporary(port)
    requested = port["options"].get(REQUESTED)
    if requested is None:
        return wrong + ([f"no options:{REQUESTED}"] if pinned else [])
    if chassis is not None and requested not in (chassis.name, chassis.hostname):
        wrong.append(f"options:{REQUESTED} is {requested}, not {chassis.name}")
    return wrong


def _southbound(binding, chassis):
    if binding is None:
        return ["it has no binding"]
    wrong = []
    expected = chassis.name if chassis else None
    if binding["chassis"] != expected:
        wrong.append(f"bound to {binding['chassis']}, not to {expected}")
    if chassis and not binding["up"]:
        wrong.append("not up")
    for column in ("additional", "requested_additional"):
        if binding[column]:
            wrong.append(f"{column} chassis left: {', '.join(binding[column])}")
    if ACTIVATED in binding["options"]:
        wrong.append(f"{ACTIVATED}={binding['options'][ACTIVATED]} is left")
    return wrong


def _interfaces(name, chassis, everywhere):
    wrong = []
    for node, interfaces in everywhere.items():
        mine = [i for i, row in interfaces.items() if row["iface_id"] == name]
        here = chassis is not None and node == chassis.node
        if here and len(mine) != 1:
            wrong.append(f"{len(mine)} interfaces on {node}: {', '.join(mine)}")
        if not here and mine:
            wrong.append(f"interface {', '.join(mine)} is left on {node}")
        if here and mine and not interfaces[mine[0]]["ovn_installed"]:
            wrong.append(f"{mine[0]} on {node} has no ovn-installed")
    return wrong


def complaints(ovn, name, chassis, pinned):
    """What is not clean about a port whose guest runs on `chassis` (None: nowhere)."""
    port = ovn.ports.lsp(name)
    if port is None:
        return [f"port {name}: there is none"]
    everywhere = {c.node: c.interfaces() for c in ovn.all_chassis()}
    wrong = (_northbound(port, chassis, pinned) + _southbound(ovn.ports.binding(name), chassis)
             + _interfaces(name, chassis, everywhere))
    return [f"port {name}: {text}" for text in wrong]


def strays(ovn):
    """Interfaces on a bridge for which there is no port."""
    known = {p["name"] for p in ovn.ports.all()}
    return [f"stray interface {name} on {chassis.node} with iface-id {row['iface_id']}"
            for chassis in ovn.all_chassis() for name, row in chassis.interfaces().items()
            if row["iface_id"] not in known]


def guests(ovn, running_on):
    """Complaints about all ports of guests; running_on(vm) gives the host that runs it, or None."""
    found = strays(ovn)
    for port in ovn.ports.all():
        if VM_KEY in port["external_ids"]:
            node = running_on(port["external_ids"][VM_KEY])
            found += complaints(ovn, port["name"], ovn.chassis(node) if node else None, pinned=False)
    return found


def leftovers(ovn):
    """Complaints about all ports, whoever made them: what is temporary, and interfaces where the port is not."""
    found = strays(ovn)
    everywhere = {c.node: (c.name, c.interfaces()) for c in ovn.all_chassis()}
    for port in ovn.ports.all():
        binding = ovn.ports.binding(port["name"]) or {"chassis": None, "additional": []}
        wrong = _temporary(port) + [f"additional chassis left: {name}" for name in binding["additional"]]
        wrong += [f"interface {iface} is left on {node}, and the port is on {binding['chassis']}"
                  for node, (chassis, interfaces) in everywhere.items() if chassis != binding["chassis"]
                  for iface, row in interfaces.items() if row["iface_id"] == port["name"]]
        found += [f"port {port['name']}: {text}" for text in wrong]
    return found


def assert_none(look, timeout):
    """Converging takes a moment: fail only when look() still complains at the end of it."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            found = look()
        except LabError as e:
            found = [str(e)]
        if not found:
            return
        if time.monotonic() >= deadline:
            raise AssertionError("; ".join(found))
        time.sleep(0.1)
