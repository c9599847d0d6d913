# SPDX-License-Identifier: Apache-2.0
"""The cluster of the recorded runs of kubectl: what was in it at the start, and
what others than kubectl did to it meanwhile."""
import re
import threading
import time

from replay.server import JSON, TOKEN

PODS = "/api/v1/namespaces/hpc/pods"
BUDGETS = "/apis/policy/v1/namespaces/hpc/poddisruptionbudgets"
JOBS = "/apis/batch/v1/namespaces/hpc/jobs"
START = "2024-03-01T00:00:00Z"
# No agent ends these pods when they are deleted.
ENDLESS = {"stuck", "guarded2"}


def container(name):
    amounts = {"cpu": "2", "memory": "1Gi"}
    if name == "side":
        return {"name": name, "image": "b"}
    return {"name": name, "image": "app:1", "command": ["sleep", "60"],
            "resources": {"limits": amounts, "requests": amounts}}


def pod(name, labels=None, node="node-1", owner=None, containers=("main",),
        volumes=None, app="w"):
    made = {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "hpc",
                         "labels": dict({"app": app}, **(labels or {}))},
            "spec": {"containers": [container(c) for c in containers],
                     "restartPolicy": "Never"}}
    if node:
        made["spec"]["nodeName"] = node
    if owner:
        made["metadata"]["ownerReferences"] = [owner]
    if volumes:
        made["spec"]["volumes"] = volumes
    return made


def pod_status(made, phase):
    if phase == "Pending":
        return {"phase": phase}
    if phase == "Running":
        state = {"running": {"startedAt": "2024-03-01T00:00:02Z"}}
    else:
        state = {"terminated": {
            "exitCode": 0 if phase == "Succeeded" else 1,
            "reason": "Completed" if phase == "Succeeded" else "Error",
            "startedAt": "2024-03-01T00:00:02Z",
            "finishedAt": "2024-03-01T01:00:02Z"}}
    is_ready = phase == "Running"
    return {
        "phase": phase, "podIP": "10.1.0.5", "podIPs": [{"ip": "10.1.0.5"}],
        "startTime": START,
        "conditions": [{"type": "Ready", "status": str(is_ready),
                        "lastProbeTime": None, "lastTransitionTime": START}],
        "containerStatuses": [
            {"name": c["name"], "image": c["image"], "imageID": "",
             "containerID": "kiln://1", "ready": is_ready,
             "restartCount": 1 if i == 0 else 0,
             "lastState": {}, "state": state}
            for i, c in enumerate(made["spec"]["containers"])]}


def node(name, is_ready):
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "allocatable": {"cpu": "8", "memory": "31Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": str(is_ready),
                            "reason": "KubeletReady", "message": "ready",
                            "lastHeartbeatTime": START,
                            "lastTransitionTime": START}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"},
                          {"type": "Hostname", "address": name}],
            "nodeInfo": {"machineID": "m", "systemUUID": "s", "bootID": "b",
                         "kernelVersion": "6.1.0", "osImage": "Debian 12",
                         "containerRuntimeVersion": "kiln://0.1",
                         "kubeletVersion": "v1.32.0", "kubeProxyVersion": "",
                         "operatingSystem": "linux", "architecture": "amd64"}}}


def event(name, about, kind, reason, message, source):
    """about: the stored pod."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    return {"apiVersion": "v1", "kind": "Event",
            "metadata": {"name": name, "namespace": "hpc"},
            "involvedObject": {"apiVersion": "v1", "kind": "Pod",
                               "name": about["metadata"]["name"],
                               "namespace": "hpc",
                               "uid": about["metadata"]["uid"]},
            "type": kind, "reason": reason, "message": message,
            "source": source, "count": 1, "firstTimestamp": now,
            "lastTimestamp": now}


JOB = {"apiVersion": "batch/v1", "kind": "Job",
       "metadata": {"name": "train", "namespace": "hpc"},
       "spec": {"completions": 3, "parallelism": 2, "template": {"spec": {
           "restartPolicy": "Never",
           "containers": [{"name": "c", "image": "app:1",
                           "command": ["a"]}]}}}}
DAEMON = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent",
          "uid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427", "controller": True}
OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "elsewhere",
         "uid": "1b4e28ba-2fa1-11d2-883f-0016d3cca428", "controller": True}


class World:
    """The other clients beside kubectl. They use the server directly."""

    def __init__(self, server):
        self.server = server
        self.done = set()
        self.evicting_drains = 0

    def ask(self, method, path, body=None):
        answer = self.server.send(
            method, path, {"Authorization": TOKEN, "Accept": JSON,
                           "Content-Type": JSON, "User-Agent": "golden"}, body)
        if answer.status >= 400:
            raise OSError(f"{method} {path}: {answer.status} "
                          + answer.body.decode(errors="replace")[:300])
        return answer.json()

    def make(self, collection, made, status=None):
        created = self.ask("POST", collection, made)
        if status:
            created["status"] = status
            self.ask("PUT", f"{collection}/{made['metadata']['name']}/status",
                     created)

    def make_event(self, name, about, *rest):
        about = self.ask("GET", f"{PODS}/{about}")
        self.make("/api/v1/namespaces/hpc/events", event(name, about, *rest))

    def make_pod(self, name, phase="Running", **how):
        made = pod(name, **how)
        self.make(PODS, made, pod_status(made, phase))

    def begin(self):
        """Creates what existed when the recording began."""
        self.make("/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "hpc"}})
        for name, is_ready in (("node-1", True), ("node-2", False)):
            made = node(name, is_ready)
            self.make("/api/v1/nodes", made, made["status"])
            got = self.ask("GET", "/api/v1/nodes/" + name)
            got["spec"].pop("taints", None)
            self.ask("PUT", "/api/v1/nodes/" + name, got)
        self.make_pod("web", labels={"tier": "gold"})
        self.make_pod("done", "Succeeded")
        self.make_pod("broken", "Failed")
        self.make_pod("pair", containers=("main", "side"))
        self.make(PODS, pod("waiting", node=None))
        self.make(JOBS, JOB, {"active": 2, "ready": 2, "succeeded": 1,
                              "startTime": START})
        self.make_event("e1", "web", "Normal", "Started",
                        "Started container main",
                        {"component": "agent", "host": "node-1"})
        self.make_event("e2", "waiting", "Warning", "FailedScheduling",
                        "0/2 nodes are available",
                        {"component": "kiln/sched", "host": "h"})
        self.make("/apis/coordination.k8s.io/v1/namespaces/hpc/leases", {
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "leader", "namespace": "hpc"},
            "spec": {"holderIdentity": "x", "leaseDurationSeconds": 15}})
        self.make("/apis/scheduling.k8s.io/v1/priorityclasses", {
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "urgent"}, "value": 1000})

    def once(self, words, pattern, deed):
        if pattern in self.done or not re.search(pattern, words):
            return
        self.done.add(pattern)
        deed()

    def before(self, words):
        """Does what happened before that command was run."""
        volume = [{"name": "scratch", "emptyDir": {}}]
        self.once(words, r"^kubectl drain", lambda: (
            self.make_pod("emp", volumes=volume, owner=OWNER),
            self.make_pod("dsp", owner=DAEMON)))
        self.once(words, r"^kubectl delete pod x1", lambda: [
            self.make_pod(f"x{i}", app="x") for i in range(1, 6)])
        self.once(words, r"^kubectl delete pods -l app=y", lambda: (
            self.make_pod("y1", app="y", node=None, phase="Pending"),
            self.make_pod("y2", app="y")))
        self.once(words, r"^kubectl delete pod stuck",
                  lambda: self.make_pod("stuck", app="x"))

        if re.match(r"kubectl drain.* --force .*timeout", words):
            self.evicting_drains += 1
            self.between_drains(self.evicting_drains)

    def between_drains(self, count):
        """Removes the budget that kubectl created. The second drain that
        evicts finds other pods than the first, and the last one finds a budget
        that allows no eviction."""
        if count == 1:
            self.server.send("DELETE", BUDGETS + "/guard", {
                "Authorization": TOKEN, "Accept": JSON})
        if count == 2:
            self.make_pod("again", app="a")
            self.make_pod("guarded", app="a")
        if count == 3:
            self.make_pod("guarded2", app="w2")
            self.make(BUDGETS, {
                "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
                "metadata": {"name": "strict", "namespace": "hpc"},
                "spec": {"minAvailable": 1,
                         "selector": {"matchLabels": {"app": "w2"}}}},
                {"observedGeneration": 1, "disruptionsAllowed": 0,
                 "currentHealthy": 1, "desiredHealthy": 1,
                 "expectedPods": 1})


class Nodes(threading.Thread):
    """Ends pods that are being deleted, as the agents of nodes do, and
    deletes the pod for whose deletion kubectl waits."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world = world
        self.is_over = threading.Event()
        self.awaited = None # (name, time of its deletion)

    def run(self):
        while not self.is_over.wait(0.3):
            try:
                self.look()
            except OSError:
                pass

    def look(self):
        if self.awaited and time.monotonic() > self.awaited[1]:
            self.world.ask("DELETE", f"{PODS}/{self.awaited[0]}",
                           {"gracePeriodSeconds": 0})
            self.awaited = None
        for item in self.world.ask("GET", PODS)["items"]:
            meta = item["metadata"]
            if "deletionTimestamp" in meta and meta["name"] not in ENDLESS:
                self.world.ask("DELETE", f"{PODS}/{meta['name']}",
                               {"gracePeriodSeconds": 0})
