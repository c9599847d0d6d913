#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each task that started has its own row in history, and the tasks that never
# started share one row, even if the controller dies.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:2 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

state() { root get job "job-$1" -o json | jq -r '.status.state // "Pending"'; }
has_state() { [ "$(state "$1")" = "$2" ]; }
runs() { [ "$(root get job "job-$1" -o json | jq -r .status.ready)" = "$2" ]; }
# Prints the rows of a job: "1042_7 Cancelled", sorted.
rows() {
    as kilntest1 kctl history "$@" -o json | jq -r '.items[] |
        "\(.job)_\(.task // .tasks // "-") \(.state)"' | sort | tr '\n' ' '
}
has_rows() { [ "$(rows "$1")" = "$2 " ]; }

# --- tasks that never started share one row -----------------------------------

a=$(submit -a 1-200 --wrap 'exec sleep 1000')
wait_for 20 runs "$a" 2 || bail_out "no task runs"
as kilntest1 kctl cancel "$a" >/dev/null
ok "an array can be cancelled" wait_for 20 has_state "$a" Cancelled
ok "each task that ran has a row, and the rest has one row" wait_for 10 \
    has_rows "$a" "${a}_1 Cancelled ${a}_2 Cancelled ${a}_3-200 Cancelled"
like "the table shows that row in Slurm's syntax" \
    "$(as kilntest1 kctl history "$a" --no-headers)" "${a}_\[3-200\]"
is "a query for a task of the rest finds the common row" \
    "$(rows "${a}_150")" "${a}_3-200 Cancelled "
is "a query for a range finds the rows of tasks that ran, too" \
    "$(rows "${a}_[2-4]")" \
    "${a}_2 Cancelled ${a}_3-200 Cancelled "

b=$(submit -a 5-50:5 --hold --wrap true)
as kilntest1 kctl cancel "$b" >/dev/null
ok "an array of which nothing started has one row" \
    wait_for 20 has_rows "$b" "${b}_5-50:5 Cancelled"

f=$(submit -H -a 5 --wrap true)
as kilntest1 kctl cancel "$f" >/dev/null
is_plain() { as kilntest1 kctl history --no-headers "$f" | grep -q "^${f}_5 "; }
ok "the row of a single task that never started has no brackets" \
    wait_for 20 is_plain

# --- ranges, and a controller that dies ---------------------------------------

# shellcheck disable=SC2016 # for the job
c=$(submit -a 1-8%1 --wrap 'test $KILN_ARRAY_TASK_ID != 2 || exec sleep 1000')
is_done() { root get job "job-$c" -o json | jq -e '.status.succeeded >= 1' >/dev/null; }
wait_for 20 is_done || bail_out "no task has completed"
as kilntest1 kctl cancel "${c}_[4-8]" >/dev/null
signal controller KILL
await_end controller || bail_out "the controller lives"
cluster_controller --socket "$cluster/socket"
wait_for 20 root get job "job-$c" >/dev/null
as kilntest1 kctl cancel "${c}_2" >/dev/null
ok "an array ends when its last tasks are cancelled after the controller was killed" \
    wait_for 30 has_state "$c" Cancelled
row_of() { rows "$c" | tr ' ' '\n' | grep -c "^${c}_$1\$"; }
all_once() {
    for task in 1 2 3; do [ "$(row_of "$task")" = 1 ] || return 1; done
    [ "$(rows "$c" | tr ' ' '\n' | grep -c -- '-8$')" = 1 ]
}
ok "each task that started has one row, and the rest has one row together" \
    wait_for 10 all_once
finish
