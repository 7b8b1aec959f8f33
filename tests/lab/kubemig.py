# SPDX-License-Identifier: LGPL-2.1-or-later
"""Running the tool on the lab's Kubernetes cluster, and the proofs about guests that KubeVirt migrates there.

A KubeTool is the tool as one user of the cluster. A KubeGuest remembers what a guest was like before, and proves afterwards
where it is; what must not be left behind, whatever the test was, is asserted by the fixture `kube`.
"""
import contextlib
import json

from kvmiglab import proc, settings
from kvmiglab.kubeobjects import NAMESPACE
from migration import BUILD, SUCCESS, CopyWatch, Guest, Migration, Running, Tool, wait_gone
from port import database_options

HTTP = settings.GUEST_HTTP_PORT


def full_name(vm):
    return f"{NAMESPACE}/{vm if isinstance(vm, str) else vm.name}"


class KubeTool(Tool):
    """`kvmig` with the kubeconfig of a user; `through` is a proxy in front of the server (kvmiglab/kube.py)."""

    def __init__(self, lab, kube, user="migrator", through=None):
        super().__init__(lab)
        self.kube, self.ovn = kube, lab.ovn
        self.kubeconfig = through.kubeconfig(user) if through else kube.kubeconfig(user)

    def _argv(self, command, *args, hosts=None):
        return self.lab.ctl_argv([BUILD / "kvmig", command, "--kubeconfig", self.kubeconfig, *args])

    def run_local(self, command, *args, timeout=60):
        """A command that asks no cluster."""
        done = proc.run(self.lab.ctl_argv([BUILD / "kvmig", command, *args]), check=False, timeout=timeout)
        return done.returncode, done.stdout, done.stderr

    def on_files(self, command, *args):
        """A command on files: (exit code, JSON)."""
        code, out, _ = self.run_local(command, *args, "--json")
        return code, json.loads(out)

    # ---- migrations -------------------------------------------------------------

    def port(self, vm, *extra):
        """The options that take the guest's port along."""
        return ["--port", f"ovn:{vm.lsp}", *database_options(self.ovn), *map(str, extra)]

    def probe(self, vm):
        return ["--probe", f"tcp:{vm.ip}:{HTTP}", "--probe-netns", self.ovn.client_netns]

    def node_hosts(self):
        """The options that name the libvirt of the nodes."""
        return [word for host in self.kube.hosts() for word in ("--node-host", host.uri)]

    def start(self, vm, *options, source=None):
        """A `kvmig migrate` of the guest, which runs on host `source` (default: where its VMI is)."""
        source = source or self.kube.host_of(vm.name)
        watch = CopyWatch(vm.name, self.lab.host(source), self.lab.host(other(source)))
        migration = KubeMigration(self._argv("migrate", full_name(vm), "--json", *options), watch)
        self._running.append(migration)
        return migration

    def begin(self, name, *options):
        """A `kvmig migrate` of a VM that only the API knows."""
        migration = KubeMigration(self._argv("migrate", full_name(name), "--json", *options), None)
        self._running.append(migration)
        return migration

    def follow(self, name, *options):
        """A whole `begin`: (exit code, report)."""
        migration = self.begin(name, *options)
        code = migration.wait_end()
        return code, (migration.of_type("report") or [migration.stderr])[-1]

    def migrate(self, vm, *options, expect=SUCCESS):
        migration = self.start(vm, *options)
        code, report = migration.finish()
        assert code == expect, f"exit {code}: {migration.events[-4:]} {migration.stderr}"
        return report

    def watch(self, *options):
        """A `kvmig watch` that follows the cluster: it tells how the nodes change meanwhile."""
        running = Running(self._argv("watch", "--json", *options))
        self._running.append(running)

        def heard():
            self.kube.change_nodes()
            return running.of_type("cluster-changed")
        wait_gone(heard, "the watch to tell of a changed node", 40)
        return running

    def close(self):
        """What a failed test has left running is cancelled, so that the next one finds the guest whole."""
        for running in self._running:
            if running.running():
                running.cancel()
                with contextlib.suppress(AssertionError):
                    running.wait_end(20)
        super().close()

    # ---- looking ------------------------------------------------------------------

    def explain(self, vm, *options):
        code, answer = self.json("explain", full_name(vm), *options)
        assert code == SUCCESS, answer
        return answer

    def explained(self, vm, *codes, about="", timeout=20):
        """Asks until the explanation has one of these codes (`about` an object of that name); returns that wait."""
        answers = []

        def found():
            answers.append(self.explain(vm))
            return next((w for w in answers[-1]["waits"] if w["code"] in codes and about in w["object"]), None)
        try:
            return wait_gone(found, f"explanation {' or '.join(codes)}", timeout)
        except AssertionError as e:
            said = {json.dumps([w["code"] for w in a["waits"]]): a for a in answers}
            raise AssertionError(f"{e}; but {list(said.values())}") from None

    def plan(self, vm, *options):
        return self.json("plan", full_name(vm), *options)[1]


class KubeMigration(Migration):
    """A `kvmig migrate` on the cluster."""

    @property
    def vmim(self):
        """Name of its migration object."""
        def named(event):
            return (event.get("token") or {}).get("migration", {}).get("name")
        return self.wait_for(named, "a token with the migration's name")["token"]["migration"]["name"]

    def wait_wait(self, *codes, timeout=60):
        """The first event that tells of a wait with one of these codes."""
        return self.wait_for(lambda e: e.get("type") == "wait" and e["finding"]["code"] in codes,
                             f"wait {' or '.join(codes)}", timeout)


def other(host):
    return "b" if host == "a" else "a"


class KubeGuest(Guest):
    """A guest that KubeVirt runs, as it was before."""

    def __init__(self, lab, kube, vm):
        super().__init__(lab, vm, at=kube.host_of(vm.name))
        self.kube = kube
        self.source, self.target = self.at, other(self.at)

    def assert_moved(self):
        """One running copy, on the target; KubeVirt says the same, and the service leads there."""
        self.assert_at(self.target)

    def assert_stayed(self):
        self.assert_at(self.source)

    def assert_at(self, at):
        self.assert_running(at)
        assert self.kube.host_of(self.vm.name) == at
        away = other(at)
        wait_gone(lambda: self.vm.states()[away] is None, "the other copy's end")
        pod = wait_gone(lambda: self.kube.only_launcher(self.vm.name), "the end of all but one launcher")
        assert pod["spec"]["nodeName"] == self.lab.host(at).hostname
        wait_gone(lambda: self.kube.ready_pods(self.vm.name) == [pod["metadata"]["name"]],
                  "the service leads to the guest's pod alone")


@contextlib.contextmanager
def copying_for_ever(kube, vm):
    """For `with`: a copy of the guest does not end by itself."""
    kube.configure(bandwidthPerMigration="32Mi")
    vm.dirty(40, 200)
    try:
        yield
    finally:
        kube.configure()
        vm.dirty(0, 0)
