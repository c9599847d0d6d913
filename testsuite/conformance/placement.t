#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All recorded answers of the kubelet's managers. Where the kubelet is wrong,
# the answer is ours.

data=${top_srcdir:-.}/testsuite/data/conformance/placement
set --
for name in cpu-assign cpu-hints topology-merge memory admit-pod \
    upstream-defects; do
    set -- "$@" "$data/$name.jsonl.gz"
done
exec "${top_builddir:-.}/testsuite/conformance/placement" "$@"
