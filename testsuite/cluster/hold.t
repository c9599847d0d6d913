#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A held job starts nothing and its running pods continue, whatever happens at
# the same time as the hold and whenever the controller is killed. A change of
# a job that is reverted before a controller notices it ends no job, and the
# changes that remain take effect.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
cluster_user kilntest1 || skip_all "only root can make users"
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done

# patches ID BODY...: sends the patches one after the other over one
# connection.
patches() {
    patched=http://kiln$jobs/job-$1
    shift
    for body; do
        printf 'next\nunix-socket = "%s"\nrequest = PATCH\nurl = "%s"\n' \
            "$cluster/socket" "$patched"
        printf 'header = "Content-Type: application/merge-patch+json"\n'
        printf 'output = /dev/null\ndata = "%s"\n' \
            "$(printf '%s' "$body" | sed 's/"/\\"/g')"
    done | sed 1d | curl -s -K -
}
submit() { # COUNT OPTIONS: submits that many jobs, their IDs are in $ids
    count=$1
    shift
    ids=
    for _ in $(seq "$count"); do
        ids="$ids $(as kilntest1 ksub --parsable "$@")"
    done
}
hold='{"spec":{"suspend":true}}'
release='{"spec":{"suspend":false}}'
of_jobs() { # KIND FILTER: prints what FILTER selects for each job in $ids
    root get "$1" -o json | jq -r --arg ids "$ids " ".items[] |
        select((.metadata.ownerReferences[0].name // .metadata.name) as \$job |
            \$ids | contains(\" \" + (\$job | sub(\"job-\"; \"\")) + \" \")) | $2"
}
count_running() {
    [ "$(of_jobs pods 'select(.status.phase == "Running") | .metadata.name' |
        wc -l)" -eq "$1" ]
}
ended() { of_jobs jobs 'select(.status.failed != null) | .metadata.name'; }

submit 4 --wrap 'exec sleep 1000'
ok "four jobs run" wait_for 20 count_running 4
for id in $ids; do
    patches "$id" "$hold" "$release" "$hold" "$release"
done
ok "jobs that are suspended and resumed at once keep running, or run again" \
    wait_for 30 count_running 4
is "none of them has failed" "$(ended)" ""
for id in $ids; do
    patches "$id" '{"spec":{"suspend":true,"template":{"spec":{"priority":7}}}}' \
        "$release"
done
all_have_priority() { # of the pods that run
    [ "$(of_jobs pods 'select(.status.phase == "Running") | .spec.priority' |
        tr '\n' ' ')" = "$1" ]
}
ok "jobs that are changed meanwhile run with the change" \
    wait_for 30 all_have_priority '7 7 7 7 '
is "none of those jobs has failed" "$(ended)" ""
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# These jobs are so new that their pods are still being created.
ids=
for _ in 1 2 3 4 5 6; do
    id=$(as kilntest1 ksub --parsable -c 1000 --wrap true)
    patches "$id" '{"spec":{"suspend":true,"template":{"spec":{"priority":9}}}}' \
        "$release"
    ids="$ids $id"
done
all_wait() {
    [ "$(of_jobs pods 'select(.metadata.deletionTimestamp == null) |
        .spec.priority' | tr '\n' ' ')" = '9 9 9 9 9 9 ' ]
}
ok "new jobs that are changed meanwhile wait with the change" \
    wait_for 30 all_wait
is "none of the new jobs has failed" "$(ended)" ""
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# --- hold and release ---------------------------------------------------------
state() { root get job "$1" -o json | jq -r .status.state; }
state_is() { [ "$(state "$1")" = "$2" ]; }
pods_of() { # ID FILTER
    root get pods -o json | jq -r --arg job "job-$1" ".items[] |
        select(.metadata.ownerReferences[0].name == \$job) | $2"
}
held_pods() {
    pods_of "$1" '.metadata.annotations["kiln.hpc/hold"] // "none"'
}
has_held_pods() { [ "$(held_pods "$1" | tr '\n' ' ')" = "$2" ]; }
is_bound() { [ -n "$(pods_of "$1" '.spec.nodeName // empty')" ]; }
annotation() {
    root get job "$1" -o json | jq -r ".metadata.annotations[\"$2\"] // \"\""
}
submit 1 -c 4 --wrap 'exec sleep 1000'
runner=${ids# }
ok "a job occupies the whole node" wait_for 20 state_is "$runner" Running
submit 1 -c 4 --wrap 'exec sleep 1000'
waiter=${ids# }
ok "another job waits" wait_for 20 state_is "$waiter" Pending
like "kctl hold says that a running job continues" \
    "$(as kilntest1 kctl hold "$runner")" \
    "^job/$runner held; running pods are not affected$"
is "the job says who holds it" "$(annotation "$runner" kiln.hpc/hold)" kilntest1
like "the job says since when it is held" \
    "$(annotation "$runner" kiln.hpc/hold-at)" '^20.*Z$'
is "a waiting job can be held" "$(as kilntest1 kctl hold "$waiter")" \
    "job/$waiter held"
ok "its pod gets the hold annotation" \
    wait_for 20 has_held_pods "$waiter" 'true '
ok "its state is Held" wait_for 20 state_is "$waiter" Held
is "holding it again has the same result" \
    "$(as kilntest1 kctl hold "$waiter")" \
    "job/$waiter held"
like "kctl why says that it is held" "$(as kilntest1 kctl why "$waiter")" 'held'
is "the running job that is held keeps its pod" \
    "$(pods_of "$runner" .metadata.name)" \
    "job-$runner-0"
ok "its state is still Running" state_is "$runner" Running

# The running job ends while it is held. The waiting job, which is held, may
# not take its place.
root delete pod "job-$runner-0" >/dev/null
ok "the running job has ended" wait_for 30 state_is "$runner" Cancelled
sleep 2
not_ok "a held job does not take the free cores" is_bound "$waiter"
like "a job that has ended cannot be held" \
    "$(as kilntest1 kctl hold "$runner" 2>&1)" 'has ended already'
like "the API refuses that, too" "$(api kilntest1 PATCH "$jobs/job-$runner" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":null}}}' $merge; api kilntest1 \
    PATCH "$jobs/job-$runner" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":"x"}}}' $merge)" \
    '403 .*it has ended already; there is nothing left to hold'
is "a held job can be released" "$(as kilntest1 kctl release "$waiter")" \
    "job/$waiter released"
ok "the job then runs" wait_for 20 state_is "$waiter" Running
is "it runs in the pod that it had" "$(pods_of "$waiter" .metadata.name)" \
    "job-$waiter-0"
is "the pod has no hold annotation any more" "$(held_pods "$waiter")" none
is "releasing a job that is not held says so" \
    "$(as kilntest1 kctl release "$waiter")" \
    "job/$waiter is not held"
is "a job can be requeued and held" \
    "$(as kilntest1 kctl requeue --hold "$waiter")" "job/$waiter requeued and held"
ok "it is Held then" wait_for 30 state_is "$waiter" Held
is "it has no pod" "$(pods_of "$waiter" .metadata.name)" ""
is "the pod that was stopped does not count as failed" \
    "$(root get job "$waiter" -o json | jq -r '"\(.status.failed) \(.status.excused)"')" \
    'null 1'
as kilntest1 kctl release "$waiter" >/dev/null
ok "when it is released, it starts again" wait_for 20 state_is "$waiter" Running
submit 1 -H -c 1 --wrap true
id=${ids# }
ok "a job that is submitted with --hold is Held" wait_for 20 state_is "$id" Held
is "such a job has no pod" "$(pods_of "$id" .metadata.name)" ""
is "such a job is not suspended" \
    "$(root get job "$id" -o json | jq -r .spec.suspend)" false
told_who() {
    as kilntest1 kctl events --for "$1" | grep -q 'Held by kilntest1'
}
ok "an event says who holds it" wait_for 20 told_who "$id"

# --- the controller is killed in between --------------------------------------
again() {
    stop controller KILL
    cluster_controller --socket "$cluster/socket"
}
submit 1 -c 4 --wrap true
id=${ids# }
ok "another job waits for the node" wait_for 20 state_is "$id" Pending
as kilntest1 kctl hold "$id" >/dev/null
again
ok "the pod of a job that is held just before a kill gets the annotation" \
    wait_for 20 has_held_pods "$id" 'true '
as kilntest1 kctl cancel "$waiter" >/dev/null
sleep 3
not_ok "the held job gets no node" is_bound "$id"
again
ok "the job is still Held after another kill" wait_for 20 state_is "$id" Held
not_ok "the job still gets no node" is_bound "$id"
as kilntest1 kctl release "$id" >/dev/null
again
ok "a job that is released just before a kill completes" \
    wait_for 40 state_is "$id" Completed
is "it has one attempt" \
    "$(root get job "$id" -o json | jq -r .status.attempts)" 1

# --- holds at the same time as bindings ---------------------------------------
# A pod that has no node when all holds are answered gets none later.
submit 12 -c 1 --wrap 'exec sleep 1000'
for id in $ids; do
    as kilntest1 kctl hold "$id" >/dev/null
done
bound() { of_jobs pods 'select(.spec.nodeName != null) | .metadata.name' | sort; }
before=$(bound)
sleep 3
is "no pod gets a node after its job was held" "$(bound)" "$before"
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# --- suspended jobs, as a former release held them ----------------------------
submit 1 -c 1 --wrap 'sleep 3'
id=${ids# }
patches "$id" "$hold"
is "a suspended job is Held" "$(wait_for 20 state_is "$id" Held; state "$id")" \
    Held
not_ok "its owner cannot release a job that an operator has suspended" \
    as kilntest1 kctl release "$id"
is "an operator can release it" "$(root release "$id")" "job/$id released"
ok "the job then completes" wait_for 30 state_is "$id" Completed
finish
