# SPDX-License-Identifier: LGPL-2.1-or-later
"""Certificates for encrypted migration between the hosts, and for OVN's databases.

One CA signs every host's certificate; mode `bad` gives a host the certificate
and the CA of another world, so that the handshake with other hosts fails.
OVN's servers and clients have one good and one bad certificate beside them.
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
    """Made under another name, so that an interrupted one is not taken for a whole one."""
    fresh = folder.with_name(folder.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "3650", "-subj", f"/CN={name}", "-keyout", fresh / "ca-key.pem",
         "-out", fresh / "ca-cert.pem", "-addext", "keyUsage=critical,keyCertSign"])
    fresh.rename(folder)


def _make_certificate(ca, hostname, address, target):
    """A certificate for both roles, named after a host and its address."""
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        names = f"DNS:{hostname},IP:{address}"
        (work / "ext").write_text(
            f"subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\n"
            "keyUsage=critical,digitalSignature,keyEncipherment\nbasicConstraints=CA:FALSE\n")
        run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
             "-nodes", "-subj", f"/CN={hostname}", "-keyout", work / "key.pem",
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
    _make_certificate(_folder() / mode, host.hostname, host.address, target)


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


# ---- OVN --------------------------------------------------------------------

OVN_CASES = {"good": ("good", "good"), "bad-cert": ("good", "bad"), "bad-ca": ("bad", "good")}


def _ovn_folder(mode):
    return _folder() / f"ovn-{mode}"


def ensure_ovn():
    """Certificates for OVN's servers and clients, of the good CA and of the other."""
    for mode in ("good", "bad"):
        target = _ovn_folder(mode)
        if not (target / "ca-cert.pem").exists():
            target.mkdir(exist_ok=True)
            address = settings.host_address(settings.OVN_NODE)
            _make_certificate(_folder() / mode, "kvmig-" + settings.OVN_NODE, address, target)
            shutil.copy(_folder() / mode / "ca-cert.pem", target / "ca-cert.pem")


def ovn_server_files():
    folder = _ovn_folder("good")
    return {"ca": str(folder / "ca-cert.pem"), "cert": str(folder / "server-cert.pem"),
            "key": str(folder / "server-key.pem")}


def ovn_client_files(case="good"):
    """Paths for a client. bad-cert: the server refuses us; bad-ca: we must refuse the server."""
    if case not in OVN_CASES:
        raise LabError(f"unknown case {case}: use one of {', '.join(OVN_CASES)}")
    ca, own = (_ovn_folder(mode) for mode in OVN_CASES[case])
    return {"ca": str(ca / "ca-cert.pem"), "cert": str(own / "client-cert.pem"),
            "key": str(own / "client-key.pem")}
