# SPDX-License-Identifier: LGPL-2.1-or-later
"""Running `kvmig port` in the lab, and ports without a guest.

A PortTool speaks for one migration: all its runs use one owner token, each in a process of its own. A TestPort is a
logical port with a tap on one or both hosts, so that claims and activation are OVN's own although no guest is there.
"""
import json
import uuid

from migration import BUILD, Running

OK, FAILED, REFUSED, UNREACHABLE = 0, 1, 3, 6
SOURCE, TARGET = "kvmig-a", "kvmig-b"


def database_options(ovn, kind="tcp", sb=True, ovs=("a", "b"), tls_case="good"):
    """The options of `kvmig` that name the lab's databases."""
    options = ["--ovn-nb", ovn.nb_remotes(kind)]
    if sb:
        options += ["--ovn-sb", ovn.sb_remotes(kind)]
    for host in ovs:
        options += ["--ovs", f"{ovn.chassis(host).name}={ovn.ovs_remote(host)}"]
    if kind == "ssl":
        files = ovn.tls_files(tls_case)
        options += ["--ovn-ca", files["ca"], "--ovn-cert", files["cert"], "--ovn-key", files["key"]]
    return [str(o) for o in options]


class PortRun:
    """A finished `kvmig port`."""

    def __init__(self, running, timeout):
        self.code = running.wait_end(timeout)
        self.stderr = running.stderr
        lines = running.of_type("port")
        self.events = [line for line in lines if "port_state" in line]
        documents = [line for line in lines if "timeline" in line]
        self.port = documents[-1] if documents else None

    @property
    def state(self):
        return self.port["state"]

    def notes(self, what=None):
        return [n for n in self.port["timeline"] if what is None or n["what"] == what]

    def at_ms(self, what):
        """When the timeline says so for the first time."""
        return self.notes(what)[0]["at_ms"]

    def error(self):
        """Everything that was said about a failure, in one text."""
        return json.dumps([e.get("error") for e in self.events]) + self.stderr


class PortTool:
    """`kvmig port` with one owner token on one port (or on all ports of a VM)."""

    def __init__(self, lab, ovn, lsp, owner=None, databases=None, match=None):
        self.lab, self.ovn, self.lsp = lab, ovn, lsp
        self.owner = owner or f"test-{uuid.uuid4()}"
        self.databases = databases if databases is not None else database_options(ovn)
        self.which = ["--match", match] if match else ["--lsp", lsp]

    def argv(self, verb, *args):
        token = [] if verb == "gc" else ["--owner", self.owner]
        return self.lab.ctl_argv([BUILD / "kvmig", "port", verb, *self.which, *token, *self.databases, "--json",
                                  *map(str, args)])

    def start(self, verb, *args):
        """Returns while it runs; `finish` waits for its end."""
        return Running(self.argv(verb, *args))

    def finish(self, running, timeout=90):
        return PortRun(running, timeout)

    def run(self, verb, *args, timeout=90):
        return self.finish(self.start(verb, *args), timeout)

    def ok(self, verb, *args):
        run = self.run(verb, *args)
        assert run.code == OK, run.error()
        return run

    def prepare(self, *args, source=SOURCE, target=TARGET):
        return self.run("prepare", "--source", source, "--target", target, *args)

    def verify(self, *args):
        return self.run("verify", *args)

    def converge(self, winner=TARGET, *args):
        return self.run("converge", "--winner", winner, *args)

    def rollback(self, *args):
        return self.run("rollback", *args)

    def gc(self, winner, *args):
        return self.run("gc", "--winner", winner, *args)


class TestPort:
    """A logical port of its own, plugged on host a."""
    __test__ = False

    def __init__(self, ovn, number, pin="chassis-a", plugged=("a",)):
        self.ovn = ovn
        self.name = f"port{number}"
        self.mac = f"52:54:00:97:00:{number:02x}"
        self.iface = f"tap-port{number}"
        options = {"requested-chassis": pin} if pin else {}
        self.uuid = ovn.lsp_add(self.name, self.mac, [f"10.97.0.{number}"], options=options)
        for host in plugged:
            self.plug(host)
        if plugged:
            ovn.wait_bound(self.name, plugged[0])

    def plug(self, host):
        self.ovn.plug(host, self.iface, self.name)

    def unplug(self, host):
        self.ovn.unplug(host, self.iface)

    def announce(self, host="b"):
        self.ovn.send_rarp(host, self.iface, self.mac)

    def options(self):
        return self.ovn.lsp(self.name)["options"]

    def tokens(self):
        return {k: v for k, v in self.ovn.lsp(self.name)["external_ids"].items() if k.startswith("kvmig-")}

    def assert_extended(self):
        assert self.options()["requested-chassis"].split(",")[1:], self.options()
        assert self.options()["activation-strategy"] == "rarp"
        assert self.tokens()

    def assert_untouched(self, requested):
        assert self.options().get("requested-chassis") == requested, self.options()
        assert "activation-strategy" not in self.options()
        assert not self.tokens()

    def wait_claimed(self, host="b"):
        name = self.ovn.chassis(host).name
        return self.ovn.wait_binding(self.name, lambda b: name in b["additional"], f"claim of {host}")

    def assert_clean(self, host, unplug=("a", "b")):
        """I4: the port is where the guest is, alone; whatever else this port had is taken away before looking."""
        for other in unplug:
            if other != host:
                self.unplug(other)
        self.ovn.assert_clean(self.name, host)
