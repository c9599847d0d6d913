#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A held job starts nothing and what runs of it goes on, whatever crosses the
# hold on its way and whenever the controller dies. And what is changed of a job
# and changed back before anybody has looked: it costs no job, and what stays of
# it is done.

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

# patches ID BODY...: one after the other, over one connection.
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
submit() { # COUNT OPTIONS
    count=$1
    shift
    ids=
    for _ in $(seq "$count"); do
        ids="$ids $(as kilntest1 ksub --parsable "$@")"
    done
}
hold='{"spec":{"suspend":true}}'
release='{"spec":{"suspend":false}}'
of_jobs() { # KIND FILTER: of each job in $ids
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
ok "held and released at once they run on, or again" wait_for 30 count_running 4
is "none has failed" "$(ended)" ""
for id in $ids; do
    patches "$id" '{"spec":{"suspend":true,"template":{"spec":{"priority":7}}}}' \
        "$release"
done
all_have_priority() { # of those that have not ended
    [ "$(of_jobs pods 'select(.status.phase == "Running") | .spec.priority' |
        tr '\n' ' ')" = "$1" ]
}
ok "changed meanwhile, they run as changed" \
    wait_for 30 all_have_priority '7 7 7 7 '
is "and none has failed" "$(ended)" ""
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# Jobs that are so new that their pods are only being made.
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
ok "new ones wait as changed" wait_for 30 all_wait
is "and have not failed either" "$(ended)" ""
for id in $ids; do
    as kilntest1 kctl cancel "$id" >/dev/null
done

# --- hold and release ------------------------------------------------------------
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
ok "a job has the whole node" wait_for 20 state_is "$runner" Running
submit 1 -c 4 --wrap 'exec sleep 1000'
waiter=${ids# }
ok "another waits" wait_for 20 state_is "$waiter" Pending
like "what runs is told to go on" "$(as kilntest1 kctl hold "$runner")" \
    "^job/$runner held; what runs of it goes on$"
is "who holds it is known" "$(annotation "$runner" kiln.hpc/hold)" kilntest1
like "and since when" "$(annotation "$runner" kiln.hpc/hold-at)" '^20.*Z$'
is "a job that waits is held" "$(as kilntest1 kctl hold "$waiter")" \
    "job/$waiter held"
ok "its pod is marked" wait_for 20 has_held_pods "$waiter" 'true '
ok "and the job is Held" wait_for 20 state_is "$waiter" Held
is "twice is as good as once" "$(as kilntest1 kctl hold "$waiter")" \
    "job/$waiter held"
like "why is told" "$(as kilntest1 kctl why "$waiter")" 'held'
is "the one that runs is not stopped" "$(pods_of "$runner" .metadata.name)" \
    "job-$runner-0"
ok "nor Held" state_is "$runner" Running

# It ends while it is held: what waits may not take its place.
root delete pod "job-$runner-0" >/dev/null
ok "the one that ran has ended" wait_for 30 state_is "$runner" Failed
sleep 2
not_ok "the room that it leaves is not taken by a held job" is_bound "$waiter"
like "a job that has ended is not held" \
    "$(as kilntest1 kctl hold "$runner" 2>&1)" 'has ended already'
like "which the API says, too" "$(api kilntest1 PATCH "$jobs/job-$runner" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":null}}}' $merge; api kilntest1 \
    PATCH "$jobs/job-$runner" \
    '{"metadata":{"annotations":{"kiln.hpc/hold":"x"}}}' $merge)" \
    '403 .*it has ended already; there is nothing left to hold'
is "it is released" "$(as kilntest1 kctl release "$waiter")" \
    "job/$waiter released"
ok "and runs" wait_for 20 state_is "$waiter" Running
is "by the pod that it had" "$(pods_of "$waiter" .metadata.name)" \
    "job-$waiter-0"
is "which has no mark left" "$(held_pods "$waiter")" none
is "what is not held is not released" "$(as kilntest1 kctl release "$waiter")" \
    "job/$waiter is not held"
is "requeued and held it is stopped" \
    "$(as kilntest1 kctl requeue --hold "$waiter")" "job/$waiter requeued and held"
ok "and waits" wait_for 30 state_is "$waiter" Held
is "without a pod" "$(pods_of "$waiter" .metadata.name)" ""
is "that is not held against it" \
    "$(root get job "$waiter" -o json | jq -r '"\(.status.failed) \(.status.excused)"')" \
    'null 1'
as kilntest1 kctl release "$waiter" >/dev/null
ok "released, it starts anew" wait_for 20 state_is "$waiter" Running
submit 1 -H -c 1 --wrap true
id=${ids# }
ok "submitted with --hold it is Held" wait_for 20 state_is "$id" Held
is "without a pod" "$(pods_of "$id" .metadata.name)" ""
is "and not suspended" "$(root get job "$id" -o json | jq -r .spec.suspend)" false
told_who() {
    as kilntest1 kctl events --for "$1" | grep -q 'Held by kilntest1'
}
ok "its events tell who" wait_for 20 told_who "$id"

# --- the controller dies in between ----------------------------------------------
again() {
    stop controller KILL
    cluster_controller --socket "$cluster/socket"
}
submit 1 -c 4 --wrap true
id=${ids# }
ok "a job waits" wait_for 20 state_is "$id" Pending
as kilntest1 kctl hold "$id" >/dev/null
again
ok "held right before a crash: its pod is marked" \
    wait_for 20 has_held_pods "$id" 'true '
as kilntest1 kctl cancel "$waiter" >/dev/null
sleep 3
not_ok "and gets no node" is_bound "$id"
again
ok "it is Held after another" wait_for 20 state_is "$id" Held
not_ok "and still gets none" is_bound "$id"
as kilntest1 kctl release "$id" >/dev/null
again
ok "released right before one it runs to its end" \
    wait_for 40 state_is "$id" Completed
is "with one attempt" "$(root get job "$id" -o json | jq -r .status.attempts)" 1

# --- holds that cross a binding ---------------------------------------------------
# What has no node once all holds are answered has none later.
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

# --- what a former release held ----------------------------------------------------
submit 1 -c 1 --wrap 'sleep 3'
id=${ids# }
patches "$id" "$hold"
is "a job that is suspended is Held" "$(wait_for 20 state_is "$id" Held; state "$id")" \
    Held
not_ok "one that an operator suspended not for its owner to release" \
    as kilntest1 kctl release "$id"
is "and released as others are" "$(root release "$id")" "job/$id released"
ok "then it runs" wait_for 30 state_is "$id" Completed
finish
