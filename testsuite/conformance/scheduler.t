#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every recorded answer of kube-scheduler that Kiln has plugins for.

data=${top_srcdir:-.}/testsuite/data/conformance/scheduler
set --
for name in filter hints misc nominated preemption queue score sequence; do
    set -- "$@" "$data/$name.jsonl.gz"
done
exec "${top_builddir:-.}/testsuite/conformance/scheduler" "$@"
