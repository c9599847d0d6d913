#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Recorded API data of Kubernetes, replayed over HTTP, and rules that were
# written down from its sources: one test point per file. Runs of kubectl are
# replayed if kubectl is installed.

: "${top_srcdir:=.}"
: "${top_builddir:=build}"
. "$top_srcdir/testsuite/lib/tap.sh"
[ -x "$top_builddir/kiln-controller" ] || skip_all "kiln-controller is missing"
command -v python3 >/dev/null || skip_all "python3 is missing"
out=$(mktemp -d) || bail_out "no directory"
trap 'rm -rf "$out"' EXIT
data=$top_srcdir/testsuite/data/conformance/api

# The files run at the same time, because most of the time they wait for
# watches to end.
set -- "$data"/*.jsonl.gz "$top_srcdir"/testsuite/conformance/rules/*.jsonl
for file; do
    "$top_srcdir/testsuite/conformance/api" \
        --controller "$top_builddir/kiln-controller" "$file" \
        >"$out/$(basename "$file")" 2>&1 &
done
wait
for file; do
    name=$(basename "$file")
    last=$(tail -n 1 "$out/$name")
    case $last in
    "0 passed, 0 failed, "*) skip "$name" "$(sed -n 's/^# skipped [0-9]*: //p' \
        "$out/$name" | head -n 1)" ;;
    *" passed, 0 failed, "*) pass "$name: $last" ;;
    *)
        fail "$name: $last"
        grep -v '^#' "$out/$name" | cut -c 1-300 | head -n 20 |
            while read -r line; do note "$line"; done
        ;;
    esac
done
finish
