#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A user keeps a process from ending that an agent or a shepherd waits for. They
# must wait for it without being held up themselves.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
hold=${top_builddir:-.}/testsuite/attack/hold
[ -x "$hold" ] || skip_all "testsuite/attack/hold is not built"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cp "$hold" "$cluster/bin/hold"

# The mounts below the cluster's directory go with it.
unmount() { grep -o " ${cluster}[^ ]*" /proc/mounts | while read -r at; do umount -l "$at"; done; }
trap 'status=$?; unmount; (exit "$status"); cluster_end' EXIT

cluster_controller
KILN_SERVER=$cluster/state/socket
export KILN_SERVER
home=$cluster/home/kilntest1
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
kctl taint n1 "$(kctl get node n1 -o json | jq -r '.spec.taints[] |
    select(.key | contains("virtual")).key')-" >/dev/null

state_is() { kctl get job "$1" --no-headers | grep -qw "$2"; }
holds() { grep -q holding "$cluster/log/$1"; }
begin_hold() { # NAME ARGUMENTS...: as this test's user
    begin_name=$1
    shift
    start "$begin_name" "$@"
    wait_for 20 holds "$begin_name"
}
runs_another() { wait_for 20 state_is "$(submit -o /dev/null --wrap true)" Completed; }

# --- a reader of logs that cannot be killed -----------------------------------

# The output file is replaced by a link into a file system of the user's own,
# which does not answer. Without FUSE, this test holds the reader itself by
# tracing it as root, which no user could do: it then stays a zombie.
readers() { # of this cluster: their pids
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$cluster/bin/kiln-output" 2>/dev/null | tr -dc '0-9\n'
}
is_reading() { [ -n "$(readers)" ]; }
id=$(submit -o "$home/out" --wrap 'echo line; sleep 1000')
wait_for 20 grep -q line "$home/out" || bail_out "the job does not begin"
directory "$home/held" 700
chown kilntest1: "$home/held"
is_fuse=no
if begin_hold files hold files "$home/held" "$(id -u kilntest1)" "$(id -g kilntest1)"; then
    is_fuse=yes
    as kilntest1 rm "$home/out" # ln -f would look at both files
    as kilntest1 ln -s "$home/held/out" "$home/out"
else
    note "no FUSE here: $(cat "$cluster/log/files")"
fi
start reader kctl logs -f "$id"
ok "a helper reads the output" wait_for 20 is_reading
[ "$is_fuse" = no ] || ok "it waits for the user's file system" \
    wait_for 20 grep -q asked "$cluster/log/files"
helper=$(readers | head -n 1)
[ "$is_fuse" = yes ] || begin_hold helper hold process "$helper"
is_asleep() { grep -q '^State:.[DZ]' "/proc/$helper/status"; }
stop reader KILL
ok "the agent kills it when the reader has gone" wait_for 20 is_asleep
ok "the node still runs jobs after its reader has gone" runs_another
is "the helper has not ended" "$(is_asleep && echo yes)" yes
if [ "$is_fuse" = yes ]; then stop files KILL; else stop helper KILL; fi
helper_is_gone() { ! [ -e "/proc/$helper" ]; }
ok "the helper ends when it can, and is reaped" wait_for 20 helper_is_gone
kctl cancel "$id" >/dev/null

# --- an output whose size nobody is told --------------------------------------

# With user_allow_other in fuse.conf, root may look at a user's file system, and
# the shepherd looks at its job's output.
directory "$home/slow" 700
chown kilntest1: "$home/slow"
if [ "$is_fuse" = yes ] &&
    begin_hold output hold output "$home/slow" "$(id -u kilntest1)" "$(id -g kilntest1)"; then
    id=$(submit -o "$home/slow/out" --wrap 'echo line; exec sleep 1000')
    ok "a job runs whose output cannot be looked at" wait_for 20 state_is "$id" Running
    sleep 1 # a shepherd looks at the output every 0.1 s
    kctl cancel "$id" >/dev/null
    ok "it ends when it is cancelled" wait_for 20 state_is "$id" Cancelled
    id=$(submit -o "$home/slow/closed/out" --wrap true)
    ok "a job fails whose output it may not open, without a look at the directory" \
        wait_for 20 state_is "$id" Failed
    stop output KILL
else
    skip "a job runs whose output cannot be looked at" "no FUSE here"
fi

# --- file systems in TMPDIR that do not answer --------------------------------

# They may be served by another pod of the user, and outlive the job.
end_with_mount() { # PATH: below TMPDIR, where it is mounted
    as kilntest1 rm -f tmpdir go
    # shellcheck disable=SC2016 # of the job's shell
    id=$(submit -o /dev/null --wrap 'mkdir "$TMPDIR/in"; echo "$TMPDIR" >tmpdir
        while [ ! -e go ]; do sleep 0.2; done')
    wait_for 20 test -s "$home/tmpdir" || bail_out "the job does not begin"
    mounted=$(cat "$home/tmpdir")
    begin_hold "all$1" hold all "$mounted/$1" "$(id -u kilntest1)" "$(id -g kilntest1)"
    as kilntest1 touch go
}
if [ "$is_fuse" = yes ]; then
    for at in in .; do
        end_with_mount $at
        ok "a job ends whose TMPDIR has a file system that does not answer: $at" \
            wait_for 20 state_is "$id" Completed
        is_removed() { ! [ -e "$mounted" ]; }
        ok "its TMPDIR is removed without a question to that: $at" wait_for 20 is_removed
        stop "all$at" KILL
    done
else
    skip "a job ends whose TMPDIR has a file system that does not answer" "no FUSE here"
fi

# --- what readers cost --------------------------------------------------------

# All but the ends of this file is a hole, in which there are no lines.
id=$(submit -o "$home/sparse" --wrap 'echo first; truncate -s 15T '"$home/sparse"'
    printf "\\nlast but one\\nlast\\n" >>'"$home/sparse"'; sleep 1000')
wait_for 20 grep -aq first "$home/sparse"
is_written() { tail -c 5 "$home/sparse" | grep -q last; }
if wait_for 10 is_written; then
    is "the last line is found without reading a hole of 15 TB" \
        "$(timeout 30 kctl logs --tail 1 "$id")" last
    is "lines are not searched before the hole" \
        "$(timeout 30 kctl logs --tail 9 "$id" | tr -d '\000' | tr '\n' ' ')" " last but one last "
else
    skip "the last line is found" "no file may have 15 TB here"
fi
start reader0 kctl logs -f --tail 1 "$id"
wait_for 20 is_reading
# The reader of an answer above may just be ending, and a new one just be entering its cgroup.
is_lowest() { [ "$(ps -o ni= -p "$(readers | head -n 1)" | tr -d ' ')" = 19 ]; }
has_cgroup() { grep -qs /readers "/proc/$(readers | head -n 1)/cgroup"; }
if grep -q "does not limit\|no cgroup" "$cluster/log/n1"; then
    skip "the readers have a cgroup of their own" "no cgroups here"
else
    ok "the readers have a cgroup of their own" wait_for 20 has_cgroup
fi
ok "their priority is the lowest" wait_for 20 is_lowest
for i in $(seq 31); do start "reader$i" kctl logs -f --tail 1 "$id"; done
all_read() { [ "$(readers | wc -l)" -eq 32 ]; }
ok "as many readers as a user may have read the outputs of one user" wait_for 30 all_read
like "further readers are refused" "$(timeout 30 kctl logs --tail 1 "$id" 2>&1)" \
    'too many readers read outputs of this user'
for i in $(seq 0 31); do stop "reader$i" KILL; done
none_reads() { ! is_reading; }
ok "all helpers end with their readers" wait_for 20 none_reads
kctl cancel "$id" >/dev/null

# --- who reads ----------------------------------------------------------------

# An administrator may give a pod any group, but the node runs nothing as a
# member of a group that its user is not in.
echo secret >"$cluster/secret"
chgrp 42 "$cluster/secret"
chmod 640 "$cluster/secret"
kctl create -f - >/dev/null <<JSON
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader"},
 "spec": {"restartPolicy": "Never",
  "securityContext": {"runAsUser": $(id -u kilntest1), "runAsGroup": 42},
  "execution": {"stdoutPath": "$cluster/secret"},
  "containers": [{"name": "main", "image": "host", "command": ["true"]}]}}
JSON
is_refused() { kctl get pod reader -o json | jq -e '.status.phase == "Failed"'; }
ok "a pod of a foreign group does not run" wait_for 20 is_refused
like "its output is not read with that group either" "$(kctl logs reader 2>&1)" 'Permission denied'

# --- a job that another pod of its user traces --------------------------------

# Submits a job that waits for a line, and one that traces its main process:
# $id, $pod, $tracer. A signal would stop the traced job, so it has no children.
trace_job() { # process|exit
    as kilntest1 rm -f pid go trace
    as kilntest1 mkfifo go
    # shellcheck disable=SC2016 # of the job's shell
    id=$(submit -o /dev/null --wrap 'echo $$ >pid; read -r line <go; exit 0')
    pod=job-$id-0
    wait_for 20 test -s "$home/pid" || bail_out "the job does not begin"
    tracer=$(submit -o "$home/trace" --wrap "exec hold $1 $(cat "$home/pid")")
    wait_for 20 grep -q holding "$home/trace"
}
pod_is_gone() { ! kctl get pod "$pod"; }
if trace_job process; then
    echo line >"$home/go"
    ok "a traced job that ends has its end, although nobody can reap it" \
        wait_for 20 state_is "$id" Completed
    ok "its tracer goes on" state_is "$tracer" Running
    kctl cancel "$tracer" >/dev/null
    trace_job process
    kctl delete pod "$pod" --grace-period=1 >/dev/null
    ok "a traced pod that is deleted is gone" wait_for 20 pod_is_gone
    kctl cancel "$tracer" >/dev/null
    trace_job exit
    kctl delete pod "$pod" --grace-period=1 >/dev/null
    ok "a pod whose process is stopped at its exit is gone, too" wait_for 20 pod_is_gone
    ok "because its tracer was killed" wait_for 20 state_is "$tracer" Failed
    nothing_is_left() { [ -z "$(kctl get node n1 -o json | jq -r '.status.remnants[]?.name')" ]; }
    ok "the node has its cores back" wait_for 20 nothing_is_left
else
    skip "a traced job that ends has its end" "users may not trace processes here: $(cat "$home/trace")"
fi

finish
