# SPDX-License-Identifier: LGPL-2.1-or-later
"""The lab's Kubernetes cluster: a real API server, KubeVirt's controllers simulated, and the lab's hosts as its nodes.

Everything listens on the controller namespace's loopback and ends with the lab. Guests run on real libvirt; what the
simulator wants done on a host is done by agent.py.
"""
import contextlib
import os
import shutil
import subprocess
import time

from . import cni, kubeobjects, net, proc, settings, storage, vm
from .agent import claim_path
from .errors import LabError
from .kubeapi import ApiError, KubeApi
from .kubeobjects import NAMESPACE

BUILD_TIMEOUT = 1800
CONTROL = "127.0.0.1:16480"
# As long as a copy needs under emulation; the simulator's time scale shortens these, too.
LIMITS = {"completionTimeoutPerGiB": 6000, "progressTimeout": 6000}
OWNER_MARK = "kvmig/session"
FINAL = ("Succeeded", "Failed")


def build():
    """The program; built once and cached by its sources."""
    given = os.environ.get("KVMIG_KUBE")
    if given:
        return given
    path = settings.cache_dir() / "kvmig-kube"
    path.parent.mkdir(parents=True, exist_ok=True)
    proc.run([settings.SOURCE_DIR / "kube" / "build", path], timeout=BUILD_TIMEOUT)
    return str(path)


class Kube:
    """`lab` gives hosts, OVN and guests. A cluster is made anew by up() and gone with down()."""

    def __init__(self, lab):
        self._lab = lab
        self._processes, self._time_scale, self._real = {}, 1.0, True
        self.folder = settings.state_dir() / "kube"
        self.api = KubeApi(self.folder)
        self.controller_api = KubeApi(self.folder, "kubevirt-controller")

    def hosts(self):
        """The nodes: a third host, which other tests may have made, is none of them."""
        return self._lab.hosts()[:2]

    # ---- life -----------------------------------------------------------------

    def kubeconfig(self, user="admin"):
        return self.folder / f"{user}.kubeconfig"

    def _start(self, name, *words):
        log = open(self.folder / f"{name}.log", "ab")
        self._processes[name] = subprocess.Popen(self._lab.ctl_argv([build(), *words]), stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=subprocess.STDOUT)
        log.close()

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def _serving(self):
        if self._processes["api"].poll() is not None:
            raise LabError(f"the API server ended: {self.log('api')[-2000:]}")
        with contextlib.suppress(OSError, LabError):
            return self.api.list("nodes") is not None
        return False

    def up(self, time_scale=1.0, real=True):
        """Start server and simulator, and make the nodes. Not `real`: nothing is done on the hosts, time passes instead."""
        shutil.rmtree(self.folder, ignore_errors=True)  # of a cluster before
        self.folder.mkdir(parents=True)
        self._start("api", "api", "--data", self.folder)
        proc.wait_until(self._serving, "the Kubernetes API", 60, step=0.1)
        self.api.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for body in kubeobjects.tenancy():
            self.api.create("rolebindings", body, NAMESPACE)
        made = self.controller_api.create("kubevirts", kubeobjects.kubevirt(), "kubevirt")
        made["status"] = kubeobjects.kubevirt()["status"]
        self.controller_api.request("PUT", self.api.path("kubevirts", "kubevirt", "kubevirt", "status"), made)
        self.configure()
        for host in self.hosts():
            self.api.create("nodes", kubeobjects.node(host))
        self._time_scale, self._real = time_scale, real
        self._start_simulator(time_scale)

    def compact(self):
        """The server forgets all versions but the last: who goes on from an older one gets 410."""
        return self.api.request("POST", "/kvmig/compact")

    def _start_simulator(self, time_scale):
        agent = ["--agent", settings.SOURCE_DIR / "kube-agent"] if self._real else []
        self._start("sim", "sim", "--kubeconfig", self.kubeconfig("kubevirt-controller"), "--time-scale", str(time_scale),
                    "--control", CONTROL, *agent)
        proc.wait_until(self._simulating, "the simulator", 30, step=0.1)

    def _simulating(self):
        if self._processes["sim"].poll() is not None:
            raise LabError(f"the simulator ended: {self.log('sim')[-2000:]}")
        with contextlib.suppress(OSError, LabError):
            return self.control("GET", "/acts") is not None
        return False

    @contextlib.contextmanager
    def real_time(self):
        """For `with`: KubeVirt's limits last as long as they say, so that a client can compute with them."""
        self._stop("sim")
        self._start_simulator(1.0)
        try:
            yield
        finally:
            self._stop("sim")
            self._start_simulator(self._time_scale)

    def start_proxy(self, *options):
        return Proxy(self, *options)

    def _stop(self, name):
        process = self._processes.pop(name, None)
        if process is None:
            return
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(15)

    def stop_proxy(self):
        self._stop("proxy")

    def down(self):
        for name in ("proxy", "sim", "api"):
            self._stop(name)

    def configure(self, **migrations):
        """spec.configuration.migrations of KubeVirt, anew."""
        path = self.api.path("kubevirts", "kubevirt", "kubevirt")
        patch = [{"op": "add", "path": "/spec/configuration/migrations", "value": {**LIMITS, **migrations}}]
        self.api.request("PATCH", path, patch, "application/json-patch+json")

    def reset(self):
        """What a test may have changed, as it was; ended migrations are forgotten, and with them KubeVirt's back-off."""
        self.control("DELETE", "/acts")
        self.configure()
        for host in self.hosts():
            self.api.patch("nodes", {"spec": {"unschedulable": None, "taints": None}}, name=host.hostname)
        for vmi in self.api.list("vmi", NAMESPACE):  # or the evacuation of a test that failed is followed by another one
            if vmi["status"].get("evacuationNodeName"):
                self.api.patch("vmi", {"status": {"evacuationNodeName": None}}, NAMESPACE, vmi["metadata"]["name"])
        for kind in ("resourcequotas", "vmim"):
            for left in self.api.list(kind, NAMESPACE):
                self.api.delete(kind, NAMESPACE, left["metadata"]["name"])
        proc.wait_until(lambda: not self.api.list("vmim", NAMESPACE), "the end of all migrations", 60, step=0.1)
        for pod in self.api.list("pods", NAMESPACE):
            if pod["status"]["phase"] in FINAL:
                self.api.delete("pods", NAMESPACE, pod["metadata"]["name"])
        self.beat()

    # ---- what must not be left ----------------------------------------------------

    def left_objects(self):
        """Complaints about what a session may leave behind in the API."""
        return list(self._left_objects())

    def _left_objects(self):
        for m in self.api.list("vmim", NAMESPACE):
            if m.get("status", {}).get("phase") not in FINAL:
                yield f"migration {m['metadata']['name']} is in phase {m.get('status', {}).get('phase')}"
        for p in self.api.list("migrationpolicies"):
            if OWNER_MARK in p["metadata"].get("annotations", {}):
                yield f"migration policy {p['metadata']['name']}"
        for v in [*self.api.list("vmi", NAMESPACE), *self.api.list("vm", NAMESPACE)]:
            if OWNER_MARK in v["metadata"].get("labels", {}):
                yield f"label {OWNER_MARK} of {v['kind']} {v['metadata']['name']}"
            if v["kind"] == "VirtualMachineInstance":
                yield from self._left_of(v["metadata"]["name"])

    def _left_of(self, name):
        alive = [p["metadata"]["name"] for p in self.pods(name) if p["status"]["phase"] not in FINAL
                 and p["metadata"]["labels"].get("kubevirt.io") == "virt-launcher"]
        if len(alive) != 1:
            yield f"{len(alive)} launcher pods of VMI {name}: {', '.join(alive)}"

    def _left_on_hosts(self):
        for host in self.hosts():
            running = [n for n in vm.names() if host.qemu_pids(n)]
            taps = {port["tap"] for n in running for port in vm.load_record(n)["ports"]}
            for tap in cni.taps(host.ns):
                if tap not in taps:
                    yield f"tap {tap} on host {host.name}"

    def leftovers(self):
        """Complaints about what a migration may leave behind."""
        return [*self._left_objects(), *self._left_on_hosts()]

    # ---- guests -----------------------------------------------------------------

    def beat(self):
        """Heartbeats, which KubeVirt's node agents would write every minute or two."""
        for host in self.hosts():
            self.api.patch("nodes", {"metadata": {"annotations": {"kubevirt.io/heartbeat": kubeobjects.now()}}},
                           name=host.hostname)

    def change_nodes(self):
        """The kubelets offer a little more or less memory than before."""
        for host in self.hosts():
            have = self.api.get("nodes", name=host.hostname)["status"]["allocatable"]["memory"]
            less = "16000Mi" if have != "16000Mi" else "16100Mi"
            self.api.patch("nodes", {"status": {"allocatable": {"memory": less}}}, name=host.hostname, sub="status")

    def add_claim(self, name, size, shared, path, hostname=None):
        self.api.create("pv", kubeobjects.volume(name, size, shared, path, hostname))
        claim = kubeobjects.claim(name, size, shared)
        made = self.api.create("pvc", claim, NAMESPACE)
        made["status"] = claim["status"]
        self.api.request("PUT", self.api.path("pvc", NAMESPACE, name, "status"), made)

    def add_local_claim(self, name, size, host):
        """A claim on the local storage of that host; its image is made when a migration prepares it."""
        self.add_claim(name, size, False, claim_path(name), host.hostname)

    def remove_claim(self, name):
        self.api.delete("pvc", NAMESPACE, name)
        self.api.delete("pv", name=f"pv-{name}")

    def claim_of(self, name, volume):
        """The claim that the VM says to use for a volume."""
        volumes = self.api.get("vm", NAMESPACE, name)["spec"]["template"]["spec"]["volumes"]
        return next(v["persistentVolumeClaim"]["claimName"] for v in volumes if v["name"] == volume)

    def add_full_quota(self, name):
        """A quota of pods that has no room for another one, with the status that Kubernetes' controller would give it."""
        used = len([p for p in self.api.list("pods", NAMESPACE) if p["status"]["phase"] not in FINAL])
        amounts = {"pods": str(used)}
        made = self.api.create("resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": amounts},
                                                  "metadata": {"name": name, "namespace": NAMESPACE}}, NAMESPACE)
        made["status"] = {"hard": amounts, "used": amounts}
        self.api.request("PUT", self.api.path("resourcequotas", NAMESPACE, name, "status"), made)

    def _claims(self, record, host):
        names = []
        for i, disk in enumerate(record["disks"]):
            names.append(kubeobjects.claim_name(record["name"], i))
            self.add_claim(names[-1], disk["size"], disk["kind"] == "shared", disk["path"], host.hostname)
        return names

    def create_vm(self, name, host="a", memory=128, disks=("shared:8M",), write_rate=20, wait=True, service=True):
        """A guest that KubeVirt knows: VM, VMI and claims in the API, its pod and its real guest by the simulator's hand."""
        on = self._lab.host(host)
        self.beat()
        record = vm.plan(name, memory, disks, write_rate, "cni")
        made = vm.Vm(record, self._lab.hosts)
        self._lab.ovn.add_vm_ports(record, host)
        made.save()
        for disk in record["disks"]:
            storage.create_disk(disk, on, self.hosts())
        claims = self._claims(record, on)
        if service:
            self.api.create("services", kubeobjects.service(name), NAMESPACE)
        self.controller_api.create("vm", kubeobjects.vm(record, claims, on.hostname), NAMESPACE)
        self.wait_vmi(name, lambda v: v["status"].get("phase") == "Running", "running", 60)
        if wait:
            made.wait_ready()
        return made

    def create_machine(self, name, host):
        """A VM that only the API knows, for clusters that are not real."""
        record = {"name": name, "memory": 128, "mac": "52:54:00:00:00:01"}
        self.controller_api.create("vm", kubeobjects.vm(record, [], self._lab.host(host).hostname), NAMESPACE)
        self.wait_vmi(name, lambda v: v["status"].get("phase") == "Running", "running", 60)

    def ensure_vm(self, name, **options):
        """The guest of that name as it is; made (anew) if it is not there or does not answer."""
        if name in vm.names():
            made = vm.Vm(vm.load_record(name), self._lab.hosts)
            with contextlib.suppress(OSError, LabError, TypeError):
                if self.vmi(name)["status"]["phase"] == "Running" and made.dirty(0, 0):
                    return made
        self.destroy_vm(name)
        return self.create_vm(name, **options)

    def destroy_vm(self, name):
        """Everything of a guest, whatever state it is in; it is no error when there is none."""
        for migration in self.migrations(name):
            self.drop_finalizers("vmim", migration["metadata"]["name"])
            self.api.delete("vmim", NAMESPACE, migration["metadata"]["name"])
        for kind in ("vm", "vmi", "services"):
            with contextlib.suppress(ApiError):
                self.drop_finalizers(kind, name)
            self.api.delete(kind, NAMESPACE, name)
        for found in self.api.list("endpointslices", NAMESPACE, labelSelector=f"kubernetes.io/service-name={name}"):
            self.api.delete("endpointslices", NAMESPACE, found["metadata"]["name"])
        for pod in self.api.list("pods", NAMESPACE, labelSelector=f"vmi.kubevirt.io/id={name}"):
            self.api.delete("pods", NAMESPACE, pod["metadata"]["name"])
        if name not in vm.names():
            return
        guest = vm.Vm(vm.load_record(name), self._lab.hosts)
        for i, _ in enumerate(guest.disks):
            claim = kubeobjects.claim_name(name, i)
            self.api.delete("pvc", NAMESPACE, claim)
            self.api.delete("pv", name=f"pv-{claim}")
        guest.destroy()
        for host in self.hosts():
            for port in guest.ports:
                self._lab.ovn.chassis(host.name).unplug(port["tap"])
        self._lab.ovn.remove_vm_ports(guest.record)

    def destroy_all(self):
        for found in self.api.list("vm", NAMESPACE):
            self.destroy_vm(found["metadata"]["name"])

    def drop_finalizers(self, kind, name):
        found = self.api.get(kind, NAMESPACE, name)
        if found and found["metadata"].get("finalizers"):
            self.controller_api.patch(kind, {"metadata": {"finalizers": None}}, NAMESPACE, name)

    # ---- facts --------------------------------------------------------------------

    def vmi(self, name):
        return self.api.get("vmi", NAMESPACE, name)

    def wait_vmi(self, name, condition, what, timeout=30):
        def fulfilled():
            found = self.vmi(name)
            return found if found and found.get("status") and condition(found) else None
        return proc.wait_until(fulfilled, f"VMI {name}: {what}", timeout, step=0.1)

    def host_of(self, name):
        """The lab's name of the host that the VMI runs on."""
        node = self.vmi(name)["status"]["nodeName"]
        return next(h.name for h in self.hosts() if h.hostname == node)

    def pods(self, name):
        """Pods of a VMI, ended ones too."""
        uid = self.vmi(name)["metadata"]["uid"]
        return self.api.list("pods", NAMESPACE, labelSelector=f"kubevirt.io/created-by={uid}")

    def only_launcher(self, name):
        """The launcher pod of the guest, or None while there is not exactly one that has not ended."""
        alive = [p for p in self.pods(name) if p["metadata"].get("labels", {}).get("kubevirt.io") == "virt-launcher"
                 and p["status"]["phase"] in ("Pending", "Running")]
        return alive[0] if len(alive) == 1 else None

    def ready_pods(self, service):
        """Names of the pods that a service leads to."""
        slices = self.api.list("endpointslices", NAMESPACE, labelSelector=f"kubernetes.io/service-name={service}")
        return sorted(e["targetRef"]["name"] for s in slices for e in s.get("endpoints") or []
                      if e.get("conditions", {}).get("ready"))

    def migrations(self, name):
        """VMIMs of a VMI, oldest first."""
        found = [m for m in self.api.list("vmim", NAMESPACE) if m["spec"].get("vmiName") == name]
        return sorted(found, key=lambda m: m["metadata"]["creationTimestamp"])

    def post_migration(self, vmi, name, **spec):
        """As another client would: a VMIM of that name."""
        body = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
                "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"vmiName": vmi, **spec}}
        return self.api.create("vmim", body, NAMESPACE)

    def migration(self, name):
        """The VMIM of that name, or None."""
        return self.api.get("vmim", NAMESPACE, name)

    def phase_of(self, name):
        """The phase of a VMIM; None while it has none, or when there is no such VMIM."""
        return (self.migration(name) or {}).get("status", {}).get("phase")

    def wait_phase(self, name, phase, timeout=30):
        proc.wait_until(lambda: self.phase_of(name) == phase, f"migration {name}: {phase}", timeout, step=0.1)

    def wait_deleting(self, name):
        proc.wait_until(lambda: "deletionTimestamp" in self.migration(name)["metadata"], f"deletion of {name}", 30, step=0.1)

    def wait_gone(self, name, timeout=30):
        proc.wait_until(lambda: self.migration(name) is None, f"end of {name}", timeout, step=0.1)

    def control(self, method, path, body=None):
        """The simulator's control endpoint (kube/sim/README.md)."""
        host, port = CONTROL.split(":")
        status, answer = net.http_json(method, host, int(port), path, body)
        if not 200 <= status < 300:
            raise LabError(f"simulator: {method} {path}: HTTP {status}: {answer}")
        return answer

    @contextlib.contextmanager
    def act(self, kind, **about):
        """For `with`: a fault or delay of the simulator that lasts."""
        made = self.control("POST", "/acts", {"kind": kind, **about})["id"]
        try:
            yield made
        finally:
            self.control("DELETE", f"/acts/{made}")


class Proxy:
    """The fault proxy in front of the API server (kube/README.md); up with the cluster, and gone with it."""

    def __init__(self, kube, *options):
        self._kube, self._folder = kube, kube.folder / "proxy"
        self._kube.stop_proxy()
        self._seen = len(self._lines())
        kube._start("proxy", "proxy", "--data", kube.folder, *options)  # noqa: SLF001
        line = proc.wait_until(self._ready, "the proxy", 30, step=0.05)
        self._control = line.split()[-1].removeprefix("http://").split(":")

    def _lines(self):
        try:
            return [line for line in self._kube.log("proxy").splitlines() if line.startswith("kvmig-kube: ready")]
        except FileNotFoundError:
            return []

    def _ready(self):
        return next(iter(self._lines()[self._seen:]), None)

    def kubeconfig(self, user):
        return self._folder / f"{user}.kubeconfig"

    def call(self, method, path, body=None):
        status, answer = net.http_json(method, self._control[0], int(self._control[1]), path, body)
        if not 200 <= status < 300:
            raise LabError(f"proxy: {method} {path}: HTTP {status}: {answer}")
        return answer

    def fault(self, kind, count=0, **about):
        """Adds a fault for `count` requests (0: all); returns its number."""
        match = {k: about.pop(k) for k in ("methods", "path", "watch") if k in about}
        return self.call("POST", "/faults", {"kind": kind, "count": count, "match": match, **about})["id"]

    def hits(self, fault):
        return next(f["hits"] for f in self.call("GET", "/faults") if f["id"] == fault)

    def heal(self):
        """Takes all faults away; whoever is held by one goes on."""
        self.call("DELETE", "/faults")

    def cut(self):
        """Cuts all connections, once."""
        self.call("POST", "/cut")

    def requests(self):
        return self.call("GET", "/requests")
