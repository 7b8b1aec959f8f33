# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the KubeVirt simulator has done on the lab's hosts: plugging pods, and running, moving and ending their guests.

One act per call, each blocks until it is done; the protocol is the simulator's (kube/sim/README.md). A VMI is the guest of
that name; a node is the host whose host name it has. Claims are files: see claim_path().
"""
import contextlib
import fcntl
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from . import cni, ovs, proc, settings, storage, vm
from .errors import LabError
from .kubeapi import KubeApi

ABORTED = 2
POLL_S = 0.3
JOB_FIGURES = {"Data processed": "processed", "Data remaining": "remaining", "Data total": "total"}
FACTORS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def claim_path(claim):
    """Where the image of a claim on node-local storage lies, on every host."""
    return f"{settings.PRIVATE}/{claim}.img"


class Agent:
    """`lab` gives the hosts."""

    def __init__(self, lab):
        self._lab = lab

    def _host(self, node):
        for host in self._lab.hosts():
            if host.hostname == node:
                return host
        raise LabError(f"node {node} is no host of the lab")

    def _api(self):
        return KubeApi(settings.state_dir() / "kube")

    # ---- network: the pods of a guest, at most one on each host -------------------

    @staticmethod
    def _pod_file(host, vmi):
        """Holds the name of the pod that has the guest's network there; removed with the guest."""
        return settings.state_dir() / "vms" / f"{vmi}.{host.name}.pod"

    @contextlib.contextmanager
    def _alone(self, host, vmi):
        """For `with`: no other act changes the guest's network there; the acts of two pods of one guest may meet."""
        with open(settings.state_dir() / "vms" / f"{vmi}.{host.name}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def plug(self, node, _namespace, vmi, pod):
        host, record = self._host(node), vm.load_record(vmi)
        chassis = ovs.of_host(host)
        with self._alone(host, vmi):
            self._pod_file(host, vmi).write_text(pod)
            for port in record["ports"]:
                cni.plug(chassis, port)
        try:
            for port in record["ports"]:
                cni.wait_ready(chassis, port)
        except LabError:
            with self._alone(host, vmi):
                self._drop_network(host, record, pod)  # as a CNI does when it could not connect a pod
            raise
        return {"ip": record["ip"]}

    def unplug(self, node, _namespace, vmi, pod):
        """A pod that has ended takes its network and its QEMU with it."""
        host = self._host(node)
        with self._alone(host, vmi):
            if self._has_network(host, vmi, pod):
                proc.kill_and_wait(host.qemu_pids(vmi))
            self._drop_network(host, vm.load_record(vmi), pod)
        return {}

    def _has_network(self, host, vmi, pod):
        file = self._pod_file(host, vmi)
        return file.exists() and file.read_text() == pod

    def _drop_network(self, host, record, pod):
        """Unless another pod has it by now."""
        if not self._has_network(host, record["name"], pod):
            return
        for port in record["ports"]:
            cni.unplug(ovs.of_host(host), port)
        self._pod_file(host, record["name"]).unlink()

    # ---- guests -----------------------------------------------------------------

    def start(self, node, _namespace, vmi, _pod):
        host = self._host(node)
        if host.domain_state(vmi) is None:
            text = (settings.state_dir() / "vms" / f"{vmi}.xml").read_text()
            Path(host.inside(f"/run/{vmi}.xml")).write_text(text)
            host.virsh("create", f"/run/{vmi}.xml", timeout=60)
        return {}

    def stop(self, node, _namespace, vmi, _pod):
        self._host(node).virsh("destroy", vmi, check=False)
        return {}

    def where(self, _namespace, vmi):
        for host in self._lab.hosts():
            state = host.domain_state(vmi) or ""
            if state.startswith(("running", "paused")):
                return {"node": host.hostname, "state": state.split()[0]}
        return {"node": "", "state": "shutoff"}

    # ---- migration --------------------------------------------------------------

    def _moved_volumes(self, namespace, vmi):
        """{volume: destination claim and its size} of the volume migration that is under way."""
        status = self._api().get("vmi", namespace, vmi)["status"]
        moved = {}
        for volume in status.get("migratedVolumes") or []:
            claim = volume["destinationPVCInfo"]["claimName"]
            size = self._api().get("pvc", namespace, claim)["spec"]["resources"]["requests"]["storage"]
            moved[volume["volumeName"]] = {"claim": claim, "size": int(size)}
        return moved

    def prepare(self, node, namespace, vmi, _pod):
        host = self._host(node)
        for volume in self._moved_volumes(namespace, vmi).values():
            path = storage.real_path(host.name, claim_path(volume["claim"]))
            if not path.exists():
                with open(path, "wb") as f:
                    f.truncate(volume["size"])
        return {"address": host.address}

    @staticmethod
    def _disk_of(record, volume):
        return record["disks"][int(volume.removeprefix("disk"))]

    def _block_options(self, source, namespace, vmi, record):
        """Options of virsh for disks that are copied to another path, and the changed disks."""
        moved = self._moved_volumes(namespace, vmi)
        if not moved:
            return [], []
        xml = source.virsh("dumpxml", vmi, "--migratable")
        disks = []
        for volume, to in moved.items():
            disk = self._disk_of(record, volume)
            xml = xml.replace(f"'{disk['path']}'", f"'{claim_path(to['claim'])}'")
            disks.append((disk, claim_path(to["claim"])))
        path = settings.state_dir() / "vms" / f"{vmi}.target.xml"
        path.write_text(xml)
        return ["--copy-storage-all", "--migrate-disks", ",".join(d["target"] for d, _ in disks), "--xml", str(path)], disks

    def _virsh(self, host, *words):
        return self._lab.ctl_argv(["virsh", "-q", "-c", host.uri, *words])

    def _report(self, host, vmi):
        done = subprocess.run(self._virsh(host, "domjobinfo", vmi), capture_output=True, text=True, timeout=20, check=False)
        figures = {}
        for label, number, unit in re.findall(r"^(Data \w+): +([0-9.]+) (\w+)", done.stdout, re.M):
            if label in JOB_FIGURES and unit in FACTORS:
                figures[JOB_FIGURES[label]] = int(float(number) * FACTORS[unit])
        elapsed = re.search(r"^Time elapsed: +([0-9]+) ms", done.stdout, re.M)
        if elapsed:
            print(json.dumps({"elapsed_ms": int(elapsed[1]), **figures}), flush=True)

    def migrate(self, source_node, target_node, namespace, vmi, options):
        source, target = self._host(source_node), self._host(target_node)
        options, record = json.loads(options), vm.load_record(vmi)
        words = ["migrate", "--live", "--p2p", "--unsafe"]
        mib = (options.get("bandwidth_bytes") or 0) >> 20
        words += ["--bandwidth", str(mib)] if mib else []
        words += ["--auto-converge"] if options.get("auto_converge") else []
        words += ["--postcopy"] if options.get("post_copy") else []
        block, disks = self._block_options(source, namespace, vmi, record)
        call = subprocess.Popen(self._virsh(source, *words, *block, vmi, target.uri), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
        while call.poll() is None:
            self._report(source, vmi)
            time.sleep(POLL_S)
        said = call.stderr.read().strip()
        if call.returncode != 0:
            aborted = "canceled by client" in said or "aborted" in said
            print(said, file=sys.stderr)
            raise SystemExit(ABORTED if aborted else 1)
        for disk, path in disks:
            disk["path"] = path
        if disks:
            vm.Vm(record, self._lab.hosts).save()
        return {"outcome": "completed"}

    def abort(self, node, _namespace, vmi):
        self._host(node).virsh("domjobabort", vmi)
        return {}

    def postcopy(self, node, _namespace, vmi):
        self._host(node).virsh("migrate-postcopy", vmi)
        return {}

    def pause(self, node, _namespace, vmi):
        self._host(node).virsh("suspend", vmi)
        return {}


ACTS = ("plug", "unplug", "start", "stop", "where", "prepare", "migrate", "abort", "postcopy", "pause")


def main(lab, words):
    """Do one act, print its answer; the exit code is the simulator's to read."""
    if not words or words[0] not in ACTS:
        print(f"use one of {', '.join(ACTS)}", file=sys.stderr)
        return 64
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    try:
        print(json.dumps(getattr(Agent(lab), words[0])(*words[1:])), flush=True)
    except (LabError, OSError, KeyError, subprocess.TimeoutExpired) as e:
        print(f"{words[0]}: {e}", file=sys.stderr)
        return 1
    return 0
