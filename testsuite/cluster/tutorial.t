#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands of the manual page kiln-tutorial(7), in its order: each prints
# what the page says.

# shellcheck disable=SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step kalloc krun ksub kctl jq python3 setpriv
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
for n in n1 n2; do
    cluster_agent $n --topology 'package:1 core:4 pu:1'
done
wait_for 20 root wait --for condition=Ready node n1 n2 || bail_out "no nodes"
for n in n1 n2; do
    for key in $(root get node $n -o json | jq -r '.spec.taints[]?.key'); do
        root taint node $n "$key-" >/dev/null 2>&1
    done
done
python3 "$top_srcdir/testsuite/cluster/tutorial.py" "$top_srcdir/man/kiln-tutorial.7" \
    "$cluster/home/kilntest1" kilntest1
tap_status=$?
exit $tap_status
