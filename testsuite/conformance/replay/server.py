# SPDX-License-Identifier: Apache-2.0
"""Starts a private kiln-controller --conformance, and sends requests to it."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOKEN = "Bearer conformance"
AGENT = "golden/v1"
JSON = "application/json"


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        return json.loads(self.body)

    def events(self):
        return [json.loads(x) for x in self.body.decode().splitlines() if x]

    def warnings(self):
        return sorted(self.headers.get_all("Warning") or [])


class Server:
    def __init__(self, program):
        self.program = program
        self.directory = tempfile.mkdtemp(prefix="kiln-conformance.")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = None
        self.resources = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        if self.process.returncode != 0:
            print(self.log())
        shutil.rmtree(self.directory, ignore_errors=True)

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                [self.program, "--conformance",
                 "--state-dir", os.path.join(self.directory, "state"),
                 "--listen", f"127.0.0.1:{self.port}"],
                stdout=log, stderr=log)
        for _ in range(400):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        sys.exit("kiln-controller did not start:\n" + self.log())

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)

    def is_up(self):
        return self.process.poll() is None

    def log(self):
        with open(os.path.join(self.directory, "log"), errors="replace") as f:
            return f.read()[-4000:]

    def send(self, method, path, headers=None, body=None, timeout=90):
        """Sends a request unchanged; headers None: JSON as the test user."""
        if headers is None:
            headers = {"Authorization": TOKEN, "Content-Type": JSON,
                       "Accept": JSON}
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=timeout)
        try:
            connection.putrequest(method, path, skip_accept_encoding=True)
            connection.putheader("User-Agent", AGENT)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def load(self, objects):
        """Stores objects unchanged, without defaults and validation."""
        answer = self.send("POST", "/conformance/load", body={"items": objects})
        if answer.status != 200:
            raise OSError("objects were not loaded: "
                          + answer.body.decode(errors="replace")[:400])

    def compact(self):
        self.send("POST", "/conformance/compact", body=b"")

    def plural(self, api_version, kind):
        """Returns (plural, whether it is namespaced), or None if not served."""
        if self.resources is None:
            self.resources = {}
            versions = ["v1"] + [
                g["preferredVersion"]["groupVersion"]
                for g in self.send("GET", "/apis").json().get("groups", [])]
            for version in versions:
                root = "/api/" if version == "v1" else "/apis/"
                for r in self.send("GET", root + version).json()["resources"]:
                    if "/" not in r["name"]:
                        self.resources[(version, r["kind"])] = (
                            r["name"], r["namespaced"])
        return self.resources.get((api_version, kind))

    def path_of(self, obj):
        """Returns the path of an object, or None if its kind is not served."""
        version = obj["apiVersion"]
        found = self.plural(version, obj["kind"])
        if found is None:
            return None
        path = ("/api/" if version == "v1" else "/apis/") + version
        if found[1]:
            path += "/namespaces/" + obj["metadata"]["namespace"]
        return path + "/" + found[0] + "/" + obj["metadata"]["name"]
