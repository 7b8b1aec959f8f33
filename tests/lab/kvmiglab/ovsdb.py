# SPDX-License-Identifier: LGPL-2.1-or-later
"""A small OVSDB client over Unix sockets, for looking and for changing things by hand.

One connection and one transaction per call, and nothing is cached: what comes
back is what the server holds at that moment. It shares no code with the
library under test. Does not monitor.
"""
import codecs
import json
import socket
import time

from .errors import LabError

TIMEOUT = 5.0


def _plain(value):
    """OVSDB's notation as Python values: sets as lists, maps as dicts, UUIDs as strings."""
    if isinstance(value, list) and len(value) == 2:
        kind, content = value
        if kind == "uuid":
            return content
        if kind == "set":
            return [_plain(v) for v in content]
        if kind == "map":
            return {_plain(k): _plain(v) for k, v in content}
    return value


def as_list(value):
    """A set of one element is written as the element alone."""
    return value if isinstance(value, list) else [value]


def optional(value):
    """A set of at most one element: the element, or None."""
    return next(iter(as_list(value)), None)


def to_map(pairs):
    return ["map", [[k, v] for k, v in pairs.items()]]


def uuid(value):
    return ["uuid", value]


class _Channel:
    """JSON values over a stream that has no delimiters."""

    def __init__(self, path, timeout):
        self._deadline = time.monotonic() + timeout
        self._buffer = ""
        self._characters = codecs.getincrementaldecoder("utf-8")()
        self._decoder = json.JSONDecoder()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        self._socket.connect(str(path))

    def close(self):
        self._socket.close()

    def send(self, message):
        self._socket.sendall(json.dumps(message).encode())

    def receive(self):
        while True:
            text = self._buffer.lstrip()
            try:
                message, end = self._decoder.raw_decode(text)
                self._buffer = text[end:]
                return message
            except ValueError:
                pass
            self._socket.settimeout(max(self._deadline - time.monotonic(), 0.001))
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise OSError("the server closed the connection")
            self._buffer += self._characters.decode(chunk)


def create_file(run, file, schema):
    """Make a database file with `run`, under another name first: an interrupted one is never used."""
    run(["rm", "-f", f"{file}.new"])
    run(["ovsdb-tool", "create", f"{file}.new", schema])
    run(["mv", f"{file}.new", file])


def transact(path, database, *operations, timeout=TIMEOUT):
    """Run one transaction; returns the list of results. Any error is a LabError."""
    channel = None
    try:
        channel = _Channel(path, timeout)
        channel.send({"method": "transact", "params": [database, *operations], "id": 0})
        while (message := channel.receive()).get("id") != 0 or "result" not in message:
            if message.get("method") == "echo":
                channel.send({"result": message["params"], "error": None, "id": message["id"]})
    except OSError as e:
        raise LabError(f"{database} at {path}: {e or 'no answer'}") from e
    finally:
        if channel:
            channel.close()
    failed = message.get("error") or next((r for r in message["result"] if r and r.get("error")), None)
    if failed:
        raise LabError(f"{database} at {path}: {failed}")
    return message["result"]


def select(path, database, table, where=(), columns=None, timeout=TIMEOUT):
    """Rows as dicts of Python values, `_uuid` included."""
    operation = {"op": "select", "table": table, "where": list(where)}
    if columns:
        operation["columns"] = ["_uuid", *columns]
    rows = transact(path, database, operation, timeout=timeout)[0]["rows"]
    return [{column: _plain(value) for column, value in row.items()} for row in rows]
