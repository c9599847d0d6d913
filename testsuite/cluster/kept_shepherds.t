#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A shepherd that has finished its pod runs the next pod, of any user: with that
# user's identity, and without the variables and descriptors of the last pod. It
# can be told to end, be killed, and be followed by a new agent like any other
# shepherd. A waiting shepherd ends with its agent.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-forkserver ksub kctl jq
! is_sanitized || skip_all "no memory is shared under a sanitizer"
cluster_user kilntest1 || skip_all "only root can make users"
cluster_user kilntest2
cluster_munge
cluster_controller
agent() { cluster_agent n1 --topology 'package:1 core:1 pu:1' "$@"; }
agent

home=$cluster/home/kilntest1
node_is_ready() { admin get nodes | grep -qw Ready; }
state_is() { # ID STATE
    admin get job "$1" --no-headers | grep -qw "$2"
}
ok "a node registers" wait_for 20 node_is_ready
# Virtual nodes have a taint that keeps ordinary jobs away.
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

# Prints the output of a job of that user on one line.
output_of() { # USER COMMAND [OPTION...]
    output_user=$1
    output_command=$2
    shift 2
    output_id=$(as "$output_user" ksub --parsable -o out "$@" \
        --wrap "$output_command")
    wait_for 20 state_is "$output_id" Completed
    tr '\n' ' ' <"$cluster/home/$output_user/out"
}
# shellcheck disable=SC2016 # the job's variables
parent_of_job() { output_of "$1" 'echo $PPID'; }

# For a user's first job, another program looks up the user. The shepherd of
# such a job is not kept.
parent_of_job kilntest1 >/dev/null
parent_of_job kilntest2 >/dev/null
first=$(parent_of_job kilntest1)
if [ "$(parent_of_job kilntest1)" != "$first" ]; then
    parent_of_job kilntest1 >/dev/null
    skip_all "shepherds do not stay here: no cgroups, or no memory is counted"
fi

# --- which users --------------------------------------------------------------
is "a user's second job has the shepherd of the first" \
    "$(parent_of_job kilntest1)" "$first"
is "another user's job has that shepherd, too" \
    "$(parent_of_job kilntest2)" "$first"
is "that job runs as its own user" \
    "$(output_of kilntest2 'id -un; id -gn; id -Gn')" \
    "kilntest2 kilntest2 kilntest2 "
as kilntest1 env SECRET=first ksub --parsable --export SECRET \
    --wrap 'true' >"$home/id"
wait_for 20 state_is "$(cat "$home/id")" Completed
is "it has neither the variables nor the descriptors of the last job" \
    "$(output_of kilntest2 'env | grep -c SECRET; ls /proc/self/fd | wc -l')" \
    "0 4 "
is "the shepherd's oom_score_adj is that of the agent's newest child" \
    "$(cat "/proc/${first% }/oom_score_adj")" \
    "$(cat "/proc/$(pgrep -n -P "$(pid_of n1)")/oom_score_adj")"

# --- failures -----------------------------------------------------------------
failing=$(as kilntest1 ksub --parsable -D /nowhere --wrap true)
ok "a job that cannot start fails" wait_for 20 state_is "$failing" Failed
parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
is "shepherds are kept after such a job" "$(parent_of_job kilntest2)" "$first"

cat >"$home/patient.sh" <<'TXT'
#!/bin/sh
trap 'echo told >>told-$KILN_JOB_ID; exit 3' TERM
echo $$ >>starts-$KILN_JOB_ID
while [ ! -e end-$1 ]; do sleep 0.2; done
exit "$(cat end-$1)"
TXT
chown kilntest1: "$home/patient.sh"
started() { grep -q . "$home/starts-$1"; }
submit() { # WORD
    id=$(as kilntest1 ksub --parsable patient.sh "$1")
    wait_for 20 started "$id"
}
starts_of() { wc -l <"$home/starts-$1" | tr -d ' '; }
shepherd_of() { # ID: prints the parent of the job's first process
    awk '/^PPid:/ { print $2 }' "/proc/$(tail -n 1 "$home/starts-$1")/status"
}
submit told
is "a long job has a kept shepherd" "$(shepherd_of "$id") " "$first"
as kilntest1 kctl delete job "$id" >/dev/null 2>&1
ok "it gets SIGTERM when it is deleted" wait_for 20 test -s "$home/told-$id"

parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
kill -TERM "${first% }"
ok "a waiting shepherd ends when its node is shut down" \
    wait_for 10 has_ended "${first% }"
is "a new one takes its place" "$(parent_of_job kilntest2 | grep -c .)" 1

parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
submit lost
is "another long job has a kept shepherd" "$(shepherd_of "$id") " "$first"
kill -KILL "${first% }"
ok "it has failed when its shepherd is killed" wait_for 20 \
    state_is "$id" NodeFailed

parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
kill -KILL "${first% }"
is "after a waiting shepherd was killed, the next job runs" \
    "$(output_of kilntest1 'echo runs')" "runs "

# --- without an agent ---------------------------------------------------------
parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
submit followed
is "a job that ends later has a kept shepherd" "$(shepherd_of "$id") " "$first"
stop n1 KILL
agent
wait_for 20 node_is_ready
echo 7 >"$home/end-followed"
ok "the next agent follows it to its end" wait_for 20 state_is "$id" Failed
is "the next agent reports its exit code" \
    "$(admin get pods -o json | jq -r --arg job "job-$id" \
    '.items[] | select(.metadata.ownerReferences[0].name == $job) |
     .status.containerStatuses[0].state.terminated.exitCode')" 7
is "the job was started once" "$(starts_of "$id")" 1
ok "the shepherd ends with the job" wait_for 20 has_ended "${first% }"

parent_of_job kilntest1 >/dev/null
first=$(parent_of_job kilntest1)
stop n1 KILL
ok "a waiting shepherd ends when its agent is killed" \
    wait_for 20 has_ended "${first% }"

# --- with reuseShepherds: false -----------------------------------------------
agent --reuse-shepherds false
wait_for 20 node_is_ready
first=$(parent_of_job kilntest1)
second=$(parent_of_job kilntest1)
ok "with reuseShepherds: false each pod has its own shepherd" \
    [ "${first:-none}" != "${second:-none}" ]
ok "such a shepherd ends with its pod" wait_for 20 has_ended "${first% }"
ok "the next pod's shepherd ends, too" wait_for 20 has_ended "${second% }"
finish
