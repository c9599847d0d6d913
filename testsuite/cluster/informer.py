#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""informer.py - an informer over the ConfigMaps of namespace "watched", by
python3-kubernetes

Reads $KUBECONFIG. Prints a line for each event: "listed N", "ADDED name",
"MODIFIED name", "DELETED name", "410" when its resource version is too old and
it lists again, "lost" when the connection ends.
"""
import sys
import time

from kubernetes import client, config, watch


def tell(*words):
    print(*words, flush=True)


def list_all(api, known):
    answer = api.list_namespaced_config_map("watched")
    tell("listed", len(answer.items))
    now = {item.metadata.name: item.metadata.resource_version
           for item in answer.items}
    for name in sorted(set(now) - set(known)):
        tell("ADDED", name)
    for name in sorted(set(known) - set(now)):
        tell("DELETED", name)
    known.clear()
    known.update(now)
    return answer.metadata.resource_version


def follow(api, known, version):
    """Returns the version to continue from, None if the version is too old."""
    for event in watch.Watch().stream(
            api.list_namespaced_config_map, "watched",
            resource_version=version, timeout_seconds=30,
            allow_watch_bookmarks=True):
        if event["type"] == "ERROR":
            return None
        meta = event["object"].metadata
        version = meta.resource_version
        if event["type"] == "BOOKMARK":
            continue
        tell(event["type"], meta.name)
        if event["type"] == "DELETED":
            known.pop(meta.name, None)
        else:
            known[meta.name] = version
    return version


def main():
    config.load_kube_config()
    api = client.CoreV1Api()
    known = {}
    version = None
    while True:
        try:
            if version is None:
                version = list_all(api, known)
            version = follow(api, known, version)
        except Exception as e:  # urllib3 raises several types for a lost connection
            if getattr(e, "status", None) != 410:
                tell("lost", type(e).__name__)
                time.sleep(0.2)
                continue
            version = None
        if version is None:
            tell("410")


sys.exit(main())
