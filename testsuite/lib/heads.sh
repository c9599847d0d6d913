# SPDX-License-Identifier: Apache-2.0
# heads.sh - two controllers, a and b, that share a store in a database. Source it after
# cluster.sh and postgres.sh, call cluster_begin, and set $cluster_store.
#
#   heads_begin                   their addresses, which clients know, and an empty store
#   head_start a [COMMAND...]     starts one, with the command before the controller's
#   leads a                       whether it leads
#   heads_node a n1 [OPTION...]   an agent, whose node takes jobs of the leader a

# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # cluster.sh, postgres.sh

heads_grace=60s # how long the agents may be silent

heads_begin() {
    cluster_munge
    for head in a b; do
        find_free_port
        eval "address_$head=127.0.0.1:$free_port"
    done
    cluster_address=$address_a
    cluster_url=http://$address_a,$address_b
    cluster_clients
    cluster_init
}

head_start() {
    head=$1
    shift
    directory "$cluster/$head" 700
    eval "head_address=\$address_$head"
    start "$head" "$@" kiln-controller --state-dir "$cluster/$head" --store "$cluster_store" \
        --listen "$head_address" --cluster test --munge-socket "$munge_socket" \
        --socket "$cluster/$head/socket" --node-grace "$heads_grace"
}

leads() { curl -fs --max-time 5 --unix-socket "$cluster/$1/socket" http://kiln/livez; }

# Commands of the administrator go to the leader's own socket.
heads_node() {
    head_socket=$cluster/$1/socket
    head_node=$2
    shift 2
    cluster_agent "$head_node" --heartbeat 1s "$@"
    wait_for 40 env KILN_SERVER="$head_socket" kctl wait --for condition=Ready node "$head_node" ||
        bail_out "no node $head_node"
    for head_taint in $(KILN_SERVER=$head_socket kctl get node "$head_node" -o json |
        jq -r '.spec.taints[]?.key'); do
        KILN_SERVER=$head_socket kctl taint node "$head_node" "$head_taint-" >/dev/null
    done
}
