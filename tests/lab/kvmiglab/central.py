# SPDX-License-Identifier: LGPL-2.1-or-later
"""OVN's central: northbound and southbound database, northd, and the northbound one as a cluster.

All lives in the namespace kvmig-lab-ovn. Knows nothing of the rows in the
databases (ovn.py).
"""
import contextlib
import os
import re

from . import ovsdb, proc, settings, tls
from .daemons import Daemon
from .errors import LabError

NB, SB = "OVN_Northbound", "OVN_Southbound"
SCHEMAS = {NB: "/usr/share/ovn/ovn-nb.ovsschema", SB: "/usr/share/ovn/ovn-sb.ovsschema"}
MEMBERS = (1, 2, 3)
MEMBER_STEP = 10
RAFT_PORT = 6643
KINDS = ("tcp", "tcp6", "ssl", "unix")
CHANGE_TIMEOUT = 30
# Short, so that there is a new leader before the back-off of those who lost the old one grows.
ELECTION_MS = 500


def _folder():
    return settings.state_dir() / "ovn" / "central"


def _run(argv, check=True):
    folder = _folder()
    return proc.run(["ip", "netns", "exec", settings.host_ns(settings.OVN_NODE), "env",
                     f"OVN_RUNDIR={folder}", f"OVS_RUNDIR={folder}", *argv], check=check)


def _daemon(name, program):
    return Daemon(name, settings.host_ns(settings.OVN_NODE), _run, _folder(), _folder(), program)


def _server(name, port):
    """A database server that listens on a Unix socket, TCP, and TLS for those with a certificate."""
    files = tls.ovn_server_files()
    return _daemon(name, [
        "ovsdb-server", f"--remote=punix:{_folder()}/{name}.sock", f"--remote=ptcp:{port}:[::]",
        f"--remote=pssl:{port + settings.TLS_PORT_OFFSET}:[::]", f"--private-key={files['key']}",
        f"--certificate={files['cert']}", f"--ca-cert={files['ca']}", f"{_folder()}/{name}.db"])


def remote(name, port, kind):
    """How a client reaches a server; `kind` is one of KINDS."""
    if kind == "unix":
        return f"unix:{_folder()}/{name}.sock"
    if kind == "tcp6":
        return f"tcp:[{settings.host_address6(settings.OVN_NODE)}]:{port}"
    if kind not in KINDS:
        raise LabError(f"unknown kind of remote {kind}: use one of {', '.join(KINDS)}")
    offset = settings.TLS_PORT_OFFSET if kind == "ssl" else 0
    return f"{kind}:{settings.host_address(settings.OVN_NODE)}:{port + offset}"


class NbCluster:
    """The northbound database as three servers in a RAFT cluster; members are numbered from 1."""

    def __init__(self):
        self.members = {i: _server(f"nb{i}", self._port(i)) for i in MEMBERS}

    @staticmethod
    def _port(member):
        return settings.NB_PORT + (member - 1) * MEMBER_STEP

    @staticmethod
    def _raft(member):
        return f"tcp:127.0.0.1:{RAFT_PORT + (member - 1) * MEMBER_STEP}"

    def remote(self, member, kind="tcp"):
        return remote(f"nb{member}", self._port(member), kind)

    def remotes(self, kind="tcp"):
        """All members, separated by commas, as OVSDB clients take them."""
        return ",".join(self.remote(i, kind) for i in MEMBERS)

    def socket(self, member):
        return _folder() / f"nb{member}.sock"

    def _status(self, member):
        """The member's own row in its _Server database; None when it does not answer."""
        if self.members[member].state() != "running":
            return None
        with contextlib.suppress(LabError):
            # A member that has not yet joined does not list the database.
            rows = ovsdb.select(self.socket(member), "_Server", "Database", [["name", "==", NB]],
                                ["leader", "connected"], timeout=1)
            return next(iter(rows), None)
        return None

    def leader(self):
        """The number of the member that leads now, or None."""
        for member in MEMBERS:
            status = self._status(member)
            if status and status["leader"] and status["connected"]:
                return member
        return None

    def wait_leader(self, other_than=None, timeout=CHANGE_TIMEOUT):
        """Wait until there is a leader (another one than that); returns its number."""
        def found():
            leader = self.leader()
            return leader if leader != other_than else None
        return proc.wait_until(found, "a leader of the northbound cluster", timeout)

    def _raft_figure(self, member, name):
        """A number out of what a member says of its part in the cluster."""
        return int(re.search(rf"^{name}: (\d+)$", self.members[member].appctl("cluster/status", NB), re.MULTILINE)[1])

    def uncommitted(self, member):
        """How many entries of its log too few other members have: writes that nobody was answered yet."""
        return self._raft_figure(member, "Entries not yet committed")

    def set_election_timer(self, timer_ms):
        """How long a leader without followers stays leader; OVN lets it at most double in one step."""
        leader = self.wait_leader()
        while (now := self._raft_figure(leader, "Election timer")) < timer_ms:
            step = min(2 * now, timer_ms)
            self.members[leader].appctl("cluster/change-election-timer", NB, str(step))
            proc.wait_until(lambda step=step: self._raft_figure(leader, "Election timer") == step,
                            f"election timer {step}", CHANGE_TIMEOUT)

    def kill(self, member):
        self.members[member].kill()

    def start(self, member):
        """Start a killed member and wait until it takes part again."""
        self.members[member].start()
        self._wait_connected(member)

    def _wait_connected(self, member):
        def connected():
            status = self._status(member)
            return status and status["connected"]
        proc.wait_until(connected, f"member {member} of the northbound cluster", CHANGE_TIMEOUT)

    def heal(self):
        for member in self.members.values():
            member.heal()
        self.wait_leader()
        for member in MEMBERS:
            self._wait_connected(member)

    # ---- from and to a single server ----------------------------------------

    def clear(self):
        """Remove all of the cluster, also what a failed change left."""
        for member, daemon in self.members.items():
            daemon.kill()
            for file in _folder().glob(f"nb{member}.db*"):
                file.unlink()

    def form(self, database):
        """Start the cluster with the content of a single server's database file."""
        first, *others = MEMBERS
        _run(["ovsdb-tool", "create-cluster", f"{_folder()}/nb{first}.db", database, self._raft(first)])
        for member in others:
            _run(["ovsdb-tool", "join-cluster", f"{_folder()}/nb{member}.db", NB, self._raft(member),
                  self._raft(first)])
        self.heal()
        self.members[self.wait_leader()].appctl("cluster/change-election-timer", NB, str(ELECTION_MS))

    def dissolve(self, database):
        """End the cluster; its content becomes a single server's database file again."""
        self.heal()
        leader = self.wait_leader()
        for member in self.members.values():
            member.kill()
        fresh = f"{database}.new"
        _run(["rm", "-f", fresh])
        _run(["ovsdb-tool", "cluster-to-standalone", fresh, f"{_folder()}/nb{leader}.db"])
        os.replace(fresh, database)


class Central:
    """`nb`, `sb` and `northd` are daemons; in clustered mode the cluster stands in for `nb`."""

    def __init__(self):
        self.nb = _server("nb", settings.NB_PORT)
        self.sb = _server("sb", settings.SB_PORT)
        self.cluster = NbCluster()

    @property
    def clustered(self):
        return (_folder() / "clustered").exists()

    @property
    def northd(self):
        return _daemon("northd", ["ovn-northd", f"--ovnnb-db={self.nb_remotes('unix')}",
                                  f"--ovnsb-db={self.sb_remotes('unix')}"])

    def nb_remotes(self, kind="tcp"):
        return self.cluster.remotes(kind) if self.clustered else remote("nb", settings.NB_PORT, kind)

    def sb_remotes(self, kind="tcp"):
        return remote("sb", settings.SB_PORT, kind)

    def nb_socket(self):
        return self.cluster.socket(self.cluster.wait_leader()) if self.clustered else _folder() / "nb.sock"

    def sb_socket(self):
        return _folder() / "sb.sock"

    def daemons(self):
        members = self.cluster.members.values() if self.clustered else [self.nb]
        return [*members, self.sb, self.northd]

    def ensure(self):
        """Bring up, or repair, what belongs to the present mode."""
        _folder().mkdir(parents=True, exist_ok=True)
        for server, database in ((self.nb, NB), (self.sb, SB)):
            file = _folder() / f"{server.name}.db"
            if not file.exists():
                ovsdb.create_file(_run, file, SCHEMAS[database])
        self.sb.heal()
        if self.clustered:
            self.cluster.heal()
        else:
            self.cluster.clear()
            self.nb.heal()
        for tool, remotes in (("ovn-nbctl", self.nb_remotes("unix")), ("ovn-sbctl", self.sb_remotes("unix"))):
            _run([tool, f"--db={remotes}", "--timeout=10", "init"])
        self.northd.heal()

    def form_cluster(self):
        """Turn the single northbound server into three; the rows stay."""
        if self.clustered:
            return
        self.northd.kill()
        self.nb.kill()
        self.cluster.clear()
        self.cluster.form(_folder() / "nb.db")
        (_folder() / "clustered").touch()
        self.northd.start()

    def dissolve_cluster(self):
        """Back to a single server; what was written meanwhile stays."""
        if not self.clustered:
            return
        self.northd.kill()
        self.cluster.dissolve(_folder() / "nb.db")
        (_folder() / "clustered").unlink()
        self.cluster.clear()
        self.nb.start()
        self.northd.start()
