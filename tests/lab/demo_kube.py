#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The demo on KubeVirt: a real guest moves between two nodes, through a real Kubernetes API, and its OVN port goes along.

Brings up the lab, a Kubernetes API server on it with KubeVirt's controllers simulated, and a guest whose network a CNI
plugs. Plans and migrates it; then somebody else starts a migration and forgets the port, which waits for ever: the
demo has that explained, and takes it over. usage: demo_kube.py BUILD-FOLDER [--keep]
"""
import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from demo import main, network_options, say, show_guest, show_port  # noqa: E402
from kvmiglab.kube import Kube  # noqa: E402
from kvmiglab.kubeobjects import NAMESPACE  # noqa: E402

VM, TIME_SCALE = "demo", 0.2
FULL_NAME = f"{NAMESPACE}/{VM}"
EXPLAIN_WITHIN_S = 30
TOLD = {"copy_started_ms": "the copy begins", "domain_ready_ms": "the guest runs on the target",
        "node_flipped_seen_ms": "the VMI names the target", "endpoints_moved_seen_ms": "the service leads to the target",
        "copy_ended_ms": "KubeVirt calls it done"}


class Demo:
    """`tool` is the build folder's kvmig, as the user `migrator` of the cluster."""

    def __init__(self, lab, build):
        self.lab, self.build, self.kube = lab, build, Kube(lab)
        self.vm = None

    def _argv(self, command, *args):
        return self.lab.ctl_argv([self.build / "kvmig", command, "--kubeconfig", self.kube.kubeconfig("migrator"), *args])

    def tool(self, command, *args):
        sys.stdout.flush()
        return subprocess.run(self._argv(command, *args), check=False, timeout=180).returncode

    def up(self):
        say("the lab: two hosts with libvirtd, QEMU and Open vSwitch; OVN; and a Kubernetes API with KubeVirt on top")
        self.lab.up(hosts=2, ovn=True)
        self.kube.up(TIME_SCALE)
        say("a guest on a shared claim, in a pod whose network an OVN CNI plugs")
        self.vm = self.kube.create_vm(VM, disks=["shared:16M"])
        self.vm.dirty(24, 20)
        print(f"VMI {FULL_NAME} on {self.kube.vmi(VM)['status']['nodeName']}, address {self.vm.ip}, port {self.vm.lsp}, "
              f"boot id {self.vm.status()['boot_id']}")

    def show_numbers(self, report):
        say("how long its service was away, and what happened when")
        begin = report["started_unix_ms"]
        for target in (t for probe in report["probes"] for t in probe["targets"]):
            print(f"service away {target['gap_ms']} ms from {target['gap_begin_ms']} ms on: {target['target']}, "
                  f"{target['tries']} tries, {target['failures']} failed")
        kubernetes = report["kubernetes"]
        seen = [(p["entered_seen_ms"] - begin, f"migration {kubernetes['migration']['name']} is {p['phase']}")
                for p in kubernetes["phases"] if p.get("entered_seen_ms")]
        seen += [(kubernetes["times"][key] - begin, text) for key, text in TOLD.items()
                 if key.endswith("seen_ms") and kubernetes["times"].get(key)]
        seen += [(n["at_ms"], f"port {n['what']}") for n in report["ports"][0]["timeline"] if n["what"] != "state"]
        for at_ms, text in sorted(seen):
            print(f"{at_ms:6} ms  {text}")

    def migrate(self):
        say("the plan")
        if self.tool("plan", FULL_NAME) != 0:
            return False
        say("the migration")
        file = self.build / "demo-kube-report.json"
        if self.tool("migrate", FULL_NAME, "--report", file, *network_options(self.lab.ovn, self.vm)) != 0:
            return False
        self.show_numbers(json.loads(file.read_text()))
        return True

    def _explained(self, code):
        """Asks until the explanation has the code."""
        deadline = time.monotonic() + EXPLAIN_WITHIN_S
        while time.monotonic() < deadline:
            answer = subprocess.run(self._argv("explain", FULL_NAME, "--json"), check=False, timeout=60,
                                    capture_output=True, text=True)
            if code in {w["code"] for w in json.loads(answer.stdout)["waits"]}:
                return True
            time.sleep(0.2)
        return False

    def rescue(self):
        say("somebody else starts a migration and forgets the port: the target's pod never gets its network")
        self.kube.post_migration(VM, "forgetful")
        found = self._explained("TARGET_NETWORK_NOT_READY")
        say("kvmig explain")
        self.tool("explain", FULL_NAME)
        say("kvmig takes it over, with the port")
        return self.tool("migrate", FULL_NAME, "--attach", "forgetful", *network_options(self.lab.ovn, self.vm)) == 0 and found

    def run(self):
        self.up()
        before = self.vm.status()
        moved = self.migrate()
        rescued = moved and self.rescue()
        say("where the guest is now")
        self.tool("where", FULL_NAME, "--source", "kvmig-a", "--target", "kvmig-b")
        say("where the port is now")
        followed = show_port(self.lab.ovn, self.vm, self.kube.host_of(VM))
        say("whether it is the same guest")
        return 0 if show_guest(self.vm, before) and rescued and followed else 1


def demonstrate(lab, build):
    demo = Demo(lab, build)
    try:
        return demo.run()
    finally:
        if "--keep" not in sys.argv:
            demo.kube.down()


if __name__ == "__main__":
    sys.exit(main(demonstrate))
