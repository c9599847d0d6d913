#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A node that cannot start jobs: the place of the jobs' TMPDIRs or the agent's
# state directory is read-only, missing or full, the agent has no descriptors
# left, or the cgroup of all jobs was removed. The node reports it and gets no
# more jobs until it is repaired. No job fails because of it. Likewise for a node
# that the site's health check finds faulty.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
need munged jq curl prlimit
[ "$(id -u)" -eq 0 ] || skip_all "only root can mount"
cluster_begin
need kiln-controller kiln-agent ksub kctl
cluster_user kilntest1 || skip_all "only root can make users"

unmount_all() {
    for place in tmp n1/state; do
        ! mountpoint -q "$cluster/$place" || umount -l "$cluster/$place"
    done
}
remove_cgroups() {
    for base in "/sys/fs/cgroup/kiln-broken-$$" \
        /sys/fs/cgroup/*/"kiln-broken-$$"; do
        [ ! -d "$base" ] ||
            find "$base" -depth -type d -exec rmdir {} \; 2>/dev/null
    done
}
trap 'unmount_all; (cluster_end); remove_cgroups' EXIT
directory "$cluster/tmp" 755
mount -t tmpfs -o size=1m,mode=1777 kiln-test "$cluster/tmp" 2>/dev/null ||
    skip_all "cannot mount a tmpfs here"
directory "$cluster/n1" 711
directory "$cluster/n1/state" 711
mount -t tmpfs -o size=16m,mode=711 kiln-test "$cluster/n1/state" ||
    skip_all "cannot mount a tmpfs here"
cluster_munge

agent() { # NAME [OPTION...]
    cluster_agent "$@" --topology 'package:1 core:4 pu:1' --heartbeat 500ms
}
node_is_ready() { admin get node "$1" --no-headers | grep -qw Ready; }
# Nodes with a given topology have a taint.
untaint() { admin taint node "$1" kiln.hpc/virtual- >/dev/null; }
is_tainted() { admin get node n1 -o json | jq -e '
    .spec.taints[]? | select(.key == "kiln.hpc/self-check-failed")'; }
is_untainted() { ! is_tainted; }
says() { # REASON
    [ "$(admin get node n1 -o json | jq -r '.status.conditions[] |
        select(.type == "SelfCheckFailed") | .reason')" = "$1" ]
}
words() { admin get node n1 -o json | jq -r '.status.conditions[] |
    select(.type == "SelfCheckFailed") | .message'; }
all_done() {
    for job; do
        admin get job "$job" --no-headers | grep -qw Completed || return 1
    done
}
failed() {
    for job; do
        admin get job "$job" -o json | jq '.status.failed // 0'
    done | sort -u
}

# survives REASON WHAT: submits jobs that come to the broken node first,
# because the other node is cordoned until the broken node reports what is
# wrong. Checks that none of them fails.
survives() { # REASON WHAT
    admin cordon n2 >/dev/null
    jobs=
    for _ in 1 2 3 4 5; do
        jobs="$jobs $(submit --wrap true)"
    done
    [ "$1" = - ] || ok "$2: the node reports the reason" wait_for 30 says "$1"
    [ "$1" = - ] || ok "$2: the node gets a taint" wait_for 10 is_tainted
    admin uncordon n2 >/dev/null
    # shellcheck disable=SC2086 # one word a job
    ok "$2: the jobs run on another node" wait_for 30 all_done $jobs
    # shellcheck disable=SC2086
    is "$2: none of the jobs failed" "$(failed $jobs)" 0
}

cluster_controller
agent n1 --tmp-dir "$cluster/tmp" --cgroup-base "/kiln-broken-$$"
agent n2
for node in n1 n2; do
    wait_for 20 node_is_ready "$node" || bail_out "no node $node"
    untaint "$node"
done

# --- a TMPDIR that cannot be created ------------------------------------------
mount -o remount,ro "$cluster/tmp"
survives TmpDirUnusable "a read-only tmpDir"
like "the message names the directory" "$(words)" "$cluster/tmp.*Read-only"
mount -o remount,rw "$cluster/tmp"
ok "the taint is removed when the directory is writable again" \
    wait_for 20 is_untainted
job=$(submit -w n1 --wrap true)
ok "the node then runs jobs" wait_for 20 all_done "$job"

# --- no descriptors -----------------------------------------------------------
pid=$(pid_of n1)
before=$(prlimit --pid "$pid" --nofile --noheadings --output SOFT | tr -d ' ')
# shellcheck disable=SC2012 # numbers
prlimit --pid "$pid" --nofile="$(ls "/proc/$pid/fd" | wc -l):"
survives NoFileDescriptors "no descriptors left"
like "the message says which setting to change" "$(words)" "LimitNOFILE"
prlimit --pid "$pid" --nofile="$before:"
ok "the taint is removed when the agent has descriptors again" \
    wait_for 20 is_untainted

# --- the state directory is full ----------------------------------------------
dd if=/dev/zero of="$cluster/n1/state/full" bs=1M count=16 2>/dev/null
survives StateDirUnusable "a full stateDir"
like "the message says which directory is full" \
    "$(words)" "$cluster/n1/state.*is full: free at least"
rm "$cluster/n1/state/full"
ok "the taint is removed when there is room again" wait_for 20 is_untainted

# --- the cgroup of all jobs ---------------------------------------------------
if log_line=$(grep 'no cgroups' "$cluster/log/n1"); then
    skip "the cgroup of all jobs goes away" "$log_line"
else
    remove_cgroups
    survives - "the cgroup of all jobs is missing"
    mended() { grep -q 'cgroup of all jobs was missing, and was created again' \
        "$cluster/log/n1"; }
    ok "the agent creates the cgroup again" wait_for 30 mended
    ok "the node has no taint then" wait_for 20 is_untainted
    job=$(submit -w n1 --wrap true)
    ok "the node then runs jobs" wait_for 20 all_done "$job"
fi

# --- before the node is Ready -------------------------------------------------
stop n1
umount "$cluster/tmp" || umount -l "$cluster/tmp"
rmdir "$cluster/tmp"
agent n1 --tmp-dir "$cluster/tmp" --cgroup-base "/kiln-broken-$$"
ok "a missing tmpDir is found when the agent starts" \
    wait_for 20 says TmpDirUnusable
like "the message names the directory" "$(words)" "$cluster/tmp.*No such file"
survives TmpDirUnusable "a missing tmpDir"

# --- the site's health check --------------------------------------------------
cat >"$cluster/check" <<TXT
#!/bin/sh
[ ! -e $cluster/hangs ] || { echo waiting for the disk; sleep 1000 & echo \$! >$cluster/pid; wait; }
[ ! -e $cluster/sick ] || { echo looking; echo the disk is broken >&2; exit 4; }
TXT
chmod 755 "$cluster/check"
cat >"$cluster/n3.yaml" <<TXT
healthCheck: {program: $cluster/check, interval: 1s, timeout: 2s}
TXT
agent n3 --config "$cluster/n3.yaml"
ok "a node with a health check is Ready" wait_for 20 node_is_ready n3
untaint n3
health_is() { # STATUS
    [ "$(admin get node n3 -o json | jq -r '.status.conditions[] |
        select(.type == "HealthCheckFailed") | .status')" = "$1" ]
}
is_sick() { admin get node n3 -o json | jq -e '
    .spec.taints[]? | select(.key == "kiln.hpc/health-check-failed")'; }
is_well() { ! is_sick; }
ok "it is healthy" wait_for 20 health_is False
: >"$cluster/sick"
ok "a node of which the check fails has a taint" wait_for 20 is_sick
like "kctl nodes shows the last line of the check" "$(admin nodes)" \
    'Faulty *n3 .*the disk is broken'
stop n3
agent n3 --config "$cluster/n3.yaml"
ok "the check fails after a restart of the agent, too" wait_for 20 health_is True
ok "the node still has the taint" is_sick
rm "$cluster/sick"
ok "the taint goes when the check succeeds" wait_for 20 is_well
: >"$cluster/hangs"
ok "a check that hangs has failed" wait_for 20 is_sick
like "the message says so" "$(admin nodes)" 'n3 .*waiting for the disk'
is_killed() { ! kill -0 "$(cat "$cluster/pid")" 2>/dev/null; }
rm "$cluster/hangs"
ok "its processes are killed" wait_for 20 is_killed
ok "the node is healthy again" wait_for 20 is_well
finish
