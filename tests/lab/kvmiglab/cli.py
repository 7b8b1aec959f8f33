# SPDX-License-Identifier: LGPL-2.1-or-later
"""Command line of the lab: reads arguments, calls lab.py, prints.

Holds no logic of the lab itself. Exit codes: 0 done, 1 could not be done,
2 wrong use; `shell` and `ctl` end with the code of what they ran.
"""
import argparse
import json
import os
import sys

from . import daemons, net, storage, tls, vm
from .errors import LabError
from .hosts import ENVIRONMENT
from .lab import Lab


def show(value, as_json, text):
    print(json.dumps(value, indent=1) if as_json else text)


def status_text(status):
    if not status["hosts"]:
        return "lab is down"
    lines = [f"controller namespace: {status['controller']}   state: {status['state_dir']}"]
    for name, host in status["hosts"].items():
        lines.append(f"host {name}: {host['uri']}  libvirtd {host['libvirtd']}")
        for plane, link in (host["links"] or {}).items():
            if not link["up"] or link["queue"] not in ("noqueue", None):
                lines.append(f"  link {plane}: {'up' if link['up'] else 'CUT'}, {link['queue']}")
    lines.append(f"guests: {', '.join(status['vms']) or 'none'}   "
                 f"default disk cache: {status['default_cache']}")
    lines += ovn_lines(status["ovn"])
    return "\n".join(lines)


def ovn_lines(ovn):
    if not ovn:
        return []
    ill = [f"{name} {state}" for name, state in ovn["daemons"].items() if state != "running"]
    return [f"ovn: nb {ovn['nb']['tcp']}   sb {ovn['sb']['tcp']}   client {ovn['client']}",
            f"  daemons: {', '.join(ill) or 'all running'}"]


def cmd_up(lab, args):
    lab.up(args.hosts, args.ovn)
    cmd_status(lab, args)


def cmd_down(lab, args):
    lab.down()


def cmd_status(lab, args):
    status = lab.status()
    show(status, args.json, status_text(status))


def cmd_shell(lab, args):
    argv = lab.host(args.host).enter_argv(args.cmd or ["bash", "-i"])
    os.execvp(argv[0], argv)


def cmd_ctl(lab, args):
    argv = lab.ctl_argv(args.cmd or ["bash", "-i"])
    os.execvp(argv[0], argv)


def cmd_client(lab, args):
    argv = lab.ovn.client_argv(args.cmd or ["bash", "-i"])
    os.execvp(argv[0], argv)


def cmd_ovn_heal(lab, args):
    lab.ovn.heal()


def cmd_ovn_daemon(lab, args):
    daemons = lab.ovn.daemons()
    if args.name not in daemons:
        raise LabError(f"no daemon {args.name}: use one of {', '.join(daemons)}")
    daemons[args.name].act(args.action)


def cmd_ovn_ctl(lab, args):
    remotes = lab.ovn.nb_remotes("unix") if args.tool == "ovn-nbctl" else lab.ovn.sb_remotes("unix")
    os.execvp(args.tool, [args.tool, "--db=" + remotes, *args.cmd])


def cmd_ovn_port(lab, args):
    names = [p["lsp"] for p in lab.vm(args.name).ports] if args.name in lab.vm_names() else [args.name]
    facts = {name: {"northbound": lab.ovn.lsp(name), "southbound": lab.ovn.binding(name),
                    "interfaces": {c.node: lab.ovn.interface_of(c.node, name)[1] for c in lab.ovn.all_chassis()}}
             for name in names}
    print(json.dumps(facts, indent=1))


def cmd_daemon(lab, args):
    lab.host(args.host).daemon(args.action)


def cmd_crash(lab, args):
    lab.host(args.host).crash()


def cmd_link(lab, args):
    if args.action == "cut":
        lab.links.cut(args.host, args.peer, args.net)
    elif args.action == "restore":
        lab.links.restore(args.host)
    elif args.value is None:
        raise LabError(f"link {args.action} needs a number")
    else:
        change = lab.links.rate if args.action == "rate" else lab.links.delay
        change(args.host, args.value, args.net)


def cmd_tls(lab, args):
    tls.use(lab.host(args.host), args.mode)


def vm_text(info):
    lines = [f"{info['name']}: {info['ip']}  uuid {info['uuid']}  {info['memory']} MiB"]
    for host, state in info["states"].items():
        pids = info["qemu_pids"][host]
        lines.append(f"  host {host}: {state or 'not there'}"
                     + (f"  QEMU pid {' '.join(map(str, pids))}" if pids else ""))
    for disk in info["disks"]:
        lines.append(f"  {disk['target']}: {disk['kind']} {disk['format']} "
                     f"{disk['size'] >> 10} KiB cache={disk['cache']} {disk['path']}")
    lines.append(f"  {info['http']}   echo {info['echo']}   console {info['console']}")
    return "\n".join(lines)


def print_vm(lab, name, as_json):
    info = lab.vm(name).info()
    show(info, as_json, vm_text(info))


def cmd_vm_create(lab, args):
    cpu_xml = None
    if args.cpu:
        with open(args.cpu, encoding="utf-8") as f:
            cpu_xml = f.read()
    lab.create_vm(args.name, args.host, args.memory, args.disk, args.write_rate, args.transient,
                  args.paused, args.define_only, cpu_xml, not args.no_wait, args.network, args.nics,
                  args.pin)
    print_vm(lab, args.name, args.json)


def cmd_vm_destroy(lab, args):
    lab.destroy_vm(args.name)


def cmd_vm_list(lab, args):
    infos = [lab.vm(n).info() for n in lab.vm_names()]
    show(infos, args.json, "\n".join(vm_text(i) for i in infos) or "no guests")


def cmd_vm_info(lab, args):
    print_vm(lab, args.name, args.json)


def cmd_vm_kill(lab, args):
    lab.vm(args.name).kill(lab.host(args.host))


def cmd_vm_precreate(lab, args):
    for path in lab.vm(args.name).precreate(lab.host(args.host)):
        print(path)


def cmd_vm_http(lab, args):
    print(json.dumps(lab.vm(args.name).http(args.path, timeout=30)))


def add_vm_commands(commands):
    group = commands.add_parser("vm", help="guests").add_subparsers(required=True, metavar="WHAT")

    def add(name, call, text):
        p = group.add_parser(name, help=text)
        p.set_defaults(call=call)
        p.add_argument("name")
        return p
    p = add("create", cmd_vm_create, "create and start a guest (nothing if it exists)")
    p.add_argument("--host", default="a")
    p.add_argument("--memory", type=int, default=256, metavar="MIB")
    p.add_argument("--disk", action="append", default=[], metavar="KIND:SIZE[:FORMAT[:CACHE]]",
                   help="; ".join(f"{k}: {v}" for k, v in storage.KINDS.items()))
    p.add_argument("--write-rate", type=int, default=20, help="records a second on each disk")
    p.add_argument("--cpu", metavar="FILE", help="file with a <cpu> element")
    p.add_argument("--network", choices=vm.NETWORKS, default="bridge")
    p.add_argument("--nics", type=int, default=1, help="network cards, with --network ovn")
    p.add_argument("--pin", action="store_true", help="pin its ports to the host's chassis")
    for flag in ("transient", "paused", "define-only", "no-wait", "json"):
        p.add_argument("--" + flag, action="store_true")
    add("destroy", cmd_vm_destroy, "remove a guest and its disks from all hosts")
    add("info", cmd_vm_info, "facts about a guest").add_argument("--json", action="store_true")
    for name, call, text in (("kill", cmd_vm_kill, "SIGKILL its QEMU on one host"),
                             ("precreate", cmd_vm_precreate, "empty target volumes on a host")):
        add(name, call, text).add_argument("--host", required=True)
    add("http", cmd_vm_http, "GET from the guest").add_argument("path", nargs="?", default="/")
    p = group.add_parser("list", help="all guests")
    p.add_argument("--json", action="store_true")
    p.set_defaults(call=cmd_vm_list)


def add_host_commands(commands):
    p = commands.add_parser("daemon", help="act on a host's libvirtd; guests survive")
    p.add_argument("host")
    p.add_argument("action", choices=("kill", "stop", "start", "restart", "pause", "continue"))
    p.set_defaults(call=cmd_daemon)
    p = commands.add_parser("crash", help="end everything in a host at once; `up` boots it again")
    p.add_argument("host")
    p.set_defaults(call=cmd_crash)
    p = commands.add_parser("link", help="cut, restore or slow a host's links")
    p.add_argument("action", choices=("cut", "restore", "delay", "rate"))
    p.add_argument("host")
    p.add_argument("value", nargs="?", type=int, help="delay in ms, rate in Mbit/s")
    p.add_argument("--peer", help="cut towards this one only: ctl, a host, ovn or edge")
    p.add_argument("--net", choices=tuple(net.PLANES), default="mgmt")
    p.set_defaults(call=cmd_link)
    p = commands.add_parser("tls", help="certificate of a host for encrypted migration")
    p.add_argument("host")
    p.add_argument("mode", choices=tls.MODES)
    p.set_defaults(call=cmd_tls)


def add_ovn_commands(commands):
    p = commands.add_parser("client", help="run a command as the client behind OVN")
    p.add_argument("cmd", nargs=argparse.REMAINDER)
    p.set_defaults(call=cmd_client)
    group = commands.add_parser("ovn", help="OVN's parts").add_subparsers(required=True, metavar="WHAT")
    p = group.add_parser("daemon", help="act on one daemon: nb, sb, northd, ovn-controller-a, ...")
    p.add_argument("name")
    p.add_argument("action", choices=daemons.ACTIONS)
    p.set_defaults(call=cmd_ovn_daemon)
    p = group.add_parser("port", help="all that is known of a port, or of the ports of a guest")
    p.add_argument("name")
    p.set_defaults(call=cmd_ovn_port)
    group.add_parser("heal", help="undo every fault").set_defaults(call=cmd_ovn_heal)
    for tool in ("nbctl", "sbctl"):
        p = group.add_parser(tool, help=f"ovn-{tool} with the right database")
        p.add_argument("cmd", nargs=argparse.REMAINDER)
        p.set_defaults(call=cmd_ovn_ctl, tool="ovn-" + tool)


def build_parser():
    parser = argparse.ArgumentParser(prog="lab", description="libvirt hosts and guests for tests")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    p = commands.add_parser("up", help="bring the lab up (only what is missing)")
    p.add_argument("--hosts", type=int, default=2, choices=(2, 3))
    p.add_argument("--ovn", action="store_true", help="with OVN and a client behind it")
    p.add_argument("--json", action="store_true")
    p.set_defaults(call=cmd_up)
    commands.add_parser("down", help="remove everything").set_defaults(call=cmd_down)
    p = commands.add_parser("status", help="what is up")
    p.add_argument("--json", action="store_true")
    p.set_defaults(call=cmd_status)
    p = commands.add_parser("shell", help="run a command (or a shell) inside a host")
    p.add_argument("host")
    p.add_argument("cmd", nargs=argparse.REMAINDER)
    p.set_defaults(call=cmd_shell)
    p = commands.add_parser("ctl", help="run a command in the controller namespace")
    p.add_argument("cmd", nargs=argparse.REMAINDER)
    p.set_defaults(call=cmd_ctl)
    add_host_commands(commands)
    add_vm_commands(commands)
    add_ovn_commands(commands)
    return parser


def main(argv=None):
    args = build_parser().parse_args(argv)
    os.environ["PATH"] = os.environ.get("PATH", "") + ":" + ENVIRONMENT["PATH"]
    try:
        args.call(Lab(), args)
        sys.stdout.flush()
    except (LabError, OSError) as e:
        print(f"lab: {e}", file=sys.stderr)
        return 1
    return 0
