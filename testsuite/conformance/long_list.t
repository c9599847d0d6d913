#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""long_list.t - lists with more objects than one turn of the server's loop handles

usage: long_list.t

Loads OBJECTS pods into kiln-controller --conformance and lists them completely,
page by page, as a Table and by a selector, and while pods change. Prints TAP.
"""
import http.client
import json
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from replay.server import Server, TOKEN  # noqa: E402

OBJECTS = 15000
PODS = "/api/v1/namespaces/long/pods"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


class Client:
    def __init__(self, server):
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=120)

    def ask(self, method, path, body=None, accept="application/json",
            content_type="application/json"):
        self.connection.request(
            method, path, json.dumps(body) if body is not None else None,
            {"Authorization": TOKEN, "Accept": accept,
             "Content-Type": content_type})
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text)


def pod(n):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"pod-{n:05}", "namespace": "long",
                         "uid": f"00000000-0000-4000-8000-{n:012}",
                         "labels": {"tenth": str(n % 10)}},
            "spec": {"containers": [{"name": "main", "image": "host"}]}}


def load(client):
    items = [{"apiVersion": "v1", "kind": "Namespace",
              "metadata": {"name": "long", "uid":
                           "00000000-0000-4000-9000-000000000000"},
              "status": {"phase": "Active"}}]
    for n in range(OBJECTS):
        items.append(pod(n))
        if len(items) == 1000 or n == OBJECTS - 1:
            status, answer = client.ask("POST", "/conformance/load",
                                        {"items": items})
            assert status == 200, answer
            items = []


def versions(answer):
    """The names and revisions of a list's items, in their order."""
    return [(x["metadata"]["name"], x["metadata"]["resourceVersion"])
            for x in answer["items"]]


def change_until(server, stop):
    """Adds, changes and removes pods at all places of the list."""
    client, turn = Client(server), 0
    while not stop.is_set():
        n = turn * 7919 % OBJECTS
        turn += 1
        client.ask("PATCH", f"{PODS}/pod-{n:05}",
                   {"metadata": {"labels": {"turn": str(turn)}}},
                   content_type="application/merge-patch+json")
        new = pod(n)
        new["metadata"] = {"name": f"pod-{n:05}-new"}
        client.ask("POST", PODS, new)
        client.ask("DELETE", f"{PODS}/pod-{n:05}-new?gracePeriodSeconds=0")


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def ok(self, is_right, name):
        self.count += 1
        self.failed += not is_right
        print(f"{'ok' if is_right else 'not ok'} {self.count} - {name}",
              flush=True)


def paged(client):
    items, query = [], "?limit=4000"
    while query:
        _, answer = client.ask("GET", PODS + query)
        items += versions(answer)
        token = answer["metadata"].get("continue")
        query = f"?limit=4000&continue={token}" if token else None
    return items


def check_quiet(tap, client):
    _, whole = client.ask("GET", PODS)
    names = [x[0] for x in versions(whole)]
    tap.ok(names == [f"pod-{n:05}" for n in range(OBJECTS)],
           "a long list has every object once, in order")
    tap.ok(versions(whole) == paged(client), "the pages of a long list have the same objects")
    _, table = client.ask("GET", PODS, accept=TABLE)
    tap.ok([x["cells"][0] for x in table["rows"]] == names,
           "a long Table has a row for each object")
    _, metadata = client.ask("GET", PODS, accept=METADATA)
    tap.ok(versions(metadata) == versions(whole), "a list of metadata has the same objects")
    _, some = client.ask("GET", PODS + "?labelSelector=tenth%3D3")
    tap.ok([x[0] for x in versions(some)] == names[3::10],
           "a selector finds objects at all places of the list")
    _, none = client.ask("GET", PODS + "?labelSelector=tenth%3Dx")
    tap.ok(none["items"] == [], "a selector that matches nothing gives an empty list")


def check_changing(tap, server, client):
    stop = threading.Event()
    changing = threading.Thread(target=change_until, args=(server, stop))
    changing.start()
    lists = [client.ask("GET", PODS)[1] for _ in range(5)]
    stop.set()
    changing.join()
    again = [client.ask("GET", PODS + "?resourceVersionMatch=Exact&"
                        "resourceVersion="
                        + x["metadata"]["resourceVersion"])[1]
             for x in lists]
    tap.ok(len({x["metadata"]["resourceVersion"] for x in lists}) > 1,
           "while objects change, lists have different revisions")
    tap.ok([versions(x) for x in lists] == [versions(x) for x in again],
           "each list has the objects of its revision")


def check_leaving(tap, server, client):
    for _ in range(20):
        gone = Client(server)
        gone.connection.request("GET", PODS, headers={"Authorization": TOKEN})
        gone.connection.sock.close()
    status, _ = client.ask("GET", PODS + "/pod-00000")
    tap.ok(status == 200 and server.is_up(),
           "clients that disconnect early do not affect others")


def main():
    program = os.path.join(os.environ.get("top_builddir",
                                          os.path.join(TOP, "build")),
                           "kiln-controller")
    tap = Tap()
    with Server(program) as server:
        client = Client(server)
        load(client)
        check_quiet(tap, client)
        check_changing(tap, server, client)
        check_leaving(tap, server, client)
    tap.ok(server.process.returncode == 0, "the server exits with status 0")
    print(f"1..{tap.count}")
    sys.exit(tap.failed > 0)


main()
