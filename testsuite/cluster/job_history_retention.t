#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows of history that are too old or too many are removed. They can be
# exported before, and their sums are kept.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_munge
controller() { # CONFIGURATION
    printf '%s\n' "$1" >"$cluster/controller.yaml"
    cluster_controller --allow-root-jobs --config "$cluster/controller.yaml"
}
controller 'history: {maxAge: 1h}'
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
cd "$cluster/home" || bail_out "no home"

rows() { kctl history --all --no-headers -o csv=id,state; }
count() { rows | wc -l; }
has_rows() { [ "$(count)" = "$1" ]; }
sums() { kctl report -o json | jq -r '.[] | "\(.account) \(.completed)"'; }

for job in 1 2 3; do
    ksub -J "export $job" --wrap true >/dev/null
done
ok "jobs that ended have rows" wait_for 20 has_rows 3
exported=$(rows)
ok "an export has a line for each of them" \
    test "$(kctl history --all -o csv=all | grep -c '"\?export [123]')" = 3
sleep 1.2
ok "rows that are not too old are kept" has_rows 3

stop controller
controller 'history: {maxAge: 1s}'
ok "rows that are too old are removed" wait_for 20 has_rows 0
is "...their sums are kept" "$(sums)" "default 3"
is "...the export is kept" "$(printf '%s\n' "$exported" | wc -l)" 3
like "kctl history says that there are no rows" "$(kctl history 2>&1)" \
    "No attempts of jobs"

stop controller
controller 'history: {maxBytes: 1Ki}'
ksub --wrap true >/dev/null
four_ended() { [ "$(sums)" = "default 4" ]; }
ok "a job that ends is counted although the file is too large" \
    wait_for 20 four_ended
stop controller
controller 'history: {maxBytes: 1Ki}'
ok "...its row is removed because of the file's size" wait_for 20 has_rows 0
is "...its sum is kept" "$(sums)" "default 4"

# With a shared history, a start reads its last records again.
stop controller
controller 'history: {maxBytes: 1Ki}'
ok "...it does not come back when the controller starts again" wait_for 20 has_rows 0
is "...and is not counted again" "$(sums)" "default 4"
finish
