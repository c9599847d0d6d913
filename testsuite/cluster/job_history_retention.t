#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Rows of history go when they are old enough or too many, after they were
# exported; their sums stay.

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
ok "export has a line for each of them" \
    test "$(kctl history --all -o csv=all | grep -c '"\?export [123]')" = 3
sleep 1.2
ok "rows that are not old enough stay" has_rows 3

stop controller
controller 'history: {maxAge: 1s}'
ok "rows that are too old go" wait_for 20 has_rows 0
is "...their sums stay" "$(sums)" "default 3"
is "...and so does the export" "$(printf '%s\n' "$exported" | wc -l)" 3
like "it is said that none is there" "$(kctl history 2>&1)" \
    "No such attempts of jobs"

stop controller
controller 'history: {maxBytes: 1Ki}'
ksub --wrap true >/dev/null
four_ended() { [ "$(sums)" = "default 4" ]; }
ok "a job that ends counts in a file that is too large, too" \
    wait_for 20 four_ended
stop controller
controller 'history: {maxBytes: 1Ki}'
ok "...and its row goes by the size" wait_for 20 has_rows 0
is "...its sum does not" "$(sums)" "default 4"
finish
