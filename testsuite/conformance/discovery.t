#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""discovery.t - compares the discovery documents of kiln-controller --conformance
with those of kube-apiserver 1.32

usage: discovery.t [--controller PATH]

Reads testsuite/data/conformance/api/discovery: plain and aggregated documents,
the forms that each Accept header gets, the index of /openapi/v3 and its schemas.
Kiln may serve more (its own kinds, fields and subresources), but nothing may be
missing or different. Paths that only Kiln's own programs use are absent. Prints
TAP.
"""
import argparse
import gzip
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
DATA = os.path.join(TOP, "testsuite/data/conformance/api/discovery")
# Kinds that the recording does not contain.
EXTRA_RESOURCES = {"cronjobs", "podtemplates"}
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;" \
    "as=APIGroupDiscoveryList"


class Controller:
    def __init__(self, program):
        self.directory = tempfile.mkdtemp(prefix="kiln-discovery.")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        log = open(os.path.join(self.directory, "log"), "ab")
        self.process = subprocess.Popen(
            [program, "--conformance", "--state-dir",
             os.path.join(self.directory, "state"),
             "--listen", f"127.0.0.1:{self.port}"], stdout=log, stderr=log)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.05)
        sys.exit("Bail out! kiln-controller does not start")

    def get(self, path, accept="application/json", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, 30)
        connection.request("GET", path, headers={
            "Accept": accept, "Authorization": "Bearer conformance",
            **(headers or {})})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer, text

    def post(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, 30)
        connection.request("POST", path, json.dumps(body), {
            "Content-Type": "application/json",
            "Authorization": "Bearer conformance"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def json(self, path, accept="application/json"):
        return json.loads(self.get(path, accept)[1])

    def end(self):
        self.process.terminate()
        self.process.wait(20)
        shutil.rmtree(self.directory)


class Tap:
    count = failed = 0

    def point(self, name, differences):
        self.count += 1
        word = "not ok" if differences else "ok"
        self.failed += bool(differences)
        print(f"{word} {self.count} - {name}")
        for line in differences[:10]:
            print(f"# {line}")


def load(name):
    with open(os.path.join(DATA, name)) as f:
        return json.load(f)


def compare(wanted, got, path=""):
    """Lists the differences between a recorded value and ours."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        out = []
        for key in wanted.keys() | got.keys():
            at = f"{path}.{key}"
            if key not in got:
                out.append(f"{at}: missing")
            elif key not in wanted:
                out.append(f"{at}: not upstream's: {got[key]!r}")
            else:
                out += compare(wanted[key], got[key], at)
        return out
    if isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            return [f"{path}: {len(got)} items, not {len(wanted)}"]
        return [line for i, (a, b) in enumerate(zip(wanted, got))
                for line in compare(a, b, f"{path}[{i}]")]
    if wanted == got or wanted == "<host>":
        return []
    return [f"{path}: {got!r}, not {wanted!r}"]


def own(name):
    """Whether a resource or group is Kiln's own or not in the recording."""
    return name.split("/")[0] in EXTRA_RESOURCES or name in ("kiln.hpc",
                                                             "podgroups")


def without_own(document):
    def keep(entry):
        name = entry.get("name") or entry.get("resource") or \
            entry.get("metadata", {}).get("name", "")
        return not own(name)

    for key in ("resources", "groups", "items"):
        if key in document:
            document[key] = [e for e in document[key] if keep(e)]
    for group in document.get("items", []):
        for version in group["versions"]:
            version["resources"] = [r for r in version["resources"]
                                    if keep(r)]
    return document


def check_documents(tap, server):
    documents = {"/api": "api.json", "/apis": "apis.json",
                 "/api/v1": "resources-core-v1.json",
                 "/apis/batch": "group-batch.json"}
    for name in sorted(os.listdir(DATA)):
        if name.startswith("resources-") and "core" not in name:
            group = name[len("resources-"):-len("-v1.json")]
            documents[f"/apis/{group}/v1"] = name
    for path, name in documents.items():
        tap.point(f"{path} is as recorded",
                  compare(load(name), without_own(server.json(path))))
    for path, name in (("/api", "api-aggregated-v2.json"),
                       ("/apis", "apis-aggregated-v2.json")):
        tap.point(f"{path}, aggregated, is as recorded",
                  compare(load(name),
                          without_own(server.json(path, AGGREGATED))))
    got = server.json("/version")
    tap.point("/version has every member, and the version is 1.32",
              [k for k, v in load("version.json").items()
               if not isinstance(got.get(k), str)
               or k in ("major", "minor") and got[k] != v])


def check_negotiation(tap, server):
    etags = {}
    for case in load("negotiation.json"):
        headers = {}
        if "ifNoneMatch" in case:
            headers["If-None-Match"] = etags[case["path"], case["accept"]]
        answer, text = server.get(case["path"], case["accept"], headers)
        differences = []
        if answer.status != case["status"]:
            differences.append(f"status {answer.status}")
        if case.get("etag"):
            etags[case["path"], case["accept"]] = \
                answer.getheader("ETag") or ""
        for header in ("Content-Type", "Vary"):
            key = header[0].lower() + header[1:].replace("-", "")
            if key in case and answer.getheader(header) != case[key]:
                differences.append(f"{header}: {answer.getheader(header)}")
        if bool(answer.getheader("ETag")) != bool(case.get("etag")) \
                and answer.status != 304:
            differences.append(f"ETag: {answer.getheader('ETag')}")
        if "kind" in case and json.loads(text).get("kind") != case["kind"]:
            differences.append(text[:100].decode())
        if "bodyBytes" in case and len(text) != case["bodyBytes"]:
            differences.append(f"{len(text)} bytes")
        tap.point(f"{case['path']} with Accept {case['accept'][:60]}"
                  f"{' again' if headers else ''}: {case['status']}",
                  differences)


def type_of(schema):
    """The type of a value in a schema, with references by name."""
    for key in ("allOf",):
        if key in schema:
            return schema[key][0]["$ref"].rsplit("/", 1)[1]
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if schema.get("type") == "array":
        return ["array", type_of(schema["items"])]
    if "additionalProperties" in schema:
        return ["map", type_of(schema["additionalProperties"])]
    return schema.get("type")


EXTENSIONS = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys",
              "x-kubernetes-patch-merge-key", "x-kubernetes-map-type")


def compare_schema(name, wanted, got):
    out = []
    for field, schema in wanted.get("properties", {}).items():
        mine = got.get("properties", {}).get(field)
        if mine is None:
            out.append(f"{name}.{field}: missing")
            continue
        if type_of(schema) != type_of(mine):
            out.append(f"{name}.{field}: {type_of(mine)}, "
                       f"not {type_of(schema)}")
        for extension in EXTENSIONS:
            # "granular" is the default.
            if schema.get(extension, "granular") != "granular" \
                    and schema[extension] != mine.get(extension):
                out.append(f"{name}.{field}: {extension} is "
                           f"{mine.get(extension)}, "
                           f"not {schema[extension]}")
    if "x-kubernetes-group-version-kind" in wanted \
            and "x-kubernetes-group-version-kind" not in got:
        out.append(f"{name}: no group, version and kind")
    return out


# Schemas that none of our objects refers to.
ELSEWHERE = ("DeleteOptions", "Preconditions", "Status", "WatchEvent",
             "APIResource", "Patch", "Eviction", "Binding", "Scale",
             "StatusDetails", "StatusCause", "RawExtension", "Info")


def check_openapi(tap, server):
    index = server.json("/openapi/v3")["paths"]
    documents = {}
    for path, entry in index.items():
        answer, text = server.get(entry["serverRelativeURL"])
        documents[path] = json.loads(text)
        tap.point(f"/openapi/v3/{path} is served with an ETag, and is immutable",
                  [] if answer.status == 200 and answer.getheader("ETag")
                  and "immutable" in answer.getheader("Cache-Control", "")
                  else [str(answer.status), str(answer.headers)])
    wanted = load("openapi-v3-index.json")["index"]["paths"]
    tap.point("the index has every group and version",
              [p for p in wanted if "/v1" in p and p not in index])
    with gzip.open(os.path.join(
            DATA, "openapi-v3-schemas-without-text.jsonl.gz")) as f:
        for line in f:
            recorded = json.loads(line)
            schemas = documents.get(recorded["groupVersion"], {}).get(
                "components", {}).get("schemas", {})
            out = []
            for name, schema in recorded["schemas"].items():
                if name not in schemas:
                    if name.rsplit(".", 1)[1] not in ELSEWHERE:
                        out.append(f"{name}: missing")
                else:
                    out += compare_schema(name, schema, schemas[name])
            tap.point(f"the schemas of {recorded['groupVersion']} "
                      "have the same fields, types and keys", out)
    for path, document in documents.items():
        text = json.dumps(document)
        names = document["components"]["schemas"]
        out = [r for r in set(
            part.split('"')[0]
            for part in text.split('"#/components/schemas/')[1:])
            if r not in names]
        tap.point(f"every reference in {path} has a schema", out)


PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


def check_absent(tap, server):
    """Paths, kinds and parameters that upstream lacks are absent."""
    template = {"restartPolicy": "Never",
                "schedulingGates": [{"name": "example.com/wait"}],
                "containers": [{"name": "c", "image": "host"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
           "spec": {"template": {"spec": template}}}
    tap.point("a pod and a job can be created",
              [f"{path}: {status} {answer.get('message')}"
               for path, body in ((PODS, pod), (JOBS, job))
               for status, answer in [server.post(path, body)]
               if status != 201])
    paths = (f"{PODS}/p/why", f"{JOBS}/j/why", "/kiln/v1/nodes", "/kiln/v1/timeline",
             "/kiln/v1/status", "/kiln/v1/whoami", "/apis/metrics.k8s.io",
             "/apis/metrics.k8s.io/v1beta1/nodes")
    tap.point("Kiln's own paths are absent",
              [f"{path}: {answer.status}" for path in paths
               for answer, _ in [server.get(path)] if answer.status != 404])
    for path, body in ((PODS, pod), (JOBS, job)):
        body["metadata"]["name"] = "new"
        status, answer = server.post(f"{path}?dryRun=All&why=true", body)
        tap.point(f"why=true does not change the creation of a {body['kind']}",
                  [] if (status, answer.get("kind")) == (201, body["kind"])
                  else [f"{status} {answer}"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--controller", default=os.path.join(
        os.environ.get("top_builddir", os.path.join(TOP, "build")),
        "kiln-controller"))
    options = parser.parse_args()
    tap = Tap()
    server = Controller(options.controller)
    try:
        check_documents(tap, server)
        check_negotiation(tap, server)
        check_openapi(tap, server)
        check_absent(tap, server)
    finally:
        server.end()
    print(f"1..{tap.count}")
    sys.exit(tap.failed > 0)


if __name__ == "__main__":
    main()
