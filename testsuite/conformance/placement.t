#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every recorded answer of the kubelet's managers, and where it is wrong, ours.

data=${top_srcdir:-.}/testsuite/data/conformance/placement
set --
for name in cpu-assign cpu-hints topology-merge memory admit-pod \
    upstream-defects; do
    set -- "$@" "$data/$name.jsonl.gz"
done
exec "${top_builddir:-.}/testsuite/conformance/placement" "$@"
