# SPDX-License-Identifier: LGPL-2.1-or-later
"""Network of the lab: namespaces, bridges, links, and faults on links.

The controller namespace holds the bridges: `mgmt` (management and migration),
`guests`, and with OVN `underlay` (tunnels between the chassis). Nothing is
routed out of the namespaces. Packet delay needs the kernel's netem queue;
without it `delay` is refused and the rest works.
"""
import contextlib
import ctypes
import http.client
import json
import os
import shutil
import socket
import threading

from . import settings
from .errors import LabError
from .proc import run

CLONE_NEWNET = 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
NOWHERE_MAC = "02:00:00:00:de:ad"
PLANES = {"mgmt": "eth0", "guests": "eth1", "underlay": "eth2"}


def exists(ns):
    return (settings.NETNS_DIR / ns).exists()


def lab_namespaces():
    if not settings.NETNS_DIR.is_dir():
        return []
    return sorted(p.name for p in settings.NETNS_DIR.iterdir()
                  if p.name.startswith(settings.PREFIX))


def ip(ns, *args, check=True):
    return run(["ip", "-n", ns, *args], check=check)


def has_device(ns, device):
    return ip(ns, "link", "show", "dev", device, check=False).returncode == 0


def ip_batch(ns, lines):
    run(["ip", "-n", ns, "-batch", "-"], input="\n".join(lines) + "\n")


def write_names(ns):
    """Names of all hosts, for `ip netns exec` to put over /etc/hosts."""
    folder = settings.NETNS_ETC / ns
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["127.0.0.1 localhost"]
    lines += [f"{settings.host_address(node)} kvmig-{node}" for node in settings.node_names()]
    (folder / "hosts").write_text("\n".join(lines) + "\n")
    (folder / "resolv.conf").write_text("options timeout:1 attempts:1\n")


def add_namespace(ns):
    write_names(ns)
    run(["ip", "netns", "add", ns])
    run(["ip", "netns", "exec", ns, "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1",
         "net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.ip_forward=0"])


def create_controller():
    ns = settings.CONTROLLER_NS
    if exists(ns):
        return
    add_namespace(ns)
    ip_batch(ns, [
        "link set lo up",
        "link add mgmt type bridge forward_delay 0 mcast_snooping 0",
        "link add guests type bridge forward_delay 0 mcast_snooping 0",
        f"addr add {settings.CONTROLLER_ADDRESS}/24 dev mgmt",
        f"addr add {settings.GUEST_NET}1/24 dev guests",
        "link set mgmt up", "link set guests up"])


def attach(node, plane):
    """A link from a bridge of the controller to a node's own device."""
    ip_batch(settings.CONTROLLER_NS, [
        f"link add {plane}-{node} type veth peer name {PLANES[plane]} netns {settings.host_ns(node)}",
        f"link set {plane}-{node} master {plane} up"])


def create_host(name):
    ns = settings.host_ns(name)
    if exists(ns):
        return
    add_namespace(ns)
    attach(name, "mgmt")
    attach(name, "guests")
    ip_batch(ns, [
        "link set lo up",
        "link add br0 type bridge forward_delay 0 mcast_snooping 0",
        "link set eth1 master br0 up", "link set br0 up",
        f"addr add {settings.host_address(name)}/24 dev eth0", "link set eth0 up"])


def delete_namespace(ns):
    if exists(ns):
        run(["ip", "netns", "del", ns])
    shutil.rmtree(settings.NETNS_ETC / ns, ignore_errors=True)


def _is_mount(folder):
    """Unlike os.path.ismount, sees bind mounts within one file system too."""
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        return any(line.split()[4] == str(folder) for line in f)


def remove_leftovers():
    """Folders that `ip netns` and the lab share with others: only when empty."""
    for folder in settings.NETNS_ETC.glob(settings.PREFIX + "*"):
        shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        settings.NETNS_ETC.rmdir()
    folder = settings.NETNS_DIR
    if _is_mount(folder) and not any(folder.iterdir()):
        run(["umount", folder], check=False)


# ---- faults ---------------------------------------------------------------

class Links:
    """Faults on the links of the hosts that are up, and of OVN's central and client chassis."""

    def __init__(self, hosts):
        self._hosts = hosts

    def nodes(self):
        return [*self._hosts(), *(n for n in (settings.OVN_NODE, settings.EDGE_NODE)
                                  if exists(settings.host_ns(n)))]

    def planes(self, node):
        """The networks that a node is in."""
        if node == settings.OVN_NODE:
            return ("mgmt",)
        if node == settings.EDGE_NODE:
            return ("mgmt", "underlay")
        return tuple(PLANES) if exists(settings.host_ns(settings.OVN_NODE)) else ("mgmt", "guests")

    def _ends(self, host, plane):
        """(namespace, device) of the controller's and the host's end."""
        if host not in self.nodes():
            raise LabError(f"no host {host}")
        planes = self.planes(host)
        if plane not in planes:
            raise LabError(f"no such network: {plane} (use {' or '.join(planes)})")
        return ((settings.CONTROLLER_NS, f"{plane}-{host}"),
                (settings.host_ns(host), PLANES[plane]))

    def cut(self, host, peer=None, plane="mgmt"):
        """Cut a host off from everybody, or from one peer ('ctl', a host, 'ovn' or 'edge')."""
        (ns, device), _ = self._ends(host, plane)
        if peer is None:
            ip(ns, "link", "set", device, "down")
            return
        for ns, device, address in self._pair(host, peer, plane):
            ip(ns, "neigh", "replace", address, "lladdr", NOWHERE_MAC, "dev", device,
               "nud", "permanent")

    def _pair(self, host, peer, plane):
        if plane != "mgmt":
            raise LabError("single peers can be cut only on the mgmt network")
        self._ends(host, plane)
        if peer == "ctl":
            other = (settings.CONTROLLER_NS, "mgmt", settings.CONTROLLER_ADDRESS)
        else:
            self._ends(peer, plane)
            other = (settings.host_ns(peer), "eth0", settings.host_address(peer))
        yield settings.host_ns(host), "eth0", other[2]
        yield other[0], other[1], settings.host_address(host)

    def restore(self, host):
        """Take away every cut, rate and delay of a host."""
        for plane in self.planes(host):
            ends = self._ends(host, plane)
            ip(*ends[0][:1], "link", "set", ends[0][1], "up")
            for ns, device in ends:
                run(["tc", "-n", ns, "qdisc", "del", "dev", device, "root"], check=False)
        for peer in ["ctl"] + [n for n in self.nodes() if n != host]:
            for ns, device, address in self._pair(host, peer, "mgmt"):
                ip(ns, "neigh", "del", address, "dev", device, check=False)

    def rate(self, host, mbit, plane="mgmt"):
        """Limit both directions of a host's link to `mbit` Mbit/s."""
        for ns, device in self._ends(host, plane):
            run(["tc", "-n", ns, "qdisc", "replace", "dev", device, "root", "tbf", "rate",
                 f"{mbit}mbit", "burst", "128kb", "latency", "200ms"])

    def delay(self, host, ms, plane="mgmt"):
        """Add `ms` milliseconds to each direction; needs the kernel's netem."""
        for ns, device in self._ends(host, plane):
            done = run(["tc", "-n", ns, "qdisc", "replace", "dev", device, "root", "netem",
                        "delay", f"{ms}ms"], check=False)
            if done.returncode != 0:
                raise LabError("this kernel has no netem queue (CONFIG_NET_SCH_NETEM): "
                               "links cannot be delayed here; use rate or cut")

    def describe(self, host):
        """Short facts about a host's links, for `lab status`."""
        facts = {}
        for plane in self.planes(host):
            (ns, device), _ = self._ends(host, plane)
            link = json.loads(ip(ns, "-j", "link", "show", "dev", device).stdout)[0]
            facts[plane] = {"up": "UP" in link["flags"], "queue": link.get("qdisc")}
        return facts


# ---- sockets inside a namespace of the lab --------------------------------

def in_namespace(ns, call):
    """Run call() in a thread that has entered a network namespace; returns what it returns.

    Only that short-lived thread is inside; the caller stays outside.
    """
    if not exists(ns):
        raise LabError(f"the lab is not up (no namespace {ns})")
    results, errors = [], []

    def enter_and_call():
        fd = os.open(settings.NETNS_DIR / ns, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if LIBC.setns(fd, CLONE_NEWNET) != 0:
                raise LabError(f"cannot enter {ns}: {os.strerror(ctypes.get_errno())}")
            results.append(call())
        except (OSError, LabError) as e:
            errors.append(e)
        finally:
            os.close(fd)
    thread = threading.Thread(target=enter_and_call)
    thread.start()
    thread.join()
    if not results:
        raise LabError(f"in {ns}: {errors[0] if errors else 'no result'}")
    return results[0]


def tcp_socket(ns=settings.CONTROLLER_NS, family=socket.AF_INET):
    """An unconnected TCP socket that lives in a lab namespace."""
    return in_namespace(ns, lambda: socket.socket(family, socket.SOCK_STREAM))


def connect(address, port, timeout=2.0, ns=settings.CONTROLLER_NS):
    """A TCP connection from a namespace; raises OSError when refused."""
    sock = tcp_socket(ns, socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.settimeout(timeout)
    try:
        sock.connect((address, port))
    except OSError:
        sock.close()
        raise
    return sock


def http_json(method, address, port, path, body=None, timeout=5.0, ns=settings.CONTROLLER_NS):
    """One request from a namespace; returns (status, decoded JSON or None) or raises OSError."""
    connection = http.client.HTTPConnection(address, port, timeout=timeout)
    connection.sock = connect(address, port, timeout, ns)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        text = response.read()
    except http.client.HTTPException as e:
        raise OSError(f"bad HTTP answer from {address}: {e}") from e
    finally:
        connection.close()
    return response.status, json.loads(text) if text else None


def http_get_json(address, port, path, timeout=5.0, ns=settings.CONTROLLER_NS):
    """GET from a namespace; returns the decoded JSON or raises OSError."""
    status, answer = http_json("GET", address, port, path, None, timeout, ns)
    if status != 200:
        raise LabError(f"GET {path}: HTTP {status}")
    return answer
