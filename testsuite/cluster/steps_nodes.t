#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Steps of jobs of several nodes, which have networks of their own: krun starts tasks on
# all of them, and nothing of a step is left when its krun, or a node, is gone.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step krun krsh kctl ksub jq
cluster_user kilntest1 || skip_all "only root can make users"
netns_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
for number in 1 2 3; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 n3 --timeout 1s; }
ok "three agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2 3; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done
home=$cluster/home/kilntest1

# job TEXT: runs a job of three nodes with two tasks of one CPU on each; its output
# is in $home/out.
job() {
    {
        echo "#!/bin/sh"
        echo "#KSUB -N 3 -n 6 -t 5 -o out"
        cat
    } >"$home/job.sh"
    rm -f "$home/out"
    as kilntest1 ksub -D "$home" --wait --quiet "$home/job.sh"
}

job <<'S'
krun hostname | sort
S
is "krun starts the job's tasks, two on each node" "$(cat "$home/out")" "n1
n1
n2
n2
n3
n3"

finish
