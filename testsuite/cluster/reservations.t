#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reservations: nodes that are kept for the jobs of some users, or for nobody,
# and how other jobs are scheduled around them.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:4 pu:1'
cluster_agent n2 --topology 'package:1 core:4 pu:1'
root() { kctl --server "http+unix://$cluster/socket" "$@"; }
are_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 2 ]; }
wait_for 20 are_ready || bail_out "no nodes"
root taint nodes n1 n2 kiln.hpc/virtual- >/dev/null
s1() { as kilntest1 ksub -o /dev/null "$@"; }
s2() { as kilntest2 ksub -o /dev/null "$@"; }
for user in kilntest1 kilntest2; do
    printf '#!/bin/sh\nsleep 600\n' >"$cluster/home/$user/long.sh"
done
cause() { # JOB WORDS: checks what its pod waits for
    root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.cause}' | grep -qF "$2"
}
runs() { # JOB [NODE]
    root get pods -l "batch.kubernetes.io/job-name=job-$1" \
        -o 'jsonpath={.items[0].status.phase} {.items[0].spec.nodeName}' |
        grep -q "^Running ${2:-}"
}
state() { # RESERVATION STATE
    [ "$(root get reservation "$1" -o 'jsonpath={.status.state}')" = "$2" ]
}
says() { # RESERVATION WORDS
    root get reservation "$1" -o 'jsonpath={.status.message}' | grep -qF "$2"
}
id() { sed -n 's/^Submitted job //p'; }
cluster_jobs_gone() {
    root delete jobs --all >/dev/null 2>&1
    wait_for 20 no_pods
}
no_pods() { [ -z "$(root get pods --no-headers 2>/dev/null)" ]; }

# Errors in reservations

root reserve bad --nodes n7 --duration 1h --users kilntest1 2>"$cluster/err"
ok "a node that does not exist is refused" \
    grep -q "there is no node 'n7'" "$cluster/err"
root reserve bad --nodes n1 --duration 1h 2>"$cluster/err"
ok "a reservation without users is refused" \
    grep -q 'who may use it' "$cluster/err"
root reserve bad --nodes n1 --start tomorrow --duration 30h --daily \
    --users kilntest1 2>"$cluster/err"
ok "a daily reservation of more than 23 hours is refused" \
    grep -q 'at most 23:00:00' "$cluster/err"
root reserve bad --nodes n1 --duration 0 --users kilntest1 2>"$cluster/err"
ok "a reservation with a duration of 0 is refused" \
    grep -q 'above 0' "$cluster/err"
root reserve bad --nodes n1 --start yesterday --duration 1h --users kilntest1 \
    2>"$cluster/err"
ok "a reservation that would have ended is refused" \
    grep -q 'it would have ended already' "$cluster/err"
root reserve bad --count 3 --duration 1h --users kilntest1 2>"$cluster/err"
ok "a reservation of more nodes than exist is refused" \
    grep -q '3 nodes are requested, but only' "$cluster/err"
root reserve overnight --nodes n1 --start 20:00 --end 08:00 --users kilntest1 --dry-run \
    >"$cluster/out" 2>&1
ok "a reservation from 20:00 to 08:00 ends the next morning" \
    grep -q 'overnight would be created' "$cluster/out"
as kilntest1 kctl reserve mine --nodes n1 --duration 1h --users kilntest1 2>"$cluster/err"
ok "users cannot create reservations" \
    grep -qi 'forbidden\|may not\|cannot' "$cluster/err"
s1 --reservation none long.sh 2>"$cluster/err"
ok "a reservation that does not exist is refused at submission" \
    grep -q "there is no reservation 'none'" "$cluster/err"

# A new reservation gets its state at once

is "the answer has its state, its start and its end" "$(root create -f - \
    -o 'jsonpath={.status.state} {.status.start} {.status.end}' <<'TXT'
apiVersion: kiln.hpc/v1
kind: Reservation
metadata: {name: later}
spec: {nodes: [n1], start: "2099-01-01T00:00:00Z", duration: 2h, users: [kilntest1]}
status: {state: Ended, message: "by hand"}
TXT
)" 'Planned 2099-01-01T00:00:00Z 2099-01-01T02:00:00Z'
is "a status in the request is ignored" "$(root get reservation later \
    -o 'jsonpath={.status.message}')" ''
root delete reservation later >/dev/null

# Jobs are scheduled around a maintenance in the future

long=$(s1 -t 10:00 -c 1 -w n1 long.sh | id)
wait_for 20 runs "$long"
root drain --at 2020-01-01 n1 2>"$cluster/err"
ok "a drain in the past is refused" \
    grep -q "'2020-01-01' is in the past" "$cluster/err"
root drain --at now+5minutes --for 1h --reason 'new kernel' 'n[1-2]' \
    >"$cluster/out" 2>"$cluster/err"
ok "a drain in the future creates a reservation" \
    grep -q '^reservation/drain-n-.* made' "$cluster/out"
ok "it says how many pods may still run then" \
    grep -q '1 pod may still run when it begins' "$cluster/err"
drain=$(root get reservations --no-headers | awk '{print $1}')
wait_for 10 state "$drain" Planned
a=$(s1 -t 20:00 -c 1 long.sh | id)
b=$(s1 -t 2:00 -c 1 long.sh | id)
ok "a job whose time limit ends before the drain is started" wait_for 20 runs "$b"
ok "a job whose time limit ends later waits, and says so" \
    wait_for 20 cause "$a" ReservedNodes
ok "kctl why answers for that job" \
    root why "$a"
ok "kctl reservations lists the drain" \
    sh -c "kctl --server 'http+unix://$cluster/socket' reservations | grep -q 'n\[1-2\].*none.*new kernel'"
ok "the cause of the job names the drain and its time" wait_for 20 cause "$a" \
    "would still run when reservation $drain begins at 20"
root delete reservation "$drain" >/dev/null
ok "the job starts when the drain is deleted" wait_for 20 runs "$a"
cluster_jobs_gone

# A reservation for some users

root reserve course --nodes n1 --duration 1h --users kilntest1 >"$cluster/out"
wait_for 10 state course Active
a=$(s1 --reservation course -t 5:00 -c 1 long.sh | id)
ok "a job that names the reservation runs on its node" wait_for 20 runs "$a" n1
b=$(s2 -t 5:00 -c 1 long.sh | id)
ok "a job of another user runs on another node" wait_for 20 runs "$b" n2
s2 --reservation course long.sh 2>"$cluster/err"
ok "another user cannot use the reservation" \
    grep -q 'reservation course is not for user' "$cluster/err"
c=$(s2 -t 5:00 -c 1 -w n1 long.sh | id)
ok "a job of another user for the reserved node waits" \
    wait_for 20 cause "$c" ReservedNodes
root reserve other --nodes n1 --start now+10minutes --duration 1h --users kilntest2 2>"$cluster/err"
ok "two reservations of a node at the same time are refused" \
    grep -q 'reservation course has node n1 at the same time' "$cluster/err"
ok "--overlap allows them" root reserve other --nodes n1 --start now+10minutes \
    --duration 1h --users kilntest2 --overlap
d=$(s2 --reservation other -t 5:00 -c 1 long.sh | id)
ok "a job in a reservation waits for its start" \
    wait_for 20 cause "$d" '"code":"Reservation"'
ok "kctl why says that" \
    sh -c "kctl --server 'http+unix://$cluster/socket' why $d | grep -q 'waits for reservation other to begin'"
s2 --hold -t 5:00 -c 1 long.sh >"$cluster/out"
e=$(id <"$cluster/out")
as kilntest2 kctl update "$e" reservation=course 2>"$cluster/err"
ok "a job cannot be moved into another user's reservation" \
    grep -q 'reservation course is not for user' "$cluster/err"
as kilntest2 kctl update "$e" reservation=other >/dev/null
as kilntest2 kctl release "$e" >/dev/null
ok "a waiting job can be moved into a reservation" \
    wait_for 20 cause "$e" '"code":"Reservation"'
as kilntest2 kctl update "$e" reservation=none >/dev/null
ok "it can be moved out of it and then runs" wait_for 20 runs "$e" n2
as kilntest2 kctl update "$e" reservation=other 2>"$cluster/err"
ok "a running job cannot be moved into one" \
    grep -q 'has a node already' "$cluster/err"
root delete reservation other >/dev/null
ok "a job in a deleted reservation says so" \
    wait_for 20 cause "$d" ReservationDeleted
root delete reservation course >/dev/null
ok "the node is free for others when the reservation is deleted" \
    wait_for 20 runs "$c" n1
ok "a job that ran in the reservation still runs" runs "$a" n1
cluster_jobs_gone

# A drain that begins now, and ends by itself

b=$(s1 -t 5:00 -c 1 -w n1 long.sh | id)
wait_for 20 runs "$b"
root drain --for 6s n1 >"$cluster/out" 2>&1
is_in() { root nodes --no-headers 2>/dev/null | grep -q "$1"; }
ok "the node is draining" wait_for 20 is_in Draining
ok "the drain ends no job" runs "$b"
not_in() { ! is_in Drain; }
ok "the drain ends after its time" wait_for 20 not_in
root drain --for 1h n2 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
wait_for 20 is_in Drained
root uncordon n2 2>"$cluster/err"
ok "a node in maintenance cannot be uncordoned, and the message says how to end it" \
    grep -q "kctl delete reservation $drain" "$cluster/err"
root delete reservation "$drain" >/dev/null
wait_for 20 not_in
root drain --deadline now+1hour n1 >"$cluster/out" 2>"$cluster/err"
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
ok "a drain with a deadline waits for running pods" \
    wait_for 20 says "$drain" 'waits for 1 pod to end'
c=$(s1 -t 1:00 -c 1 -w n1 long.sh | id)
ok "no job starts on that node" wait_for 20 cause "$c" ReservedNodes
root cancel "$b" >/dev/null
ok "the drain begins when the node is free" wait_for 20 state "$drain" Active
ok "the node is then drained" wait_for 20 is_in Drained
root delete reservation "$drain" >/dev/null
ok "the node is no longer drained when the drain is deleted" wait_for 20 not_in
cluster_jobs_gone

# A controller that is killed during a drain, and a cordon during a drain

root drain --for 1h n1 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
wait_for 20 is_in Drained
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket"
is_back() { root get nodes n1 >/dev/null 2>&1; }
wait_for 20 is_back
ok "the drain is still active after the controller was killed" \
    state "$drain" Active
is "its node is still unschedulable" "$(root get node n1 \
    -o 'jsonpath={.spec.unschedulable}')" true
root delete reservation "$drain" >/dev/null
ok "the drain can be deleted after that" wait_for 20 not_in
root cordon n1 >/dev/null
root drain --for 2s n1 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
ok "a short drain of a cordoned node ends" wait_for 20 state "$drain" Ended
ok "the node is still cordoned" is_in Drained
root uncordon n1 >/dev/null

# Reservations for unknown names

reservation() { # SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Reservation, metadata: {name: odd},
        spec: {nodes: [n1], start: 2099-01-01T00:00:00Z, duration: 1h, %s}}' "$1"
}
reservation 'users: [kilntest1, kilnnobody1, kilnnobody2], groups: [kilnnogroup],
    accounts: [default, kilnnowhere]' | root create -f - >"$cluster/out" 2>"$cluster/err"
like "a reservation for unknown names is created" \
    "$(cat "$cluster/out")" 'reservation/odd created'
like "a warning names the unknown users" "$(cat "$cluster/err")" \
    "users 'kilnnobody1', 'kilnnobody2' are unknown"
like "a warning names the unknown group" \
    "$(cat "$cluster/err")" "group 'kilnnogroup' is unknown"
like "a warning names the unknown account" \
    "$(cat "$cluster/err")" "there is no account 'kilnnowhere'"
unlike "there is no warning about known names" \
    "$(cat "$cluster/err")" "'kilntest1'|'default'"
reservation 'users: [kilntest1], groups: [kilnnogroup]' | root apply -f - >/dev/null 2>"$cluster/err"
unlike "a change has no warning about names that it had before" \
    "$(cat "$cluster/err")" kilnno
reservation 'users: [kilnnobody3]' | root apply -f - >/dev/null 2>"$cluster/err"
like "a change has a warning about a new name" \
    "$(cat "$cluster/err")" "user 'kilnnobody3' is unknown"
like "an invalid change is refused without a warning about names" \
    "$(reservation \
    'users: [kilnnobody3], overlap: maybe' | root apply -f - 2>&1)" overlap
root delete reservation odd >/dev/null
printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: odd},
    spec: {allowedUsers: [kilnnobody1], allowedAccounts: [kilnnowhere]}}' \
    | root create -f - >/dev/null 2>"$cluster/err"
like "a partition for an unknown user has a warning" "$(cat "$cluster/err")" \
    "user 'kilnnobody1' is unknown"
like "a partition for an unknown account has a warning" \
    "$(cat "$cluster/err")" "there is no account 'kilnnowhere'"
printf '{apiVersion: v1, kind: Namespace, metadata: {name: odd,
    annotations: {kiln.hpc/members: "kilntest1, @kilnnogroup"}}}' \
    | root create -f - >/dev/null 2>"$cluster/err"
like "an account with an unknown group has a warning" "$(cat "$cluster/err")" \
    "group 'kilnnogroup' is unknown"
status_says() { root status | grep -q "Warning: .*members of $1.*$2"; }
ok "kctl status names the account" wait_for 20 status_says 'namespace odd' kilnnogroup
ok "and the partition" wait_for 20 status_says 'partition odd' kilnnobody1
root annotate namespace odd kiln.hpc/members=kilntest1 --overwrite >/dev/null 2>&1
account_is_fine() { ! root status | grep -q 'namespace odd'; }
ok "a corrected account has no warning" wait_for 20 account_is_fine
root delete partition odd >/dev/null

# A drain in the future is not affected by an uncordon

root drain --at now+2hours --for 1h --reason 'new fan' n1 n2 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
root cordon n1 >/dev/null
root uncordon n1 >"$cluster/out"
ok "kctl uncordon names a future drain, and says how to cancel it" grep -q \
    "^node/n1 will be drained again from .* by reservation $drain: new fan; 'kctl delete reservation $drain' cancels that for n\[1-2\]" \
    "$cluster/out"
root delete reservation "$drain" >/dev/null
is "kctl uncordon no longer names it after it was cancelled" \
    "$(root uncordon n1)" 'node/n1 already uncordoned'

# A number of nodes, one of which is deleted

root reserve some --count 1 --duration 1h --users kilntest1 >/dev/null
ok "the nodes of a reservation of a number are chosen" \
    wait_for 10 state some Active
has() { [ "$(root get reservation some -o 'jsonpath={.status.nodes[0]}')" = "$1" ]; }
chosen() { was=$(root get reservation some -o 'jsonpath={.status.nodes[0]}'); [ -n "$was" ]; }
# A node of which a busy machine has heard nothing for a while is not chosen.
wait_for 40 chosen || {
    root get reservation some -o yaml | note
    root nodes | note
    bail_out "no node was chosen"
}
other=n1
[ "$was" = n2 ] || other=n2
root reserve named --nodes "$was" --duration 1h --users kilntest1 --overlap >/dev/null
wait_for 10 state named Active
stop "$was"
ok "one of these nodes is deleted" root delete node "$was"
not_ok "its Node does not come back" wait_for 2 root get node "$was"
ok "another node is taken" wait_for 20 has "$other"
ok "a reservation by names says that its node is gone" \
    wait_for 20 says named "node $was is gone"
a=$(s1 --reservation some -t 5:00 -c 1 long.sh | id)
ok "a job in the first reservation runs on the other node" \
    wait_for 20 runs "$a" "$other"
finish
