#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All recorded answers of kube-scheduler and of the API machinery behind it,
# and cases that no recording has, written by hand from what the code of
# kube-scheduler does.

data=${top_srcdir:-.}/testsuite/data/conformance/scheduler
set --
for name in filter hints misc nominated preemption quantity queue score \
    selectors sequence validation; do
    set -- "$@" "$data/$name.jsonl.gz"
done
set -- "$@" "${top_srcdir:-.}/testsuite/conformance/edges.jsonl"
exec "${top_builddir:-.}/testsuite/conformance/scheduler" "$@"
