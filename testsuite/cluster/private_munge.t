#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The helpers of cluster.sh that cluster tests depend on: a private munged,
# daemons that are started and stopped by name, and other users.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged munge unmunge
cluster_begin
cluster_munge

ok "a credential made with the private key is accepted" \
    sh -c "munge -n -S '$munge_socket' | unmunge -S '$munge_socket'"

start sleeper sleep 1000
ok "a daemon runs after start" is_running sleeper
stop sleeper
is "a daemon that is stopped has ended by SIGTERM" "$stopped_with" 143
not_ok "it does not run any more" is_running sleeper

find_free_port
not_ok "nobody listens on a free port" \
    curl -s --max-time 2 "http://127.0.0.1:$free_port/"

if cluster_user kilntest1; then
    is "a command runs as another user" "$(as kilntest1 id -un)" kilntest1
    is "the other user's home is in the cluster's directory" \
        "$(as kilntest1 pwd)" "$cluster/home/kilntest1"
    ok "the other user can use the private munged" \
        as kilntest1 munge -n -S "$munge_socket"
else
    skip "a command runs as another user" "only root can make users"
fi
finish
