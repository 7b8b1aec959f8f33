# SPDX-License-Identifier: LGPL-2.1-or-later
"""A Kubernetes API for the tests of the tool: one VM, and one migration that somebody else has started, with no KubeVirt behind it.

Prints its port, then a line for each deletion; on standard error each reading. The variable FORBIDDEN names kinds that may not be read.
"""
import http.server
import json
import os
import sys
import threading

FORBIDDEN = os.environ.get("FORBIDDEN", "").split()
VMI = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
       "metadata": {"name": "vm1", "namespace": "ns1", "uid": "u1", "resourceVersion": "5"},
       "spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}}},
       "status": {"nodeName": "node-a", "phase": "Running",
                  "conditions": [{"type": "Ready", "status": "True"}, {"type": "LiveMigratable", "status": "True"}]}}
VMIM = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration",
        "metadata": {"name": "mig1", "namespace": "ns1", "uid": "u2", "resourceVersion": "6",
                     "labels": {"kubevirt.io/vmi-name": "vm1"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"vmiName": "vm1"}, "status": {"phase": "Pending"}}
objects = {"virtualmachineinstances": [VMI], "virtualmachineinstancemigrations": [VMIM]}
changed = threading.Condition()
deleted = []


class Api(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, reason):
        self.answer(status, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason,
                             "message": reason, "code": status})

    def watch(self, plural):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        with changed:
            while not (plural == "virtualmachineinstancemigrations" and deleted):
                changed.wait()
        line = json.dumps({"type": "DELETED", "object": deleted[0]}).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.wfile.flush()
        with changed:
            changed.wait()

    def do_GET(self):
        path, _, query = self.path.partition("?")
        last = path.rsplit("/", 1)[1]
        plural = last if last not in ("vm1", "mig1") else path.rsplit("/", 2)[1]
        print("GET", self.path, file=sys.stderr, flush=True)
        if plural in FORBIDDEN:
            self.refuse(403, "Forbidden")
        elif "watch=true" in query or "watch=1" in query:
            self.watch(plural)
        elif plural != last:
            found = [o for o in objects.get(plural, []) if o["metadata"]["name"] == last]
            self.answer(200, found[0]) if found else self.refuse(404, "NotFound")
        else:
            self.answer(200, {"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "10"},
                              "items": objects.get(plural, [])})

    def do_DELETE(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print("DELETE", self.path, flush=True)
        with changed:
            gone = objects["virtualmachineinstancemigrations"].pop()
            gone["metadata"]["resourceVersion"] = "11"
            deleted.append(gone)
            changed.notify_all()
        self.answer(200, gone)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
