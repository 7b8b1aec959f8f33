# SPDX-License-Identifier: LGPL-2.1-or-later
"""OVN as one part of the lab: up, heal, and what tests do with it.

Puts together central.py, ovs.py and ports.py. Not locked by itself: lab.py
holds the lab's lock while it brings OVN up or makes guests.
"""
import concurrent.futures
import contextlib

from . import net, ovncheck, ovnnet, ovs, settings, tls
from .central import KINDS, Central
from .errors import LabError
from .flap import Flap
from .meter import GapMeter
from .ports import VM_KEY, Ports

CLIENT_PORTS = ("client", "client1")


def _in_parallel(calls):
    """Run all; the first error is raised after all have ended."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        for done in [pool.submit(call) for call in calls]:
            done.result()


class Ovn:
    """`hosts` gives the hosts that are up; `links` are the lab's."""

    def __init__(self, hosts, links):
        self._hosts, self._links = hosts, links
        self._flaps = []

    # ---- parts ----------------------------------------------------------------

    @property
    def is_up(self):
        return net.exists(settings.host_ns(settings.OVN_NODE))

    @property
    def central(self):
        if not self.is_up:
            raise LabError("OVN is not up: `lab up --ovn`")
        return Central()

    @property
    def ports(self):
        return Ports(self.central)

    @property
    def nb(self):
        return self.central.nb

    @property
    def sb(self):
        return self.central.sb

    @property
    def northd(self):
        return self.central.northd

    def all_chassis(self):
        """Those of the hosts that are up, and the client's."""
        return [*(ovs.of_host(h) for h in self._hosts()), ovs.Edge()]

    def chassis(self, node):
        """The chassis of a host ('a', 'b', 'c'), or the client's ('edge')."""
        for chassis in self.all_chassis():
            if chassis.node == node:
                return chassis
        raise LabError(f"no chassis {node}; up now: {', '.join(c.node for c in self.all_chassis())}")

    def controller(self, node):
        return self.chassis(node).controller

    def daemons(self):
        """{name: Daemon} of everything that runs: 'nb', 'northd', 'ovn-controller-a' and so on."""
        found = {d.name: d for d in self.central.daemons()}
        for chassis in self.all_chassis():
            found.update({f"{d.name}-{chassis.node}": d for d in chassis.daemons})
        return found

    # ---- where to connect -------------------------------------------------------

    def nb_remotes(self, kind="tcp"):
        """For the controller namespace; kind: tcp, tcp6, ssl or unix. A cluster gives three, by commas."""
        return self.central.nb_remotes(kind)

    def sb_remotes(self, kind="tcp"):
        return self.central.sb_remotes(kind)

    def ovs_remote(self, node):
        return self.chassis(node).remote

    def tls_files(self, case="good"):
        """{ca, cert, key}; case: good, bad-cert (we are refused) or bad-ca (the server is not to be trusted)."""
        return tls.ovn_client_files(case)

    @property
    def client_netns(self):
        return str(settings.NETNS_DIR / settings.CLIENT_NS)

    def client_argv(self, argv):
        """The command line that runs `argv` as the client."""
        if not self.is_up:
            raise LabError("OVN is not up: `lab up --ovn`")
        return ["ip", "netns", "exec", settings.CLIENT_NS, *[str(a) for a in argv]]

    def meter(self, address, interval_ms=20):
        return GapMeter(self.client_argv, address, interval_ms)

    # ---- life ---------------------------------------------------------------------

    def ensure(self):
        """Bring up, or repair, all of OVN; does only what is missing."""
        ovnnet.create_ovn_networks([h.name for h in self._hosts()])
        tls.ensure_ovn()
        chassis = self.all_chassis()
        southbound = self.central.sb_remotes("tcp")
        _in_parallel([self._ensure_central, *(lambda c=c: c.ensure(southbound) for c in chassis)])
        _in_parallel([lambda c=c: c.know_neighbours([o.node for o in chassis]) for c in chassis])
        ovs_edge = next(c for c in chassis if c.node == settings.EDGE_NODE)
        ovs_edge.attach_client(CLIENT_PORTS)
        self._first_sync(chassis)
        for port in CLIENT_PORTS:
            self.ports.wait_bound(port, ovs_edge.name, timeout=30)

    def _first_sync(self, chassis):
        """The barrier; an ovn-controller that died in its first moments, as Debian's does now and then, is started again."""
        for _ in range(3):
            try:
                self.sync(timeout=5)
                return
            except LabError:
                for each in chassis:
                    each.controller.start()
        self.sync()

    def _ensure_central(self):
        self.central.ensure()
        self.ports.ensure_switches()
        for nic, port in enumerate(CLIENT_PORTS):
            own = settings.port_addresses(nic, settings.CLIENT_NUMBER)
            if self.ports.lsp(port) is None:
                self.ports.add(port, own["mac"], [own["ip"], own["ip6"]], own["switch"])

    def sync(self, timeout=30):
        """Wait until every chassis has done what the northbound database says now."""
        self.ports.barrier([c.name for c in self.all_chassis()], timeout)

    def heal(self):
        """Undo every fault: flaps, cuts, hanging or killed daemons, a cluster in place of one server."""
        for flap in self._flaps:
            flap.stop()
        self._flaps.clear()
        for node in self._links.nodes():
            self._links.restore(node)
        for daemon in self.daemons().values():
            daemon.resume()
        self.central.dissolve_cluster()
        self.ensure()

    @contextlib.contextmanager
    def nb_cluster(self):
        """For `with`: the northbound database is a RAFT cluster of three inside the block; the rows stay."""
        central = self.central
        central.form_cluster()
        try:
            self.sync()
            yield central.cluster
        finally:
            central.dissolve_cluster()

    # ---- ports for tests -------------------------------------------------------------

    def lsp_add(self, name, mac, ips, switch=settings.SWITCHES[0][0], external_ids=None, options=None):
        return self.ports.add(name, mac, ips, switch, external_ids, options)

    def lsp_del(self, name):
        self.ports.remove(name)

    def set_options(self, name, **options):
        """set_options(p, requested_chassis="chassis-a", activation_strategy=None): None removes a key."""
        self.ports.set_options(name, {k.replace("_", "-"): v for k, v in options.items()})

    def plug(self, node, iface, lsp):
        """A tap on br-int that carries the port's id, as a guest's would; nobody is behind it."""
        self.chassis(node).plug(iface, lsp)

    def unplug(self, node, iface):
        self.chassis(node).unplug(iface)

    def send_rarp(self, node, iface, mac):
        """What QEMU sends when a guest starts to run there, through a tap that `plug` made."""
        self.chassis(node).send(iface, ovs.broadcast_rarp(mac))

    def flap(self, node, iface, period_ms=50, off_ms=2):
        """Readiness of an interface comes and goes until stop() (or heal, or the end of a `with`)."""
        self._flaps.append(Flap(self.chassis(node), iface, period_ms, off_ms))
        return self._flaps[-1]

    def remove_test_ports(self):
        """Ports and taps that tests made; those of guests and the client stay."""
        for chassis in self.all_chassis():
            chassis.unplug_all()
        for port in self.ports.all():
            if port["name"] not in CLIENT_PORTS and VM_KEY not in port["external_ids"]:
                self.ports.remove(port["name"])

    # ---- looking -----------------------------------------------------------------------

    def lsp(self, name):
        return self.ports.lsp(name)

    def binding(self, name):
        return self.ports.binding(name)

    def interfaces(self, node):
        return self.chassis(node).interfaces()

    def interface_of(self, node, lsp):
        """(name, row) of the interface that carries the port's id there, or (None, None)."""
        for name, row in self.interfaces(node).items():
            if row["iface_id"] == lsp:
                return name, row
        return None, None

    def wait_bound(self, lsp, node, timeout=10):
        self.ports.wait_bound(lsp, self.chassis(node).name, timeout)

    def wait_binding(self, lsp, condition, what, timeout=10):
        return self.ports.wait(lsp, condition, what, timeout)

    def assert_clean(self, lsp, node, pinned=True, timeout=10):
        """No token, no temporary option, no second chassis, no second interface; bound and pinned to `node`.

        pinned=False: requested-chassis may also be absent. node=None: no guest, so bound to nobody.
        """
        chassis = self.chassis(node) if node else None
        ovncheck.assert_none(lambda: ovncheck.complaints(self, lsp, chassis, pinned), timeout)

    def running_on(self, vm_name):
        """The host that has a QEMU of the guest, or None."""
        found = [h.name for h in self._hosts() if h.qemu_pids(vm_name)]
        if len(found) > 1:
            raise LabError(f"guest {vm_name} has a QEMU on {' and '.join(found)}")
        return found[0] if found else None

    def assert_clean_all(self, timeout=10):
        """assert_clean for every port of every guest (pinned or not), and no stray interface anywhere."""
        ovncheck.assert_none(lambda: ovncheck.guests(self, self.running_on), timeout)

    def assert_nothing_left(self, timeout=10):
        """No token, pair or strategy in any port, and no interface anywhere but where its port is."""
        ovncheck.assert_none(lambda: ovncheck.leftovers(self), timeout)

    # ---- ports of guests: for lab.py ----------------------------------------------------

    def add_vm_ports(self, record, pin_to=None):
        options = {"requested-chassis": self.chassis(pin_to).name} if pin_to else {}
        for nic, port in enumerate(record["ports"]):
            self.ports.add(port["lsp"], port["mac"], [port["ip"], port["ip6"]], port["switch"],
                           {VM_KEY: record["name"], "nic": str(nic)}, options)

    def remove_vm_ports(self, record):
        names = [port["lsp"] for port in record["ports"]]
        for chassis in self.all_chassis():
            chassis.remove_interfaces_of(names)
        for name in names:
            self.ports.remove(name)

    def status(self):
        if not self.is_up:
            return None
        return {"daemons": {name: d.state() for name, d in self.daemons().items()},
                "clustered": self.central.clustered,
                "nb": {k: self.nb_remotes(k) for k in KINDS}, "sb": {k: self.sb_remotes(k) for k in KINDS},
                "ovs": {c.node: c.remote for c in self.all_chassis()},
                "chassis": {c.node: c.name for c in self.all_chassis()}, "tls": self.tls_files(),
                "client": self.client_netns, "logs": str(settings.state_dir() / "ovn")}
