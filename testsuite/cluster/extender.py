#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""extender.py PORT MODE SOCKET [CERTIFICATE KEY] - a scheduler extender for
tests. With a certificate it uses TLS, and accepts only clients that have the
same certificate.

The extender accepts only the nodes that the file MODE names, one per line, and
prefers the last of them. It binds by a POST to the API's socket. If the file has
the line "slow", each answer takes 20 seconds, longer than the scheduler waits.
"""
import http.client
import http.server
import json
import socket
import ssl
import sys
import time

PORT, MODE, SOCKET = int(sys.argv[1]), sys.argv[2], sys.argv[3]


class Api(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(SOCKET)


def liked():
    with open(MODE, encoding="utf-8") as lines:
        return lines.read().split()


def filter_nodes(question):
    names = liked()
    if question["NodeNames"] is None:
        return {"Nodes": {"items": [n for n in question["Nodes"]["items"]
                                    if n["metadata"]["name"] in names]}}
    passed = [n for n in question["NodeNames"] if n in names]
    failed = {n: "no licence there" for n in question["NodeNames"] if n not in names}
    return {"NodeNames": passed, "FailedNodes": failed}


def prioritize(question):
    names = liked()
    return [{"Host": n, "Score": names.index(n) if n in names else 0}
            for n in question["NodeNames"]]


def bind(question):
    body = {"apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": question["PodName"], "uid": question["PodUID"]},
            "target": {"kind": "Node", "name": question["Node"]}}
    api = Api("localhost")
    api.request("POST", "/api/v1/namespaces/%s/pods/%s/binding"
                % (question["PodNamespace"], question["PodName"]),
                json.dumps(body), {"Content-Type": "application/json"})
    answer = api.getresponse()
    words = answer.read().decode()
    return {"Error": "" if answer.status < 300 else words}


class Extender(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.rsplit("/", 1)[-1]
        if "slow" in liked():
            time.sleep(20)
        answer = json.dumps({"filter": filter_nodes, "prioritize": prioritize,
                             "bind": bind}[verb](question)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", PORT), Extender)
if len(sys.argv) > 4:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[4], sys.argv[5])
    tls.load_verify_locations(sys.argv[4])
    tls.verify_mode = ssl.CERT_REQUIRED
    server.socket = tls.wrap_socket(server.socket, server_side=True)
server.serve_forever()
