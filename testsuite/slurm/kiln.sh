# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of cluster.sh
# kiln.sh - a Kiln that looks like the Slurm of real.sh
#
#   cluster_begin
#   cluster_munge
#   kiln_slurm
#
# The commands that come first in $PATH then are Kiln's.

admin() {
    kctl --server "http+unix://$cluster/state/socket" "$@"
}

kiln_partition() {
    printf '{"apiVersion": "kiln.hpc/v1", "kind": "Partition", "metadata": {"name": "%s"},
        "spec": {"selector": {"matchLabels": {"part-%s": "yes"}}%s}}\n' "$1" "$1" "$2" |
        admin apply -f - >/dev/null
}

kiln_slurm() {
    cluster_slurm
    directory "$cluster/state" 700
    cluster_init
    python3 -c 'import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.execute("UPDATE counters SET job_id = 4000")
store.commit()' "$cluster/state/kiln.db" || bail_out "the first job cannot have the id 4001"
    # Hundreds of commands in a few seconds are more than a user may ask for.
    echo 'limits: {perUser: {requestsPerSecond: 0}}' >"$cluster/controller.yaml"
    cluster_controller --config "$cluster/controller.yaml"
    for kiln_node in n1 n2 n3 n4; do
        cluster_agent "$kiln_node" --topology 'package:2 core:4 pu:1'
    done
    wait_for 60 admin wait --for condition=Ready node n1 n2 n3 n4 || bail_out "no nodes"
    for kiln_node in n1 n2 n3 n4; do
        for kiln_key in $(admin get node "$kiln_node" -o json | jq -r '.spec.taints[]?.key'); do
            admin taint node "$kiln_node" "$kiln_key-" >/dev/null
        done
    done
    admin label node n1 part-one=yes >/dev/null
    admin label node n2 part-two=yes >/dev/null
    for kiln_node in n3 n4; do
        admin label node "$kiln_node" part-gpu=yes feature.kiln.hpc/big=true >/dev/null
    done
    kiln_partition gpu ', "maximumTime": "2-00:00:00"'
    kiln_partition one ''
    kiln_partition two ''
}

# A command with the rights of an administrator.
operator() {
    (KILN_SERVER=http+unix://$cluster/state/socket && export KILN_SERVER && "$@")
}
