# SPDX-License-Identifier: LGPL-2.1-or-later
"""The doctor after an accident: collects what a person would have at hand, and asks `kvmig diagnose` what happened.

That is a bundle of both hosts or of the cluster (`kvmig report bundle`, with the port's rows where the test has one), what
libvirtd's and QEMU's logs of both hosts say since the test began, and the tool's own report.
"""
import json
import os
import shutil
import tempfile
from pathlib import Path

from kvmiglab.kubeobjects import NAMESPACE

# A folder in which what was collected stays, to be looked at; by default it is gone with the test.
KEEP = os.environ.get("KVMIG_LAB_EVIDENCE")
ANSWER_TIMEOUT_MS = "5000"
HOST_ERRORS = 6  # exit code of a bundle that a host or database did not answer for


class Doctor:
    """Begins to listen when it is made: what was logged before is not about this test."""

    def __init__(self, lab, tool, name):
        self.lab, self._tool = lab, tool
        self._begun = {log: log.stat().st_size for log in self._logs()}
        self._folder = Path(KEEP) / name if KEEP else Path(tempfile.mkdtemp(prefix="kvmig-doctor-"))
        self._folder.mkdir(parents=True, exist_ok=True)
        self._asked = 0

    def _logs(self):
        for host in self.lab.hosts():
            yield from sorted((host.folder / "log").rglob("*.log"))

    def _take_logs(self, folder, vm):
        """libvirtd's, and QEMU's of this guest, as far as they are new."""
        for host in self.lab.hosts():
            for log in sorted((host.folder / "log").rglob("*.log")):
                if log.parent.name == "qemu" and log.stem != vm.split("/")[-1]:
                    continue
                begun = self._begun.get(log, 0)
                data = log.read_bytes()
                data = data[begun if begun <= len(data) else 0:]
                if data:
                    (folder / f"{host.hostname}-{log.name}").write_bytes(data)

    def collect(self, vm, report=None, port=()):
        """The folder; `port` are the options of `report bundle` that name the port and the databases."""
        self._asked += 1
        folder = self._folder / str(self._asked)
        code, _, err = self._tool.run("report", "bundle", "--vm", vm, "--output", folder, "--call-timeout",
                                      ANSWER_TIMEOUT_MS, *port)
        assert code in (0, HOST_ERRORS), (code, err)
        self._take_logs(folder, vm)
        if report:
            (folder / "report.json").write_text(json.dumps(report))
        return folder

    def diagnose(self, vm, **evidence):
        """What the doctor says of what is left behind."""
        name = self._name(vm)
        folder = self.collect(name, **evidence)
        code, out, err = self._tool.run_local("diagnose", "--json", *self._about(name), folder)
        assert code == 0, (code, err)
        diagnosis = json.loads(out)
        diagnosis["folder"] = str(folder)
        assert diagnosis["vm"] == name, self._story(diagnosis)
        return diagnosis

    def _name(self, vm):
        return vm if isinstance(vm, str) else vm.name

    def _about(self, _name):
        """A bundle of hosts says itself which VM it is about."""
        return []

    def expect(self, verdict, vm, finding=None, naming="", **evidence):
        """The verdict must be this one (or one of these), and the finding among those that are there.

        `naming` must stand in the summary, or in what a finding says.
        """
        diagnosis = self.diagnose(vm, **evidence)
        verdicts = (verdict,) if isinstance(verdict, str) else verdict
        codes = {f["code"] for f in diagnosis["findings"]}
        assert diagnosis["verdict"] in verdicts, self._story(diagnosis)
        assert finding is None or finding in codes, self._story(diagnosis)
        assert naming in diagnosis["summary"] + json.dumps(diagnosis["findings"]), self._story(diagnosis)
        return diagnosis

    @staticmethod
    def _story(diagnosis):
        return json.dumps({k: diagnosis[k] for k in ("verdict", "summary", "findings", "actions", "folder")}, indent=1)

    def close(self):
        if not KEEP:
            shutil.rmtree(self._folder, ignore_errors=True)


class KubeDoctor(Doctor):
    """Asked about a guest of KubeVirt, by what the cluster says of all its objects."""

    def _name(self, vm):
        return f"{NAMESPACE}/{super()._name(vm)}"

    def _about(self, name):
        return ["--vm", name]
