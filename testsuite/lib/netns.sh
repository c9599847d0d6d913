# SPDX-License-Identifier: Apache-2.0
# netns.sh - agents that have a network of their own: each is in a network
# namespace with an address, and in a UTS namespace with its name as host name,
# and finds the others in /etc/hosts. Source it after cluster.sh.
#
# The address 127.0.0.1 is another one in each namespace, so what reaches a node
# by its name here reaches that node.

# shellcheck shell=sh
# shellcheck disable=SC2154 # cluster.sh

# Makes the network; skips the test where that is not possible. Call it after
# cluster_begin and before cluster_controller, which then listens there.
netns_begin() {
    need ip unshare mount
    [ "$(id -u)" -eq 0 ] || skip_all "only root can make network namespaces"
    netns_bridge=kb$$
    netns_net=10.$((128 + $$ / 256 % 100)).$(($$ % 256))
    ip link add "$netns_bridge" type bridge 2>/dev/null ||
        skip_all "no network can be made here (it needs CAP_NET_ADMIN)"
    trap 'netns_status=$?; netns_end; (exit "$netns_status"); cluster_end' EXIT
    ip netns add "$netns_bridge-x" 2>/dev/null ||
        skip_all "no network namespace can be made here (it needs CAP_SYS_ADMIN)"
    ip address add "$netns_net.254/24" dev "$netns_bridge"
    ip link set "$netns_bridge" up
    echo "127.0.0.1 localhost" >"$cluster/hosts"
    chmod 644 "$cluster/hosts"
    find_free_port
    cluster_address=$netns_net.254:$free_port
    cluster_url=http://$cluster_address
    cluster_clients
}

# netns_space_add NAME NUMBER: a network namespace with that address.
netns_space_add() {
    netns_space=$netns_bridge-$2
    ip netns add "$netns_space" || bail_out "no namespace for $1"
    ip link add "kv$2-$$" type veth peer name eth0 netns "$netns_space"
    ip link set "kv$2-$$" master "$netns_bridge" up
    ip -n "$netns_space" address add "$netns_net.$2/24" dev eth0
    ip -n "$netns_space" link set eth0 up
    ip -n "$netns_space" link set lo up
}

# netns_add NAME NUMBER: the same, which the others find by its name.
netns_add() {
    netns_space_add "$1" "$2"
    echo "$netns_net.$2 $1" >>"$cluster/hosts"
}

# netns_agent NAME NUMBER OPTION...: starts an agent with that address.
netns_agent() {
    netns_name=$1 netns_number=$2
    shift 2
    netns_add "$netns_name" "$netns_number"
    directory "$cluster/$netns_name" 711
    netns_start "$netns_name" "$netns_number" "$@"
}

# netns_start NAME NUMBER OPTION...: starts an agent again that has been killed.
netns_start() {
    netns_name=$1 netns_space=$netns_bridge-$2
    shift 2
    # shellcheck disable=SC2016 # for that shell
    start "$netns_name" ip netns exec "$netns_space" unshare --mount --uts sh -c '
        mount --bind "$1" /etc/hosts && hostname "$2" && shift 2 && exec "$@"' _ \
        "$cluster/hosts" "$netns_name" kiln-agent --controller "$cluster_url" \
        --cluster test --service-user "$(id -un)" \
        --munge-socket "$munge_socket" --node-name "$netns_name" \
        --state-dir "$cluster/$netns_name/state" --run-dir "$cluster/$netns_name/run" \
        --shepherd "$cluster/bin/kiln-shepherd" "$@"
}

# netns_user USER NAME NUMBER COMMAND...: runs the command as that user, in the user's home, on
# a machine with that name and address that has no agent.
netns_user() {
    netns_as=$1 netns_name=$2 netns_space=$netns_bridge-$3 netns_number=$3
    shift 3
    [ -e "/run/netns/$netns_space" ] || netns_space_add "$netns_name" "$netns_number"
    # shellcheck disable=SC2016 # for that shell
    ip netns exec "$netns_space" unshare --mount --uts sh -c '
        mount --bind "$1" /etc/hosts && hostname "$2" && user=$3 && shift 3 && cd "$1" && shift &&
        exec setpriv --reuid "$user" --regid "$user" --init-groups env -i HOME="$PWD" \
            USER="$user" LOGNAME="$user" SHELL=/bin/sh PATH="$PATH" KILN_CONFIG="$KILN_CONFIG" "$@"
        ' _ "$cluster/hosts" "$netns_name" "$netns_as" "$cluster/home/$netns_as" "$@"
}

# The names are those of the system, not of a variable: netns_user also adds a namespace
# where a test calls it in a subshell.
netns_end() {
    for netns_space in /run/netns/"$netns_bridge"-*; do
        [ ! -e "$netns_space" ] || ip netns delete "${netns_space##*/}"
    done
    ip link delete "$netns_bridge" 2>/dev/null
}
