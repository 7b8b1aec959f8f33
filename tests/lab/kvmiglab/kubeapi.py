# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small client of the lab's Kubernetes API: JSON over TLS, from inside the controller's namespace.

Holds no connection and no state; every call is one request.
"""
import http.client
import json
import ssl
import urllib.parse

from . import net, settings
from .errors import LabError

GROUPS = {
    "nodes": "/api/v1", "pods": "/api/v1", "events": "/api/v1", "namespaces": "/api/v1",
    "persistentvolumeclaims": "/api/v1", "persistentvolumes": "/api/v1", "resourcequotas": "/api/v1",
    "services": "/api/v1", "endpointslices": "/apis/discovery.k8s.io/v1", "storageclasses": "/apis/storage.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "virtualmachines": "/apis/kubevirt.io/v1", "virtualmachineinstances": "/apis/kubevirt.io/v1",
    "virtualmachineinstancemigrations": "/apis/kubevirt.io/v1", "kubevirts": "/apis/kubevirt.io/v1",
    "migrationpolicies": "/apis/migrations.kubevirt.io/v1alpha1",
}
SHORT = {"vm": "virtualmachines", "vmi": "virtualmachineinstances", "vmim": "virtualmachineinstancemigrations",
         "pvc": "persistentvolumeclaims", "pv": "persistentvolumes"}


class ApiError(LabError):
    """The server's answer was no success."""

    def __init__(self, status, body):
        self.status = status
        try:
            self.message = json.loads(body).get("message", body)
        except ValueError:
            self.message = body
        super().__init__(f"HTTP {status}: {self.message}")


class KubeApi:
    """`folder` is the data folder of the server: ca.crt, url and <user>.token lie there."""

    def __init__(self, folder, user="admin", namespace=settings.CONTROLLER_NS):
        self._folder, self._user, self._ns = folder, user, namespace

    def _target(self):
        url = urllib.parse.urlsplit((self._folder / "url").read_text().strip())
        return url.hostname, url.port

    def _token(self):
        return (self._folder / f"{self._user}.token").read_text().strip()

    def request(self, method, path, body=None, content_type="application/json", timeout=10.0):
        host, port = self._target()
        context = ssl.create_default_context(cafile=str(self._folder / "ca.crt"))
        context.check_hostname = False
        connection = http.client.HTTPConnection(host, port, timeout=timeout)
        connection.sock = context.wrap_socket(net.connect(host, port, timeout, self._ns))
        headers = {"Authorization": f"Bearer {self._token()}", "Content-Type": content_type, "Accept": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if not 200 <= response.status < 300:
            raise ApiError(response.status, text)
        return json.loads(text) if text else None

    @staticmethod
    def path(kind, namespace=None, name=None, sub=None):
        kind = SHORT.get(kind, kind)
        parts = [GROUPS[kind]]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [p for p in (kind, name, sub) if p]
        return "/".join(parts)

    def get(self, kind, namespace=None, name=None):
        """The object, or None when there is none."""
        try:
            return self.request("GET", self.path(kind, namespace, name))
        except ApiError as e:
            if e.status == 404:
                return None
            raise

    def list(self, kind, namespace=None, **selectors):
        query = "?" + urllib.parse.urlencode(selectors) if selectors else ""
        return self.request("GET", self.path(kind, namespace) + query)["items"]

    def create(self, kind, body, namespace=None):
        return self.request("POST", self.path(kind, namespace), body)

    def patch(self, kind, body, namespace=None, name=None, sub=None):
        return self.request("PATCH", self.path(kind, namespace, name, sub), body, "application/merge-patch+json")

    def delete(self, kind, namespace=None, name=None):
        """It is no error when there is none."""
        try:
            self.request("DELETE", self.path(kind, namespace, name))
        except ApiError as e:
            if e.status != 404:
                raise
