#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How jobs end that nobody watched: the reason says what really happened, and
# time limits hold.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl
cluster_begin
need kiln-controller kiln-agent ksub kctl
[ "$(id -u)" -eq 0 ] || skip_all "only root runs jobs of others"
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
remove_cgroups() {
    for base in "/sys/fs/cgroup/kiln-ends-$$" \
        /sys/fs/cgroup/*/"kiln-ends-$$"; do
        [ ! -d "$base" ] ||
            find "$base" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
}
trap '(cluster_end); remove_cgroups' EXIT

admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
submit() { as kilntest1 ksub --parsable "$@"; }
home=$cluster/home/kilntest1
node_is_ready() { admin get node n1 --no-headers | grep -qw Ready; }
state_is() { admin get job "$1" --no-headers | grep -Eqw "$2"; }
agent() {
    cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 500ms \
        --cgroup-base "/kiln-ends-$$"
}
pod() { admin get pods -l "job-name=job-$1" -o json | jq -r ".items[0]$2"; }
is_over() { pod "$1" .status.phase | grep -Eq 'Failed|Succeeded'; }
cluster_controller
agent
wait_for 20 node_is_ready || bail_out "no node"
admin taint node n1 kiln.hpc/virtual- >/dev/null

# --- whoever watched over it is gone ------------------------------------------
# end_of DOING: of a job whose agent and shepherd are killed, after which DOING
# is done in its directories; the job's end is in $reason and $words.
end_of() {
    rm -f "$home/runs"
    id=$(submit --wrap "echo \$PPID >part; mv part runs; exec sleep 1000")
    wait_for 20 test -e "$home/runs"
    wait_for 20 state_is "$id" Running
    uid=$(pod "$id" .metadata.uid)
    stop n1 KILL
    shepherd=$(cat "$home/runs")
    kill -KILL "$shepherd"
    wait_for 10 has_ended "$shepherd"
    run=$cluster/n1/run/pods/$uid
    state=$cluster/n1/state/pods/$uid
    "$1"
    agent
    wait_for 20 is_over "$id"
    reason=$(pod "$id" .status.reason)
    words=$(pod "$id" .status.message)
}
nothing() { :; }
end_of nothing
is "a shepherd that was killed is said to have been" "$reason" ShepherdLost
boot=$(cat /proc/sys/kernel/random/boot_id)
rebooted() { sed -i "s/$boot/another-boot/" "$run/pod" "$run/live"; }
end_of rebooted
is "a restart of the node is called so" "$reason" NodeRebooted
emptied() { rm -rf "$run" "$state"; }
end_of emptied
is "where nothing is left nothing is made up" "$reason" PodLost
like "but said" "$words" 'not been restarted.*files were removed'
ok "and no process of it is" [ ! -e "$run" ]

# --- a process that the kernel kills for memory --------------------------------
# Of a script that does not look at how its child ended. The next step of a
# pipeline must not begin on what it left.
enforces() {
    admin get node n1 -o json | jq -e '.status.conditions[] |
        select(.type == "MemoryEnforced" and .status == "True")' >/dev/null
}
eat="awk 'BEGIN { s = \"x\"; while (1) s = s s }'"
if enforces; then
    status=0
    submit -o /dev/null --mem 32M --wait --wrap "$eat; exit 0" >"$home/id" ||
        status=$?
    is "a job of which a child was killed for memory has failed" "$status" 137
    id=$(head -n 1 "$home/id")
    is "by name" "$(pod "$id" \
        '.status.containerStatuses[0].state.terminated.reason')" OOMKilled
    ok "for its owner, too" state_is "$id" OutOfMemory
    status=0
    submit -o /dev/null --mem 32M --wait --wrap "$eat || exit 3" >/dev/null ||
        status=$?
    like "a code of its own stays" "$status" '^(3|137)$'
else
    skip 4 "memory cannot be limited here"
fi

# --- output that nobody takes -------------------------------------------------
as kilntest1 mkfifo fifo
waiting() { pod "$1" '.status.containerStatuses[0].state.waiting.message'; }
says_waiting() { waiting "$1" | grep -q "standard output '$home/fifo'"; }
id=$(submit -o fifo --wrap true)
ok "a job whose output nobody reads says what it waits for" \
    wait_for 20 says_waiting "$id"
like "also to whoever describes it" "$(admin get events -A)" \
    "StartBlocked.*standard output '$home/fifo'"
as kilntest1 kctl cancel "$id" >/dev/null
ok "it can be cancelled" wait_for 15 state_is "$id" Cancelled
id=$(submit -t 0:03 -o fifo --wrap true)
ok "and its time limit holds" wait_for 20 state_is "$id" TimedOut
id=$(submit -o fifo --wrap 'echo read')
wait_for 20 says_waiting "$id"
like "it starts when somebody reads" "$(timeout 10 cat "$home/fifo")" read
ok "and ends well" wait_for 20 state_is "$id" Completed

# --- a time limit without an agent --------------------------------------------
rm -f "$home/runs"
id=$(submit -t 0:03 --wrap "echo \$\$ >part; mv part runs; exec sleep 1000")
wait_for 20 test -e "$home/runs"
wait_for 20 state_is "$id" Running
stop n1 KILL
ok "a time limit holds while the agent is dead" \
    wait_for 20 has_ended "$(cat "$home/runs")"
agent
ok "and the next one says so" wait_for 20 state_is "$id" TimedOut

# --- what killed agents leave -------------------------------------------------
names() {
    find /sys/fs/cgroup -mindepth 2 -maxdepth 3 -path "*/kiln-ends-$$/*" \
        -type d ! -name shepherds ! -name keeper -printf '%f\n' 2>/dev/null |
        sort -u | wc -l
}
few_cgroups() { [ "$(names)" -le 5 ]; }
for _ in 1 2 3; do
    job=$(submit --wrap true)
    wait_for 20 state_is "$job" Completed
    stop n1 KILL
    agent
done
job=$(submit --wrap true)
wait_for 20 state_is "$job" Completed
ok "cgroups of killed agents are collected" wait_for 20 few_cgroups
is "and nothing is left of their runs" \
    "$(find "$cluster/n1/run/pods" -mindepth 1 -maxdepth 1 | wc -l)" 0
no_records() { [ -z "$(find "$cluster/n1/state/pods" -name exit)" ]; }
ok "nor of how they ended" wait_for 20 no_records
finish
