#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The rights of a job that waited are those at its start: not in a reservation
# or partition that has become another user's, not in a new one of the same
# name, and not as a person who got the number of a removed user.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:1 core:8 pu:1'
is_ready() { [ "$(root get nodes --no-headers | grep -cw Ready)" = 1 ]; }
wait_for 20 is_ready || bail_out "no node"
root taint nodes n1 kiln.hpc/virtual- >/dev/null
code_is() { field root "$pods/job-$1-0" '.status.cause.code // ""' | grep -qx "$2"; }
state_is() { root get job "$1" --no-headers | grep -qw "$2"; }
says() { root why "$1" 2>&1 | grep -q "$2"; }
held() { as kilntest1 ksub --parsable --hold -t 1:00 --wrap true "$@"; }

# --- a reservation ------------------------------------------------------------
root reserve mine --nodes n1 --duration 2h --users kilntest1 >/dev/null
reservation=/apis/kiln.hpc/v1/reservations/mine
ok "a user holds a job in a reservation" wait_for 10 held --reservation mine
job=$(held --reservation mine)
api root PATCH $reservation '{"spec":{"users":["kilntest2"]}}' $merge >/dev/null
root release "$job" >/dev/null
ok "when it is released, the reservation is another user's, and kctl why says so" \
    wait_for 20 says "$job" 'reservation mine is no longer for user kilntest1'
ok "the job waits for that reason" wait_for 10 code_is "$job" NotAllowed
api root PATCH $reservation '{"spec":{"users":["kilntest1","kilntest2"]}}' $merge >/dev/null
ok "it runs when the reservation is the user's again" \
    wait_for 30 state_is "$job" Completed

job=$(held --reservation mine)
root delete reservation mine >/dev/null
root reserve mine --nodes n1 --duration 2h --users kilntest1 >/dev/null
root release "$job" >/dev/null
ok "a job does not start in a new reservation of the same name" \
    wait_for 20 says "$job" 'reservation mine is not the one that the job was submitted to'
api kilntest1 PATCH "$jobs/job-$job" '{"metadata":{"annotations":{
"kiln.hpc/reservation-uid":"'"$(field root $reservation .metadata.uid)"'"}}}' $merge >/dev/null
ok "a user cannot write the uid of the new one" \
    says "$job" 'is not the one that the job was submitted to'
as kilntest1 kctl update job "$job" reservation=mine >/dev/null
ok "kctl update admits the job to the new one, and it runs" \
    wait_for 30 state_is "$job" Completed
root delete reservation mine >/dev/null

# --- a partition --------------------------------------------------------------
partition() { # USER
    root apply -f - >/dev/null <<TXT
apiVersion: kiln.hpc/v1
kind: Partition
metadata: {name: special}
spec: {allowedUsers: [$1]}
TXT
}
partition kilntest1
ok "a user holds a job in a partition" wait_for 10 held -p special
job=$(held -p special)
own=$(held -p special)
api root PATCH "$jobs/job-$own" \
    '{"metadata":{"annotations":{"kiln.hpc/partition-uid":null}}}' $merge >/dev/null
partition kilntest2
root release "$job" "$own" >/dev/null
ok "when it is released, the partition is another user's" \
    wait_for 20 says "$job" 'partition special is no longer for user kilntest1'
ok "a job that an administrator has admitted runs" wait_for 30 state_is "$own" Completed
ok "the other still waits" wait_for 20 code_is "$job" NotAllowed
root delete partition special >/dev/null
partition kilntest1
ok "it does not start in a new partition of the same name" \
    wait_for 20 says "$job" 'partition special is not the one that the job was submitted to'
as kilntest1 kctl update job "$job" partition=special >/dev/null
ok "kctl update admits the job to the new one, and it runs" \
    wait_for 30 state_is "$job" Completed

# --- a priority class ----------------------------------------------------------
class() { # VALUE USER
    root delete priorityclass urgent >/dev/null 2>&1
    root apply -f - >/dev/null <<TXT
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent, annotations: {kiln.hpc/allowed-users: $2}}
value: $1
TXT
}
priority_is() { field root "$pods/job-$1-0" .spec.priority | grep -qx "$2"; }
class 500 kilntest1
ok "a user holds jobs in a priority class" wait_for 10 held --priority urgent
job=$(held --priority urgent)
given=$(held --priority urgent)
root update job "$given" priority=urgent >/dev/null
root annotate priorityclass urgent kiln.hpc/allowed-users=kilntest2 --overwrite >/dev/null
root release "$job" "$given" >/dev/null
ok "when one is released, the class is another user's, and kctl why says so" \
    wait_for 20 says "$job" 'priority class urgent is no longer for user kilntest1'
ok "the job waits for that reason" wait_for 10 code_is "$job" NotAllowed
ok "a job whose class an operator has set runs" wait_for 30 state_is "$given" Completed
api kilntest1 PATCH "$pods/job-$job-0" \
    '{"metadata":{"annotations":{"kiln.hpc/priority-class-uid":null}}}' $merge >/dev/null
ok "a user cannot take the mark of the class from the pod" \
    sh -c "! printf '%s' '$(field root "$pods/job-$job-0" \
        '.metadata.annotations["kiln.hpc/priority-class-uid"] // "none"')' | grep -qx none"
root annotate priorityclass urgent kiln.hpc/allowed-users=kilntest1 --overwrite >/dev/null
ok "it runs when the class is the user's again" wait_for 30 state_is "$job" Completed

job=$(held --priority urgent)
root cordon n1 >/dev/null
waits() { as kilntest1 ksub --parsable -t 1:00 --wrap true --priority urgent; }
waiting=$(waits)
usual=$(waits)
ok "jobs wait for a node" wait_for 10 priority_is "$usual" 500
root delete priorityclass urgent >/dev/null
ok "a job does not start with the number of a class that was deleted" \
    wait_for 20 says "$waiting" 'priority class urgent no longer exists'
root release "$job" >/dev/null
ok "nor does a held one" \
    wait_for 20 says "$job" 'no PriorityClass with name urgent was found'
class 5 kilntest1
ok "nor when there is a new one of the same name" \
    wait_for 20 says "$waiting" 'priority class urgent is not the one that the job was submitted to'
ok "and a held one neither" \
    wait_for 20 says "$job" 'priority class urgent is not the one that the job was submitted to'
ok "it still has the old number" priority_is "$waiting" 500
root uncordon n1 >/dev/null
as kilntest1 kctl update job "$waiting" priority=urgent >/dev/null
ok "kctl update admits the job to the new one, and it runs" \
    wait_for 30 state_is "$waiting" Completed
ok "with the number of the new one" priority_is "$waiting" 5
class 0 root
ok "a higher number than everybody's needs the class, whatever the new one is" \
    wait_for 20 says "$usual" 'is not the one that the job was submitted to'
root apply -f - >/dev/null <<TXT
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
globalDefault: true
value: 500
TXT
ok "a number that everybody has needs none" wait_for 30 state_is "$usual" Completed
root delete priorityclass usual urgent >/dev/null

# --- the account --------------------------------------------------------------
root create namespace chem >/dev/null
root annotate namespace chem kiln.hpc/members=kilntest1 >/dev/null
ok "a user holds a job in an account" wait_for 10 held -A chem
job=$(held -A chem)
root annotate namespace chem kiln.hpc/members=kilntest2 --overwrite >/dev/null ||
    root annotate namespace chem kiln.hpc/members=kilntest2 >/dev/null
root release "$job" >/dev/null
ok "a user who was taken out of the account does not start the job" \
    wait_for 20 says "$job" 'account chem is no longer for user kilntest1'
root annotate namespace chem kiln.hpc/members=kilntest1,kilntest2 --overwrite >/dev/null ||
    root annotate namespace chem kiln.hpc/members=kilntest1,kilntest2 >/dev/null
ok "it runs when the user belongs to the account again" wait_for 30 state_is "$job" Completed

# --- the user -----------------------------------------------------------------
users() { flock /tmp/kiln-test-users.lock "$@"; }
reused=kilnreused$$ removed=kilnremoved$$ new=kilnnew$$
if ! cluster_user $reused || ! cluster_user $removed; then
    bail_out "no users"
fi
uid=$(id -u $reused)
job=$(as $reused ksub --parsable --hold --wrap true)
other=$(as $removed ksub --parsable --hold --wrap true)
users userdel $reused
users userdel $removed
users useradd --uid "$uid" --no-create-home --home-dir /nonexistent $new
root release "$job" "$other" >/dev/null
ok "a job of a removed user does not run as the person who has the number now" \
    wait_for 20 says "$job" "not allowed: uid $uid was user $reused .* and is user $new now"
ok "a job of a removed user waits" \
    wait_for 20 says "$other" "not allowed: user $removed .* no longer exists"
ok "the jobs wait for that reason" wait_for 10 code_is "$job" NotAllowed
users userdel $new
finish
