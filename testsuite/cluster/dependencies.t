#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job starts when what it waits for of other jobs has become so, and not
# before, whatever becomes of them meanwhile and whenever the controller dies;
# one that waits in vain is told so.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

submit() { as kilntest1 ksub --parsable "$@"; }
state() { root get job "job-$1" -o json | jq -r '.status.state // "Pending"'; }
has_state() { [ "$(state "$1")" = "$2" ]; }

a=$(submit --wrap 'exec sleep 1000')
b=$(submit -d "afterok:$a" --wrap true)
c=$(submit -d "afternotok:$a" --wrap true)
d=$(submit -d "afterany:$a,afterok:$c" --wrap true)
e=$(submit -d "after:$a" --wrap 'exec sleep 1000')
ok "after: starts beside what it waits for" wait_for 20 has_state "$e" Running
is_text=$(as kilntest1 kctl jobs)
printf '%s\n' "$is_text" | sed 's/^/# /'
as kilntest1 kctl cancel "$a" >/dev/null
ok "afternotok: starts when it was cancelled" wait_for 20 has_state "$c" Completed
ok "afterok of that ends as what can never be" wait_for 20 has_state "$b" Cancelled
ok "afterany and afterok, both: when both are" wait_for 20 has_state "$d" Completed
as kilntest1 kctl jobs --all | sed 's/^/# /'
as kilntest1 kctl why "$b" | sed 's/^/# /'
finish
