# SPDX-License-Identifier: LGPL-2.1-or-later
"""Logical switch ports: make, remove and change them, and read what OVN made of them.

Works on rows of the northbound and southbound databases only. The client's
and the guests' ports are made by ovn.py and lab.py through this.
"""
from . import ovsdb, proc, settings
from .central import NB, SB
from .errors import LabError

VM_KEY = "vm"


class Ports:
    """Every call reads or writes the databases anew."""

    def __init__(self, central):
        self._central = central

    def nb(self, *operations, timeout=ovsdb.TIMEOUT):
        return ovsdb.transact(self._central.nb_socket(), NB, *operations, timeout=timeout)

    def nb_select(self, table, where=(), columns=None):
        return ovsdb.select(self._central.nb_socket(), NB, table, where, columns)

    def sb_select(self, table, where=(), columns=None):
        return ovsdb.select(self._central.sb_socket(), SB, table, where, columns)

    # ---- make and change --------------------------------------------------------

    def ensure_switches(self):
        for name, _, _ in settings.SWITCHES:
            if not self.nb_select("Logical_Switch", [["name", "==", name]], ["name"]):
                self.nb({"op": "insert", "table": "Logical_Switch", "row": {"name": name}})

    def add(self, name, mac, ips, switch=settings.SWITCHES[0][0], external_ids=None, options=None):
        """Make a port, or make one of that name anew (with another row UUID)."""
        self.remove(name)
        row = {"name": name, "addresses": " ".join([mac, *ips]),
               "external_ids": ovsdb.to_map(external_ids or {}), "options": ovsdb.to_map(options or {})}
        self.nb({"op": "insert", "table": "Logical_Switch_Port", "row": row, "uuid-name": "port"},
                {"op": "mutate", "table": "Logical_Switch", "where": [["name", "==", switch]],
                 "mutations": [["ports", "insert", ["set", [["named-uuid", "port"]]]]]})
        return self.lsp(name)["uuid"]

    def remove(self, name):
        """It is no error when there is none."""
        for row in self.nb_select("Logical_Switch_Port", [["name", "==", name]], ["name"]):
            port = ovsdb.uuid(row["_uuid"])
            self.nb({"op": "mutate", "table": "Logical_Switch", "where": [["ports", "includes", port]],
                     "mutations": [["ports", "delete", ["set", [port]]]]})

    def _set(self, name, column, changes):
        """Set keys of a map column in one transaction; a value of None removes the key."""
        mutations = [[column, "delete", ["set", list(changes)]]]
        kept = {k: v for k, v in changes.items() if v is not None}
        if kept:
            mutations.append([column, "insert", ovsdb.to_map(kept)])
        result = self.nb({"op": "mutate", "table": "Logical_Switch_Port", "where": [["name", "==", name]],
                          "mutations": mutations})
        if result[0]["count"] != 1:
            raise LabError(f"{result[0]['count']} ports are named {name}")

    def set_options(self, name, options):
        self._set(name, "options", options)

    def set_external_ids(self, name, external_ids):
        self._set(name, "external_ids", external_ids)

    # ---- read ---------------------------------------------------------------------

    @staticmethod
    def _lsp(row):
        return {"uuid": row["_uuid"], "name": row["name"], "options": row["options"],
                "external_ids": row["external_ids"], "up": ovsdb.optional(row["up"]),
                "addresses": ovsdb.as_list(row["addresses"])}

    def all(self):
        columns = ["name", "options", "external_ids", "up", "addresses"]
        return [self._lsp(row) for row in self.nb_select("Logical_Switch_Port", columns=columns)]

    def lsp(self, name):
        """{uuid, name, options, external_ids, up, addresses}, or None when there is no such port."""
        columns = ["name", "options", "external_ids", "up", "addresses"]
        rows = self.nb_select("Logical_Switch_Port", [["name", "==", name]], columns)
        return self._lsp(rows[0]) if rows else None

    def chassis_rows(self):
        """[{name, hostname, uuid, nb_cfg}] as the southbound database knows them."""
        nb_cfg = {r["name"]: r["nb_cfg"] for r in self.sb_select("Chassis_Private", columns=["name", "nb_cfg"])}
        return [{"uuid": r["_uuid"], "name": r["name"], "hostname": r["hostname"], "nb_cfg": nb_cfg.get(r["name"])}
                for r in self.sb_select("Chassis", columns=["name", "hostname"])]

    def binding(self, name):
        """The southbound side; chassis are given by name. None when there is no such row."""
        columns = ["logical_port", "chassis", "additional_chassis", "requested_chassis",
                   "requested_additional_chassis", "options", "up"]
        rows = self.sb_select("Port_Binding", [["logical_port", "==", name]], columns)
        if not rows:
            return None
        row = rows[0]
        names = {c["uuid"]: c["name"] for c in self.chassis_rows()}

        def listed(column):
            return sorted(names.get(u, f"gone {u}") for u in ovsdb.as_list(row[column]))
        return {"uuid": row["_uuid"], "chassis": next(iter(listed("chassis")), None),
                "additional": listed("additional_chassis"),
                "requested": next(iter(listed("requested_chassis")), None),
                "requested_additional": listed("requested_additional_chassis"),
                "options": row["options"], "up": ovsdb.optional(row["up"])}

    # ---- wait -----------------------------------------------------------------------

    def wait(self, name, condition, what, timeout=10):
        """Wait until the binding fulfils condition(binding); returns the binding."""
        def fulfilled():
            found = self.binding(name)
            return found if found and condition(found) else None
        return proc.wait_until(fulfilled, f"port {name}: {what}", timeout, step=0.01)

    def wait_bound(self, name, chassis, timeout=10):
        """Wait until the port is up on that chassis (by chassis name)."""
        self.wait(name, lambda b: b["chassis"] == chassis and b["up"], f"up on {chassis}", timeout)

    def barrier(self, chassis, timeout=30):
        """Wait until these chassis have done all that the northbound database says now."""
        self.nb({"op": "mutate", "table": "NB_Global", "where": [], "mutations": [["nb_cfg", "+=", 1]]})
        wanted = self.nb_select("NB_Global", columns=["nb_cfg"])[0]["nb_cfg"]

        def reached():
            done = {c["name"] for c in self.chassis_rows() if (c["nb_cfg"] or 0) >= wanted}
            return done >= set(chassis)
        proc.wait_until(reached, f"nb_cfg {wanted} on {', '.join(chassis)}", timeout, step=0.01)
