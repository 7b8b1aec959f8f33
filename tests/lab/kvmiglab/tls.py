# SPDX-License-Identifier: LGPL-2.1-or-later
"""Certificates for encrypted migration between the hosts.

One CA signs every host's certificate; mode `bad` gives a host the certificate
and the CA of another world, so that the handshake with other hosts fails.
Does not concern the libvirt connections (those are TCP).
"""
import shutil
import tempfile
from pathlib import Path

from . import settings
from .errors import LabError
from .proc import run

MODES = ("good", "bad", "none")
FILES = ("server-cert.pem", "server-key.pem", "client-cert.pem", "client-key.pem")


def _folder():
    return settings.state_dir() / "tls"


def _make_ca(folder, name):
    folder.mkdir(parents=True)
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "3650", "-subj", f"/CN={name}", "-keyout", folder / "ca-key.pem",
         "-out", folder / "ca-cert.pem", "-addext", "keyUsage=critical,keyCertSign"])


def _make_certificate(ca, host, target):
    """A certificate for both roles, named after the host and its address."""
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        names = f"DNS:{host.hostname},IP:{host.address}"
        (work / "ext").write_text(
            f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n"
            "keyUsage=critical,digitalSignature,keyEncipherment\nbasicConstraints=CA:FALSE\n")
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-subj", f"/CN={host.hostname}", "-keyout", work / "key.pem",
             "-out", work / "request.pem"])
        run(["openssl", "x509", "-req", "-in", work / "request.pem", "-CA", ca / "ca-cert.pem",
             "-CAkey", ca / "ca-key.pem", "-CAcreateserial", "-days", "3650",
             "-extfile", work / "ext", "-out", work / "cert.pem"])
        for name in FILES:
            shutil.copy(work / ("key.pem" if "key" in name else "cert.pem"), target / name)


def use(host, mode):
    """Give a host a good certificate, one of another CA, or none."""
    if mode not in MODES:
        raise LabError(f"unknown mode {mode}: use one of {', '.join(MODES)}")
    target = host.folder / "etc/pki"
    for path in target.glob("*.pem"):
        path.unlink()
    if mode == "none":
        return
    shutil.copy(_folder() / mode / "ca-cert.pem", target / "ca-cert.pem")
    _make_certificate(_folder() / mode, host, target)


def ensure(hosts):
    """Make the CAs once and a good certificate for each host without any."""
    for mode, name in (("good", "kvmig lab CA"), ("bad", "kvmig other CA")):
        if not (_folder() / mode).is_dir():
            _make_ca(_folder() / mode, name)
    for host in hosts:
        marker = host.folder / "tls-made"
        if not marker.exists():
            use(host, "good")
            marker.touch()
