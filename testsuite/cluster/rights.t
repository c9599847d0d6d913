#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may do what: each line of the table of rights is tried by a caller who
# has the right and by one who does not. Also credentials that do not prove an
# identity.

# shellcheck disable=SC2119,SC2317 # functions that are called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged munge kiln-controller kiln-agent ksub kctl jq curl
ask=${top_builddir:-.}/testsuite/cluster/ask
[ -x "$ask" ] || skip_all "testsuite/cluster/ask is not built"
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cp "$ask" "$cluster/bin/ask"
cluster_munge
controller() { cluster_controller --socket "$cluster/socket" "$@"; }
controller
cluster_agent n1 --topology 'package:1 core:8 pu:1'
cluster_agent n2 --topology 'package:1 core:8 pu:1'

root() { kctl --server "http+unix://$cluster/socket" "$@"; }
home=$cluster/home/kilntest1
jobs=/apis/batch/v1/namespaces/default/jobs
pods=/api/v1/namespaces/default/pods
has_nodes() { [ "$(root get nodes --no-headers | grep -cw Ready)" -eq 2 ]; }
state_is() { # ID STATE
    root get job "$1" --no-headers | grep -qw "$2"
}

# api USER METHOD PATH [BODY [TYPE]]: prints the status code and the body of
# the answer on one line.
api() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as "$1" sh -c 'curl -s --max-time 10 -w "\n%{http_code}" \
        --unix-socket "$0" -X "$1" -H "Content-Type: $4" -d "$3" \
        "http://kiln$2"' "$cluster/socket" "$2" "$3" "${4-}" \
        "${5:-application/json}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
merge=application/merge-patch+json
# forbidden NAME USER METHOD PATH...: passes if the answer is a 403 with the
# reason "Forbidden".
forbidden() {
    forbidden_name=$1
    shift
    like "$forbidden_name" "$(api "$@")" '^403 .*"reason": ?"Forbidden"'
}
# pod_json NAME SPEC-MEMBERS [METADATA-MEMBERS]
pod_json() {
    printf '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"%s},
"spec":{"restartPolicy":"Never",%s"containers":[{"name":"main",
"command":["/bin/true"]}]}}' "$1" "${3-}" "$2"
}
job_json() { # NAME SPEC-MEMBERS POD-SPEC-MEMBERS
    printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"%s"},
"spec":{%s"template":{"spec":{"restartPolicy":"Never",%s
"containers":[{"name":"main","command":["/bin/true"]}]}}}}' "$1" "$2" "$3"
}

ok "two nodes register" wait_for 20 has_nodes
for node in n1 n2; do
    for key in $(root get node $node -o json | jq -r '.spec.taints[]?.key'); do
        root taint node $node "$key-" >/dev/null
    done
done

# --- a job of another user ----------------------------------------------------
cat >"$home/private.sh" <<'TXT'
#!/bin/sh
echo secret-of-output
exec >/dev/null
while [ ! -e end ]; do sleep 0.1; done # secret-of-script
TXT
chown kilntest1: "$home/private.sh"
id=$(as kilntest1 env TOKEN=secret-of-environment ksub --parsable -w n1 \
    -J private -o secret-of-path private.sh secret-of-arguments)
ok "the job of a user runs" wait_for 10 state_is "$id" Running
job=$jobs/job-$id
pod=$pods/job-$id-0
job_uid=$(root get job "$id" -o json | jq -r .metadata.uid)
script_digest=$(root get job "$id" -o json | jq -r .spec.script.digest)

seen=$(api kilntest2 GET "$job")
like "another user can see that the job exists, and who owns it" \
    "$seen" '^200 .*kilntest1'
unlike "another user cannot see its script, environment, arguments or paths" \
    "$seen" 'secret-of|sha256:'
seen=$(api kilntest2 GET "$pod")
like "another user can see its pod and the pod's node" \
    "$seen" '^200 .*"nodeName": ?"n1"'
unlike "another user cannot see what the pod runs" \
    "$seen" 'secret-of|sha256:|private.sh'
unlike "this is so in a list of pods" \
    "$(api kilntest2 GET /api/v1/pods)" 'secret-of|sha256:'
unlike "this is so in a watch" "$(as kilntest2 curl -s --max-time 30 \
    --unix-socket "$cluster/socket" \
    "http://kiln/apis/batch/v1/jobs?watch=1&resourceVersion=0&timeoutSeconds=1")" \
    'secret-of|sha256:'
unlike "this is so with kctl describe" \
    "$(as kilntest2 kctl describe job "$id")" 'secret-of'
like "the owner can see the arguments" \
    "$(api kilntest1 GET "$pod")" 'secret-of-arguments'
forbidden "another user cannot read the script" kilntest2 GET "$job/script"
forbidden "another user cannot read the environment" \
    kilntest2 GET "$job/environment"
forbidden "another user cannot read the output" kilntest2 GET "$pod/log"
like "the owner can read the script" "$(api kilntest1 GET "$job/script")" \
    '^200 .*secret-of-script'
like "the owner can read the environment" \
    "$(api kilntest1 GET "$job/environment" | tr '\0' ' ')" \
    '^200 .*secret-of-environment'
like "the owner can read the output" \
    "$(api kilntest1 GET "$pod/log")" '^200 .*secret-of-output'

lost=$(as kilntest1 ksub --parsable -o /nowhere/secret-of-path --wrap true)
ok "a job whose output cannot be opened fails" wait_for 10 state_is "$lost" Failed
like "the owner can see the path" "$(as kilntest1 kctl get job "$lost")" \
    'secret-of-path'
for how in "get job $lost" "get job $lost -o wide" "get job $lost -o yaml" \
    "get pod job-$lost-0 -o yaml" \
    "describe job $lost" "describe pod job-$lost-0" "why $lost" \
    "get events" "get pods -o json"; do
    # shellcheck disable=SC2086 # words
    unlike "another user cannot see the path: kctl $how" \
        "$(as kilntest2 kctl $how 2>&1)" \
        'secret-of'
done

# This job waits for somebody who reads the FIFO that is its output.
as kilntest1 mkfifo secret-of-fifo
stuck=$(as kilntest1 ksub --parsable -o secret-of-fifo --wrap true)
waits() { root get pod "job-$stuck-0" -o json | grep -q 'it waits for its standard output'; }
ok "a job that waits for its output says so" wait_for 20 waits
like "the owner can see which output" \
    "$(as kilntest1 kctl get pod "job-$stuck-0" -o yaml)" secret-of-fifo
has_event() { root get events | grep -q "waits for its standard output"; }
ok "an event says so, too" wait_for 10 has_event
for how in "get pod job-$stuck-0 -o yaml" "describe pod job-$stuck-0" "get events -o json" \
    "describe job $stuck" "why $stuck"; do
    # shellcheck disable=SC2086 # words
    unlike "another user cannot see which: kctl $how" "$(as kilntest2 kctl $how 2>&1)" \
        'secret-of'
done
root delete job "$stuck" --wait=false >/dev/null 2>&1
hold='{"spec":{"suspend":true}}'
forbidden "another user cannot suspend the job" \
    kilntest2 PATCH "$job" "$hold" $merge
forbidden "another user cannot cancel it" kilntest2 PATCH "$job" \
    '{"metadata":{"annotations":{"kiln.hpc/cancel":"me"}}}' $merge
forbidden "another user cannot replace it" kilntest2 PUT "$job" \
    "$(job_json "job-$id" '' '')"
forbidden "another user cannot delete it" kilntest2 DELETE "$job"
is "kctl says so without the API's name of the job" \
    "$(as kilntest2 kctl delete job "$id" 2>&1)" \
    "kctl: delete: job $id: user 'kilntest2' cannot delete jobs of other users"
like "ksub says why a job is refused without the API's name of jobs" \
    "$(as kilntest2 ksub -t 1 -p nowhere --wrap true 2>&1)" \
    "^ksub: Partition: there is no partition 'nowhere'"
forbidden "another user cannot delete its pod" kilntest2 DELETE "$pod"
forbidden "another user cannot evict its pod" kilntest2 POST "$pod/eviction" \
    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\
\"metadata\":{\"name\":\"job-$id-0\"}}"
api kilntest2 DELETE "$jobs" >/dev/null
api kilntest2 DELETE "$pods" >/dev/null
ok "another user cannot delete it with all jobs and pods" state_is "$id" Running
like "kctl says why a job cannot be cancelled" \
    "$(as kilntest2 kctl cancel "$id" 2>&1)" 'kilntest2.* cannot'

like "a PUT without the user of the job is refused" \
    "$(api kilntest1 PUT "$job" "$(job_json "job-$id" '' '')")" \
    '^422 .*field is immutable'

# --- as another user, or past the scheduler -----------------------------------
uid1=$(id -u kilntest1)
for kind in pod job; do
    if [ $kind = pod ]; then
        to=$pods
        body() { pod_json "p$1" "$2"; }
    else
        to=$jobs
        body() { job_json "j$1" '' "$2"; }
    fi
    forbidden "a user's $kind cannot run as another user" kilntest2 POST "$to" \
        "$(body 1 "\"securityContext\":{\"runAsUser\":$uid1},")"
    forbidden "a user's $kind cannot run as root" kilntest2 POST "$to" \
        "$(body 2 '"securityContext":{"runAsUser":0},')"
    forbidden "a user's $kind cannot run in root's group" kilntest2 POST "$to" \
        "$(body 3 '"securityContext":{"runAsGroup":0},')"
    forbidden "a user's $kind cannot name supplementary groups" \
        kilntest2 POST "$to" \
        "$(body 4 '"securityContext":{"supplementalGroups":[0]},')"
    forbidden "a user's $kind cannot name its node" kilntest2 POST "$to" \
        "$(body 5 '"nodeName":"n1",')"
    forbidden "a user's $kind cannot have a priority of the system" \
        kilntest2 POST "$to" \
        "$(body 6 '"priorityClassName":"system-node-critical",')"
    forbidden "a user's $kind cannot state its priority" kilntest2 POST "$to" \
        "$(body 7 '"priority":1000000,')"
done
like "a user can create a pod" \
    "$(api kilntest2 POST "$pods" "$(pod_json mine \
        '"schedulingGates":[{"name":"kiln.hpc/wait"}],')")" '^201 '
forbidden "a user cannot bind it" kilntest2 POST "$pods/mine/binding" \
    '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"mine"},
"target":{"name":"n1"},"allocation":{"cpus":"0"}}'
forbidden "a user cannot write its status" kilntest2 PATCH "$pods/mine/status" \
    '{"status":{"phase":"Succeeded"}}' $merge
owned=",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\
\"name\":\"job-$id\",\"uid\":\"$job_uid\",\"controller\":true}]"
forbidden "a user cannot create a pod that is controlled by another user's job" \
    kilntest2 POST "$pods" "$(pod_json "job-$id-1" '' "$owned")"
forbidden "a user cannot make a pod controlled by another user's job later" \
    kilntest2 PATCH "$pods/mine" \
    "{\"metadata\":{${owned#,}}}" $merge
forbidden "a user cannot create a pod with another user's script" \
    kilntest2 POST "$pods" "$(pod_json thief '' \
        ",\"annotations\":{\"kiln.hpc/script\":\"$script_digest\"}")"
forbidden "a user cannot create a job with a name that a future job will have" \
    kilntest2 POST "$jobs" "$(job_json job-123456 '' '')"
forbidden "a user cannot create a pod with a name that a future pod will have" \
    kilntest2 POST "$pods" "$(pod_json job-123456-0 '')"
like "the submission key of another user's job gives no access to that job" \
    "$(as kilntest2 sh -c "
    curl -s --unix-socket $cluster/socket -H 'Content-Type: application/json' \
        -H 'Idempotency-Key: $(root get job "$id" -o json |
        jq -r '.metadata.annotations["kiln.hpc/submission-key"]')' \
        -d '$(job_json other '"suspend":true,' '')' -w '%{http_code}' \
        -o /dev/null http://kiln$jobs")" '^201$'

# The keys of an administrator's submissions are separate from those of the
# users for whom the jobs are submitted.
submit_for() { # KEY
    curl -s --unix-socket "$cluster/socket" \
        -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
        -d "$(job_json '' '"suspend":true,' \
            "\"securityContext\":{\"runAsUser\":$uid1}," |
            sed 's/"name":""/"generateName":"job-"/')" \
        "http://kiln$jobs" | jq -r .metadata.name
}
is "an administrator's repeated submission for a user creates one job" \
    "$(for _ in 1 2 3; do submit_for retry-1; done | sort -u | wc -l)" 1
like "a submission with another key creates another job" \
    "$(submit_for retry-2)" '^job-[0-9]+$'
like "the key gives the user no access to that submission" \
    "$(as kilntest1 sh -c "
    curl -s --unix-socket $cluster/socket -H 'Content-Type: application/json' \
        -H 'Idempotency-Key: retry-1' \
        -d '$(job_json again '"suspend":true,' '')' -w '%{http_code}' \
        -o /dev/null http://kiln$jobs")" '^201$'

# --- the cluster --------------------------------------------------------------
forbidden "a user cannot cordon a node" kilntest2 PATCH /api/v1/nodes/n1 \
    '{"spec":{"unschedulable":true}}' $merge
forbidden "a user cannot delete a node" kilntest2 DELETE /api/v1/nodes/n1
forbidden "a user cannot write the status of a node" \
    kilntest2 PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"99"}}}' $merge
forbidden "a user cannot enrol a node" \
    kilntest2 POST /api/v1/nodes/n1/enrol '{}'
forbidden "a user cannot create a node" kilntest2 POST \
    /api/v1/nodes '{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"}}'
forbidden "a user cannot reset a node" \
    kilntest2 POST /api/v1/nodes/n1/reset '{}'
forbidden "a user cannot approve a node" \
    kilntest2 POST /api/v1/nodes/n1/approve '{}'
forbidden "a user cannot renew a node's lease" kilntest2 PATCH \
    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1 \
    '{"spec":{"holderIdentity":"me"}}' $merge
forbidden "a user cannot create an account" kilntest2 POST /api/v1/namespaces \
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}'
forbidden "a user cannot create a priority class" kilntest2 POST \
    /apis/scheduling.k8s.io/v1/priorityclasses \
    '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",
"metadata":{"name":"x"},"value":10}'
forbidden "a user cannot write an event about another user's pod" \
    kilntest2 POST /api/v1/namespaces/default/events \
    '{"apiVersion":"v1","kind":"Event","metadata":{"name":"x"},
"involvedObject":{"kind":"Pod","name":"'"job-$id-0"'","namespace":"default"}}'
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: Namespace
metadata: {name: closed, annotations: {kiln.hpc/members: kilntest1}}
TXT
closed=/apis/batch/v1/namespaces/closed/jobs
forbidden "a user cannot submit to an account without being a member" \
    kilntest2 POST $closed "$(job_json x '' '')"
like "a member can submit to the account" \
    "$(api kilntest1 POST $closed "$(job_json x '"suspend":true,' '')")" '^201 '

# --- root of a compute node ---------------------------------------------------
# by NODE SECRET-FILE METHOD PATH [BODY [TYPE]]: sends a request over TCP, as
# root.
by() {
    ask "$cluster_url" "$munge_socket" "$@" 2>&1 | tr '\n' ' '
}
like "root of another machine cannot delete a node" \
    "$(by '' '' DELETE /api/v1/nodes/n1)" '^403 '
like "root of another machine cannot read a script" \
    "$(by '' '' GET "$job/script")" '^403 '
like "root of another machine cannot delete a job" \
    "$(by '' '' DELETE "$job")" '^403 '
like "root of another machine cannot submit a job" \
    "$(by '' '' POST "$jobs" "$(job_json r '' '')")" '^403 '
like "a job of root is refused to the administrator, too" \
    "$(curl -s --unix-socket "$cluster/socket" \
        -H 'Content-Type: application/json' -d "$(job_json r '' '')" \
        "http://kiln$jobs")" 'allowRootJobs'
like "root cannot enrol a node that has a secret" \
    "$(by '' '' POST /api/v1/nodes/n1/enrol '{}')" '^409 '

# --- an agent -----------------------------------------------------------------
one() { by n1 "$cluster/n1/state/node-secret" "$@"; }
two() { by n2 "$cluster/n2/state/node-secret" "$@"; }
leases=/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases
like "an agent can read its Node" "$(one GET /api/v1/nodes/n1)" '^200 '
like "an agent can list the pods of its node" \
    "$(one GET "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")" \
    "^200 .*job-$id-0"
like "an agent can read their scripts" \
    "$(one GET "$job/script")" '^200 .*secret-of-script'
# One volume of the node n1, and one volume of no node.
volume_json() { # NAME LABELS-AND-ANNOTATIONS
    printf '{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":
"%s"%s},"spec":{"capacity":{"storage":"1Mi"},"accessModes":["ReadWriteOnce"],
"hostPath":{"path":"/nowhere"}}}' "$1" "$2"
}
volumes=/api/v1/persistentvolumes
claims=/api/v1/namespaces/default/persistentvolumeclaims
volume_json v1 ',"labels":{"kiln.hpc/node":"n1"},"annotations":{
"pv.kubernetes.io/provisioned-by":"kiln.hpc/node-local"}' |
    root apply -f - >/dev/null
volume_json v0 '' | root apply -f - >/dev/null
like "an agent can list the volumes of its node" \
    "$(one GET "$volumes?fieldSelector=spec.nodeName%3Dn1")" \
    '^200 .*"name":"v1"'
like "an agent can write the status of such a volume" \
    "$(one PATCH $volumes/v1/status \
    '{"status":{"phase":"Available"}}' $merge)" '^200 '
like "an agent cannot write its spec" "$(one PATCH $volumes/v1 \
    '{"spec":{"claimRef":null}}' $merge)" '^403 '
like "an agent cannot list all volumes" "$(one GET $volumes)" '^403 '
like "an agent cannot list the volumes of another node" \
    "$(two GET "$volumes?fieldSelector=spec.nodeName%3Dn1")" '^403 '
like "an agent cannot write the status of such a volume of another node" \
    "$(two PATCH $volumes/v1/status \
    '{"status":{"phase":"Failed"}}' $merge)" '^403 '
like "an agent cannot read a volume of no node" "$(one GET $volumes/v0)" '^403 '
like "an agent cannot list claims" "$(one GET $claims)" '^403 '
like "an agent cannot read another Node" "$(two GET /api/v1/nodes/n1)" '^403 '
like "an agent cannot list all Nodes" "$(two GET /api/v1/nodes)" '^403 '
like "an agent cannot write the status of another Node" \
    "$(two PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"1"}}}' $merge)" '^403 '
like "an agent cannot delete another Node" \
    "$(two DELETE /api/v1/nodes/n1)" '^403 '
like "an agent cannot delete its own Node" \
    "$(two DELETE /api/v1/nodes/n2)" '^403 '
like "an agent cannot change its Node's spec" "$(two PATCH \
    /api/v1/nodes/n2 '{"spec":{"taints":null}}' $merge)" '^403 '
like "an agent cannot renew the lease of another node" "$(two PATCH $leases/n1 \
    '{"spec":{"holderIdentity":"n2"}}' $merge)" '^403 '
like "an agent cannot list the pods of another node" \
    "$(two GET "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")" '^403 '
like "an agent cannot list all pods" "$(two GET /api/v1/pods)" '^403 '
like "an agent cannot read a pod of another node" "$(two GET "$pod")" '^403 '
like "an agent cannot write the status of a pod of another node" \
    "$(two PATCH "$pod/status" \
    '{"status":{"phase":"Failed"}}' $merge)" '^403 '
like "an agent cannot delete a pod of another node" \
    "$(two DELETE "$pod")" '^403 '
like "an agent cannot read the script of a job on another node" \
    "$(two GET "$job/script")" '^403 '
like "an agent cannot read the environment of a job on another node" \
    "$(two GET "$job/environment")" '^403 '
like "an agent cannot change the allocation of a pod" \
    "$(one PATCH "$pod/status" \
    '{"status":{"allocation":{"cpus":"0-7"}}}' $merge)" '^403 '
like "an agent cannot submit jobs" \
    "$(one POST "$jobs" "$(job_json a '' '')")" '^403 '
like "the secret of one node does not prove to be another node" \
    "$(by n1 "$cluster/n2/state/node-secret" GET /api/v1/nodes/n1)" \
    "node 'n1'"

# --- credentials that are not valid -------------------------------------------
nonce() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
empty=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
# claim TARGET [CLUSTER]: prints the claim of a GET.
claim() {
    printf 'kiln-claim 1\npurpose=request\ncluster=%s\nnonce=%s\n' \
        "${2:-test}" "$(nonce)"
    printf 'method=GET\ntarget=%s\ncontent-type=\nbody=%s\n' "$1" $empty
}
credential() { # SOCKET MUNGE-OPTION...: makes a credential with the claim on standard input
    credential_socket=$1
    shift
    as kilntest1 munge -S "$credential_socket" "$@"
}
get_with() { # CREDENTIAL [TARGET]
    curl -s -w '\n%{http_code}' -H "Authorization: Munge $1" \
        "$cluster_url${2:-/api/v1/nodes}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
good=$(claim /api/v1/nodes | credential "$munge_socket" -u root -t 60)
like "a valid credential is accepted" "$(get_with "$good")" '^200 '
like "it is accepted only once" \
    "$(get_with "$good")" '^401 .*(replay|used before)'
other=$(claim /api/v1/nodes | credential "$munge_socket" -u root -t 60)
like "it is accepted only for the request that it was made for" \
    "$(get_with "$other" /api/v1/pods)" '^401 .*/api/v1/nodes'
other=$(claim /api/v1/nodes elsewhere | credential "$munge_socket" -u root -t 60)
like "it is accepted only in the cluster that it was made for" \
    "$(get_with "$other")" '^401 .*elsewhere'
other=$(claim /api/v1/nodes | credential "$munge_socket" -t 60)
like "a credential that others can read, too, is refused" \
    "$(get_with "$other")" '^401 .*is readable by users other than'
other=$(claim /api/v1/nodes | credential "$munge_socket" -u kilntest2 -t 60)
like "a credential that only another user can read is refused" \
    "$(get_with "$other")" '^401 '
old=$(claim /api/v1/nodes | credential "$munge_socket" -u root -t 1)
other=$(echo nonsense | credential "$munge_socket" -u root)
like "a credential without a claim is refused" "$(get_with "$other")" '^401 '
like "an invalid credential is refused" "$(get_with 'MUNGE:AwQFAAAA:')" '^401 '
like "another authentication scheme is refused" \
    "$(curl -s -u root:root -w '%{http_code}' \
    "$cluster_url/api/v1/nodes")" '401$'
like "a request without a credential is refused" \
    "$(curl -s -w '%{http_code}' "$cluster_url/api/v1/nodes")" '401$'
like "a session that was not opened is refused" \
    "$(curl -s -w '%{http_code}' -H \
    "Authorization: Kiln session=1,seq=1,mac=$empty" \
    "$cluster_url/api/v1/nodes")" '401$'
foreign=$munge_socket
mkdir "$cluster/other" && (
    umask 077
    head -c 128 /dev/urandom >"$cluster/munge/private/other-key"
)
chmod 755 "$cluster/other"
start other-munged munged --foreground --socket="$cluster/other/socket" \
    --key-file="$cluster/munge/private/other-key" \
    --pid-file="$cluster/munge/private/other-pid" \
    --seed-file="$cluster/munge/private/other-seed"
wait_for 10 test -S "$cluster/other/socket"
other=$(claim /api/v1/nodes | credential "$cluster/other/socket" -u root -t 60)
like "a credential with another key is refused" "$(get_with "$other")" \
    '^401 .*(key|cluster)'
munge_socket=$cluster/other/socket
cluster_clients
not_ok "ksub with another key fails" as kilntest1 ksub --wrap true
like "the message names the key" "$(as kilntest1 ksub --wrap true 2>&1)" 'key'
munge_socket=$foreign
cluster_clients
is_expired() { get_with "$old" | grep -q '^401 .*expired'; }
ok "an old credential has expired" wait_for 10 is_expired

# --- an operator --------------------------------------------------------------
stop controller
controller --operators kilntest2
wait_for 20 has_nodes
ok "an operator can cordon a node" as kilntest2 kctl cordon n2
ok "an operator can uncordon it" as kilntest2 kctl uncordon n2
ok "an operator can taint it" as kilntest2 kctl taint node n2 a=b:NoSchedule
ok "an operator can label it" \
    as kilntest2 kctl label node n2 feature.kiln.hpc/x=y
forbidden "an operator cannot delete it" kilntest2 DELETE /api/v1/nodes/n1
forbidden "an operator cannot write its status" \
    kilntest2 PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"99"}}}' $merge
held=$(as kilntest1 ksub --parsable -H --wrap true)
ok "an operator can release any job" as kilntest2 kctl release "$held"
held=$(as kilntest1 ksub --parsable --begin now+1hour --wrap true)
ok "an operator can hold any job" as kilntest2 kctl hold "$held"
not_ok "its owner then cannot release it" \
    as kilntest1 kctl release "$held"
priority_of() {
    as kilntest1 kctl get job "$held" -o jsonpath='{.spec.template.spec.priority}'
}
ok "an operator can set the priority of any job" \
    as kilntest2 kctl priority 100 "$held"
is "the job has that priority" "$(priority_of)" 100
not_ok "its owner cannot set the priority" \
    as kilntest1 kctl priority 200 "$held"
is "the priority is not changed" "$(priority_of)" 100
waits=$(as kilntest1 ksub --parsable -c 1000 --wrap true)
pod_priority() {
    as kilntest1 kctl get pods -o json | jq -r --arg job "job-$waits-" '
        .items[] | select(.metadata.name | startswith($job)) |
        .spec.priority' | grep -qx 7
}
ok "an operator can set the priority of a waiting job" \
    as kilntest2 kctl priority 7 "$waits"
ok "the job gets a pod with that priority" wait_for 10 pod_priority
is "the job still waits" "$(as kilntest1 kctl get job "$waits" \
    -o jsonpath='{.spec.suspend}')" false
pod_names() { as kilntest1 kctl get pods -o name | grep "job-$waits-"; }
before=$(pod_names)
not_ok "its owner cannot set it" as kilntest1 kctl priority 8 "$waits"
is "the refused request does not replace its pod" "$(pod_names)" "$before"
forbidden "an operator cannot change the spec of a job" \
    kilntest2 PATCH "$jobs/job-$held" \
    '{"spec":{"activeDeadlineSeconds":1}}' $merge
forbidden "an operator cannot read a script" kilntest2 GET "$job/script"
forbidden "an operator cannot read an output" kilntest2 GET "$pod/log"
ok "an operator can cancel any job" as kilntest2 kctl cancel "$held"
forbidden "an operator's own pod cannot name its node" kilntest2 POST "$pods" \
    "$(pod_json operators '"nodeName":"n1",')"

# --- an administrator ---------------------------------------------------------
stop controller
controller --administrators kilntest2
wait_for 20 has_nodes
like "an administrator can read scripts" "$(api kilntest2 GET "$job/script")" \
    '^200 .*secret-of-script'
reads_output() { api kilntest2 GET "$pod/log" | grep -q '^200 .*secret-of-output'; }
ok "an administrator can read output when the agent is connected again" \
    wait_for 20 reads_output
like "an administrator can create accounts" \
    "$(api kilntest2 POST /api/v1/namespaces \
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made"}}')" '^201 '
like "an administrator can delete an account over TCP" \
    "$(as kilntest2 kctl delete namespace made 2>&1)" 'deleted'
ok "an administrator can cancel any job" as kilntest2 kctl cancel "$id"
ok "an administrator can reset a node" as kilntest2 kctl reset node n2
not_ok "an administrator that does not exist is refused at the start" \
    kiln-controller --state-dir "$cluster/state2" \
    --socket "$cluster/socket2" --administrators nobody-of-that-name
finish
