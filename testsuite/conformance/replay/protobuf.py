# SPDX-License-Identifier: Apache-2.0
"""Bodies in protobuf as kubectl sends them, and the answer in JSON."""
import base64

from replay.compare import Bindings, Comparison, Mismatch, Unbound
from replay.patches import namespace_of
from replay.server import TOKEN, Server


def knows(line):
    return "bodyBase64" in line


def check(line, server, comparison):
    answer = server.send(
        line["method"], line["path"],
        {"Authorization": TOKEN, "Content-Type": line["contentType"],
         "Accept": line["accept"]},
        base64.b64decode(line["bodyBase64"]))
    if comparison.status(line["status"], answer):
        comparison.compare("", line["responseAsJson"], answer.json())


def run(lines, options, tally):
    comparison = Comparison(Bindings(), options.words)
    with Server(options.controller) as server:
        for name in {x["path"].split("/namespaces/")[1].split("/")[0]
                     for x in lines if "/namespaces/" in x["path"]}:
            server.load(namespace_of({"metadata": {"namespace": name}}))
        for line in lines:
            case = "protobuf " + " ".join(line["argv"])
            why = options.omissions.why("protobuf", line)
            if why:
                tally.skips(case, why)
                continue
            try:
                check(line, server, comparison)
                tally.passes()
            except (Mismatch, Unbound, OSError, ValueError) as e:
                tally.fails(case, e)
                if not server.is_up():
                    print(server.log())
                    break
    return comparison
