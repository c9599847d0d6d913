#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Reservations: nodes that are kept for some users' jobs, or for nobody's, and
# jobs that flow around them in time.

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
cause() { # JOB WORDS: what its pod waits for
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

# Words of mistakes

root reserve bad --nodes n7 --duration 1h --users kilntest1 2>"$cluster/err"
ok "a node that is not there is refused" grep -q "there is no node 'n7'" "$cluster/err"
root reserve bad --nodes n1 --duration 1h 2>"$cluster/err"
ok "somebody must be allowed" grep -q 'who may use it' "$cluster/err"
root reserve bad --nodes n1 --start tomorrow --duration 30h --daily \
    --users kilntest1 2>"$cluster/err"
ok "a day has 23 hours at least" grep -q 'at most 23:00:00' "$cluster/err"
root reserve bad --nodes n1 --duration 0 --users kilntest1 2>"$cluster/err"
ok "one of no length is refused" grep -q 'above 0' "$cluster/err"
root reserve bad --nodes n1 --start yesterday --duration 1h --users kilntest1 \
    2>"$cluster/err"
ok "one that would have ended is refused" \
    grep -q 'it would have ended already' "$cluster/err"
root reserve bad --count 3 --duration 1h --users kilntest1 2>"$cluster/err"
ok "more nodes than there are" grep -q '3 nodes are asked for' "$cluster/err"
as kilntest1 kctl reserve mine --nodes n1 --duration 1h --users kilntest1 2>"$cluster/err"
ok "users make none" grep -qi 'forbidden\|may not\|cannot' "$cluster/err"
s1 --reservation none long.sh 2>"$cluster/err"
ok "a reservation that is not there is refused at submission" \
    grep -q "there is no reservation 'none'" "$cluster/err"

# A new one is told at once what it is

is "its state and its end stand in the answer" "$(root create -f - \
    -o 'jsonpath={.status.state} {.status.start} {.status.end}' <<'TXT'
apiVersion: kiln.hpc/v1
kind: Reservation
metadata: {name: later}
spec: {nodes: [n1], start: "2099-01-01T00:00:00Z", duration: 2h, users: [kilntest1]}
status: {state: Ended, message: "by hand"}
TXT
)" 'Planned 2099-01-01T00:00:00Z 2099-01-01T02:00:00Z'
is "and nothing that its maker wrote there" "$(root get reservation later \
    -o 'jsonpath={.status.message}')" ''
root delete reservation later >/dev/null

# Jobs flow around a maintenance that is to come

long=$(s1 -t 10:00 -c 1 -w n1 long.sh | id)
wait_for 20 runs "$long"
root drain --at 2020-01-01 n1 2>"$cluster/err"
ok "a drain is not planned for what is over" grep -q "'2020-01-01' is over" "$cluster/err"
root drain --at now+5minutes --for 1h --reason 'new kernel' 'n[1-2]' \
    >"$cluster/out" 2>"$cluster/err"
ok "a drain that is planned is a reservation" grep -q '^reservation/drain-n-.* made' "$cluster/out"
ok "it tells what may still run then" grep -q '1 pod may still run when it begins' "$cluster/err"
drain=$(root get reservations --no-headers | awk '{print $1}')
wait_for 10 state "$drain" Planned
a=$(s1 -t 20:00 -c 1 long.sh | id)
b=$(s1 -t 2:00 -c 1 long.sh | id)
ok "a job that ends before it starts" wait_for 20 runs "$b"
ok "one that would not waits, and says so" wait_for 20 cause "$a" ReservedNodes
ok "its start is after the maintenance" \
    root why "$a"
ok "the table has it" sh -c "kctl --server 'http+unix://$cluster/socket' reservations | grep -q 'n\[1-2\].*none.*new kernel'"
ok "it names the drain and its time" wait_for 20 cause "$a" \
    "would still run when reservation $drain begins at 20"
root delete reservation "$drain" >/dev/null
ok "without it, it starts" wait_for 20 runs "$a"
cluster_jobs_gone

# For some users

root reserve course --nodes n1 --duration 1h --users kilntest1 >"$cluster/out"
wait_for 10 state course Active
a=$(s1 --reservation course -t 5:00 -c 1 long.sh | id)
ok "a job that names it has its node" wait_for 20 runs "$a" n1
b=$(s2 -t 5:00 -c 1 long.sh | id)
ok "others have other nodes" wait_for 20 runs "$b" n2
s2 --reservation course long.sh 2>"$cluster/err"
ok "who may not use it is told" grep -q 'reservation course is for other users' "$cluster/err"
c=$(s2 -t 5:00 -c 1 -w n1 long.sh | id)
ok "others do not get its node" wait_for 20 cause "$c" ReservedNodes
root reserve other --nodes n1 --start now+10minutes --duration 1h --users kilntest2 2>"$cluster/err"
ok "two at a time on a node are refused" \
    grep -q 'reservation course has node n1 at the same time' "$cluster/err"
ok "unless that is said" root reserve other --nodes n1 --start now+10minutes \
    --duration 1h --users kilntest2 --overlap
d=$(s2 --reservation other -t 5:00 -c 1 long.sh | id)
ok "a job waits for its own to begin" wait_for 20 cause "$d" '"code":"Reservation"'
ok "and says when" sh -c "kctl --server 'http+unix://$cluster/socket' why $d | grep -q 'waits for reservation other to begin'"
s2 --hold -t 5:00 -c 1 long.sh >"$cluster/out"
e=$(id <"$cluster/out")
as kilntest2 kctl update "$e" reservation=course 2>"$cluster/err"
ok "another's reservation is not taken by an update" \
    grep -q 'reservation course is for other users' "$cluster/err"
as kilntest2 kctl update "$e" reservation=other >/dev/null
as kilntest2 kctl release "$e" >/dev/null
ok "a job that waits can be put into one" wait_for 20 cause "$e" '"code":"Reservation"'
as kilntest2 kctl update "$e" reservation=none >/dev/null
ok "and out of it" wait_for 20 runs "$e" n2
as kilntest2 kctl update "$e" reservation=other 2>"$cluster/err"
ok "one that runs cannot" grep -q 'has a node already' "$cluster/err"
root delete reservation other >/dev/null
ok "one that is gone is told to those who wait in it" \
    wait_for 20 cause "$d" ReservationDeleted
root delete reservation course >/dev/null
ok "its node is everybody's again" wait_for 20 runs "$c" n1
ok "what ran in it goes on" runs "$a" n1
cluster_jobs_gone

# A drain that begins now, and ends by itself

b=$(s1 -t 5:00 -c 1 -w n1 long.sh | id)
wait_for 20 runs "$b"
root drain --for 6s n1 >"$cluster/out" 2>&1
is_in() { root nodes --no-headers 2>/dev/null | grep -q "$1"; }
ok "its node is draining" wait_for 20 is_in Draining
ok "the drain ends no job" runs "$b"
not_in() { ! is_in Drain; }
ok "at its end the node comes back" wait_for 20 not_in
root drain --for 1h n2 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
wait_for 20 is_in Drained
root uncordon n2 2>"$cluster/err"
ok "one under maintenance is not simply uncordoned" \
    grep -q "kctl delete reservation $drain" "$cluster/err"
root delete reservation "$drain" >/dev/null
wait_for 20 not_in
root drain --deadline now+1hour n1 >"$cluster/out" 2>"$cluster/err"
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
ok "one with a deadline waits for what runs" wait_for 20 says "$drain" 'waits for 1 pod to end'
c=$(s1 -t 1:00 -c 1 -w n1 long.sh | id)
ok "and nothing new starts there" wait_for 20 cause "$c" ReservedNodes
root cancel "$b" >/dev/null
ok "it begins when the node is free" wait_for 20 state "$drain" Active
ok "which is drained then" wait_for 20 is_in Drained
root delete reservation "$drain" >/dev/null
ok "without it the node comes back" wait_for 20 not_in
cluster_jobs_gone

# A controller that is killed during one, and one that goes meanwhile

root drain --for 1h n1 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
wait_for 20 is_in Drained
signal controller KILL
await_end controller
cluster_controller --socket "$cluster/socket"
is_back() { root get nodes n1 >/dev/null 2>&1; }
wait_for 20 is_back
ok "a controller that was killed knows it" state "$drain" Active
is "and its node is drained" "$(root get node n1 \
    -o 'jsonpath={.spec.unschedulable}')" true
root delete reservation "$drain" >/dev/null
ok "it comes back all the same" wait_for 20 not_in
root cordon n1 >/dev/null
root drain --for 2s n1 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
ok "it ends" wait_for 20 state "$drain" Ended
ok "what an administrator cordoned stays so" is_in Drained
root uncordon n1 >/dev/null

# For somebody that nobody knows

reservation() { # SPEC
    printf '{apiVersion: kiln.hpc/v1, kind: Reservation, metadata: {name: odd},
        spec: {nodes: [n1], start: 2099-01-01T00:00:00Z, duration: 1h, %s}}' "$1"
}
reservation 'users: [kilntest1, kilnnobody1, kilnnobody2], groups: [kilnnogroup],
    accounts: [default, kilnnowhere]' | root create -f - >"$cluster/out" 2>"$cluster/err"
like "one for unknown names is made" "$(cat "$cluster/out")" 'reservation/odd created'
like "with a warning of users" "$(cat "$cluster/err")" \
    "no users 'kilnnobody1', 'kilnnobody2' are known here"
like "and of groups" "$(cat "$cluster/err")" "no group 'kilnnogroup' is known here"
like "and of accounts" "$(cat "$cluster/err")" "there is no account 'kilnnowhere'"
unlike "but of none that is there" "$(cat "$cluster/err")" "'kilntest1'|'default'"
reservation 'users: [kilntest1], groups: [kilnnogroup]' | root apply -f - >/dev/null 2>"$cluster/err"
unlike "a change warns of no name that was there" "$(cat "$cluster/err")" kilnno
reservation 'users: [kilnnobody3]' | root apply -f - >/dev/null 2>"$cluster/err"
like "but of a new one" "$(cat "$cluster/err")" "no user 'kilnnobody3' is known"
like "what is refused for another reason is not looked up" "$(reservation \
    'users: [kilnnobody3], overlap: maybe' | root apply -f - 2>&1)" overlap
root delete reservation odd >/dev/null
printf '{apiVersion: kiln.hpc/v1, kind: Partition, metadata: {name: odd},
    spec: {allowedUsers: [kilnnobody1], allowedAccounts: [kilnnowhere]}}' \
    | root create -f - >/dev/null 2>"$cluster/err"
like "a partition for them is warned of, too" "$(cat "$cluster/err")" \
    "no user 'kilnnobody1' is known"
like "and for accounts" "$(cat "$cluster/err")" "there is no account 'kilnnowhere'"
root delete partition odd >/dev/null

# One that is planned is not forgotten by who admits jobs again

root drain --at now+2hours --for 1h --reason 'new fan' n1 n2 >"$cluster/out" 2>&1
drain=$(awk -F'[/ ]' '{print $2}' "$cluster/out")
root cordon n1 >/dev/null
root uncordon n1 >"$cluster/out"
ok "to uncordon a node tells of its planned drain, and how to cancel it" grep -q \
    "^node/n1 is drained again from .* by reservation $drain: new fan; 'kctl delete reservation $drain' cancels that for n\[1-2\]" \
    "$cluster/out"
root delete reservation "$drain" >/dev/null
is "once that is cancelled there is nothing to tell" \
    "$(root uncordon n1)" 'node/n1 already uncordoned'

# A number of nodes, one of which fails

root reserve some --count 1 --duration 1h --users kilntest1 >/dev/null
ok "a number of nodes is chosen" wait_for 10 state some Active
has() { [ "$(root get reservation some -o 'jsonpath={.status.nodes[0]}')" = "$1" ]; }
was=$(root get reservation some -o 'jsonpath={.status.nodes[0]}')
other=n1
[ "$was" = n2 ] || other=n2
root reserve named --nodes "$was" --duration 1h --users kilntest1 --overlap >/dev/null
wait_for 10 state named Active
stop "$was"
ok "a node goes" root delete node "$was"
not_ok "and does not come back" wait_for 2 root get node "$was"
ok "another is taken for one that goes" wait_for 20 has "$other"
ok "by name, that is told" wait_for 20 says named "node $was is gone"
a=$(s1 --reservation some -t 5:00 -c 1 long.sh | id)
ok "a job of it runs there" wait_for 20 runs "$a" "$other"
finish
