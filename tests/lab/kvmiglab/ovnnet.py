# SPDX-License-Identifier: LGPL-2.1-or-later
"""Networks that OVN needs beside those of net.py: underlay, central, the client and its chassis.

Makes namespaces, links and addresses; starts nothing (see ovn.py).
"""
from . import net, settings
from .proc import run


def _enable_ipv6(ns, device):
    """Without duplicate address detection, so that addresses can be used at once."""
    run(["ip", "netns", "exec", ns, "sysctl", "-q", "-w", f"net.ipv6.conf.{device}.disable_ipv6=0",
         f"net.ipv6.conf.{device}.accept_dad=0", f"net.ipv6.conf.{device}.accept_ra=0"])


def _create_node(node, ipv6=False):
    """A namespace that only has the management network."""
    ns = settings.host_ns(node)
    if not net.exists(ns):
        net.add_namespace(ns)
    if not net.has_device(ns, "eth0"):
        net.attach(node, "mgmt")
    addresses = [f"{settings.host_address(node)}/24"]
    if ipv6:
        _enable_ipv6(ns, "eth0")
        addresses.append(f"{settings.host_address6(node)}/64")
    net.ip_batch(ns, ["link set lo up", "link set eth0 up", *(f"addr replace {a} dev eth0" for a in addresses)])


def _attach_underlay(node):
    """The device that carries a chassis' tunnels; the chassis gives it to a bridge of its own."""
    ns, device = settings.host_ns(node), net.PLANES["underlay"]
    if not net.has_device(ns, device):
        net.attach(node, "underlay")
    mtu = str(settings.UNDERLAY_MTU)
    net.ip(settings.CONTROLLER_NS, "link", "set", f"underlay-{node}", "mtu", mtu)
    net.ip(ns, "link", "set", device, "mtu", mtu, "address", settings.underlay_mac(node), "up")


def create_ovn_networks(host_names):
    """What is missing of the underlay, IPv6 management, central, the client and its chassis.

    Every step may be repeated: one that was interrupted is completed by the next call.
    """
    control = settings.CONTROLLER_NS
    if not net.has_device(control, "underlay"):
        net.ip(control, "link", "add", "underlay", "mtu", str(settings.UNDERLAY_MTU), "type", "bridge",
               "forward_delay", "0", "mcast_snooping", "0")
    _enable_ipv6(control, "mgmt")
    net.ip_batch(control, ["link set underlay up",
                           f"addr replace {settings.host_address6('ctl')}/64 dev mgmt"])
    _create_node(settings.EDGE_NODE)
    for node in (settings.EDGE_NODE, *host_names):
        _attach_underlay(node)
    _create_client()
    _create_node(settings.OVN_NODE, ipv6=True)


def client_link(nic):
    """The client's device, and its other end on the client's chassis."""
    return f"eth{nic}", f"client{nic}"


def _create_client():
    """The client reaches the guests, and nothing else, through OVN."""
    ns, edge = settings.CLIENT_NS, settings.host_ns(settings.EDGE_NODE)
    if not net.exists(ns):
        net.add_namespace(ns)
    for nic in range(len(settings.SWITCHES)):
        device, port = client_link(nic)
        if not net.has_device(ns, device):
            net.ip(edge, "link", "add", port, "type", "veth", "peer", "name", device, "netns", ns)
        own = settings.port_addresses(nic, settings.CLIENT_NUMBER)
        net.ip(edge, "link", "set", port, "up")
        _enable_ipv6(ns, device)
        net.ip_batch(ns, ["link set lo up", f"link set {device} address {own['mac']} up",
                          f"addr replace {own['ip']}/24 dev {device}", f"addr replace {own['ip6']}/64 dev {device}"])
        # The userspace datapath passes packets on as they are: nobody would fill in a checksum left open.
        run(["ip", "netns", "exec", ns, "ethtool", "-K", device, "tx", "off"])
