#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The requests of users for their processes must not exceed what the node grants
# of resource limits, real-time and nice priorities, and numbers of processes.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl prlimit
[ "$(id -u)" -eq 0 ] || skip_all "only root's shepherd could raise a limit"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge

mine() { as kilntest1 kctl "$@"; }
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
state_is() { admin get job "$1" --no-headers | grep -qw "$2"; }
home=$cluster/home/kilntest1
cluster_controller
# Sets the limits of this shell, which the agent and its jobs inherit.
prlimit --pid $$ --nofile=512:1024 --memlock=65536:65536 --rtprio=0:0 \
    --nice=0:0 || skip_all "cannot lower limits"
cluster_agent n1 --topology 'package:1 core:2 pu:1' --heartbeat 500ms \
    --pids-per-pod 24 --default-memory 64Mi
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null

create() { # NAME LIMITS COMMAND [ANNOTATIONS]
    cat >"$home/$1.json" <<EOF
{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "$1"},
 "spec": {"backoffLimit": 0, "template": {
  "metadata": {"annotations": ${4:-{\}}},
  "spec": {
   "restartPolicy": "Never",
   "execution": {"limits": $2, "stdoutPath": "$home/$1.out"},
   "containers": [{"name": "main", "image": "host",
    "workingDir": "$home", "command": ["/bin/sh", "-c", "$3"]}]}}}}
EOF
    chmod 644 "$home/$1.json"
    mine create -f "$home/$1.json" >/dev/null || bail_out "no job $1"
}

# As create, then waits for the end of the job. The job's output is then in
# $out.
run() {
    create "$@"
    ok "$1: the job runs" wait_for 20 state_is "$1" Completed
    out=$(cat "$home/$1.out")
}
limit() { # NAME: prints the soft and the hard limit from /proc/self/limits
    printf '%s\n' "$out" | sed -n "s/^$1  *\([^ ]*\)  *\([^ ]*\).*/\1 \2/p"
}

# --- resource limits ----------------------------------------------------------
most='"soft": "unlimited", "hard": "unlimited"'
run raised "[{\"name\": \"rtprio\", \"soft\": \"99\", \"hard\": \"99\"},
  {\"name\": \"nice\", \"soft\": \"40\", \"hard\": \"40\"},
  {\"name\": \"memlock\", $most}, {\"name\": \"nofile\", \"soft\": \"1000000\",
  \"hard\": \"1000000\"}]" "cat /proc/self/limits"
is "no real-time priority is granted" "$(limit 'Max realtime priority')" "0 0"
is "no better nice value is granted" "$(limit 'Max nice priority')" "0 0"
is "no more locked memory is granted than the agent has" \
    "$(limit 'Max locked memory')" \
    "65536 65536"
is "no more open files are granted than the agent has" \
    "$(limit 'Max open files')" "1024 1024"
run lowered '[{"name": "nofile", "soft": "100", "hard": "200"}]' \
    "cat /proc/self/limits"
is "lower limits are set" "$(limit 'Max open files')" "100 200"

# --- processes ----------------------------------------------------------------
pids=$(find /sys/fs/cgroup -maxdepth 2 -name cgroup.controllers \
    -exec grep -lw pids {} + 2>/dev/null)
if [ -z "$pids" ] && [ ! -d /sys/fs/cgroup/pids ]; then
    skip "processes are counted" "there is no pids controller"
    finish
fi
# A shell that cannot fork ends. Each successful fork prints a line.
bomb="(i=0; while [ \$i -lt 60 ]; do i=\$((i + 1)); \
sleep 2 & echo one; done) 2>/dev/null; exit 0"
run bomb '[]' "$bomb"
made=$(printf '%s\n' "$out" | grep -c one)
ok "a pod has no more processes than the node grants ($made)" \
    [ "$made" -gt 4 -a "$made" -lt 24 ]
run fewer '[]' "$bomb" '{"kiln.hpc/pids-limit": "8"}'
made=$(printf '%s\n' "$out" | grep -c one)
ok "a pod can ask for fewer processes ($made)" [ "$made" -lt 8 ]
run more '[]' "$bomb" '{"kiln.hpc/pids-limit": "1000"}'
made=$(printf '%s\n' "$out" | grep -c one)
ok "a pod cannot ask for more processes than the node grants ($made)" \
    [ "$made" -lt 24 ]

# --- the default memory limit -------------------------------------------------
if grep -q 'memory: limits are not enforced' "$cluster/log/n1"; then
    skip "memory has a default limit" "there is no memory controller"
    finish
fi
create eater '[]' "f=\$(head -c 100000000 /dev/zero | tr '\\\\0' x); true"
ok "a job that asks for no memory gets the default limit of the node" \
    wait_for 20 state_is eater OutOfMemory
finish
