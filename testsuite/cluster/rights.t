#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who may do what: each line of the table of rights, tried by somebody who may
# and by somebody who may not; and credentials that prove nothing.

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

# api USER METHOD PATH [BODY [TYPE]]: one line, the code and the answer.
api() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    as "$1" sh -c 'curl -s --max-time 10 -w "\n%{http_code}" \
        --unix-socket "$0" -X "$1" -H "Content-Type: $4" -d "$3" \
        "http://kiln$2"' "$cluster/socket" "$2" "$3" "${4-}" \
        "${5:-application/json}" |
        awk '{ text = text last; last = $0 } END { print last " " text }'
}
merge=application/merge-patch+json
# forbidden NAME USER METHOD PATH...: a 403 that says so.
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

# --- another's job ------------------------------------------------------------
cat >"$home/private.sh" <<'TXT'
#!/bin/sh
echo secret-of-output
exec >/dev/null
while [ ! -e end ]; do sleep 0.1; done # secret-of-script
TXT
chown kilntest1: "$home/private.sh"
id=$(as kilntest1 env TOKEN=secret-of-environment ksub --parsable -w n1 \
    -J private -o secret-of-path private.sh secret-of-arguments)
ok "a user's job runs" wait_for 10 state_is "$id" Running
job=$jobs/job-$id
pod=$pods/job-$id-0
job_uid=$(root get job "$id" -o json | jq -r .metadata.uid)
script_digest=$(root get job "$id" -o json | jq -r .spec.script.digest)

seen=$(api kilntest2 GET "$job")
like "others see that it is there, and whose" "$seen" '^200 .*kilntest1'
unlike "but not its script, environment, arguments or paths" \
    "$seen" 'secret-of|sha256:'
seen=$(api kilntest2 GET "$pod")
like "they see its pod, and on which node" "$seen" '^200 .*"nodeName": ?"n1"'
unlike "but not what it runs" "$seen" 'secret-of|sha256:|private.sh'
unlike "nor in a list" "$(api kilntest2 GET /api/v1/pods)" 'secret-of|sha256:'
unlike "nor in a watch" "$(as kilntest2 curl -s --max-time 1 \
    --unix-socket "$cluster/socket" \
    "http://kiln/apis/batch/v1/jobs?watch=1&resourceVersion=0&timeoutSeconds=1")" \
    'secret-of|sha256:'
unlike "nor by kctl" "$(as kilntest2 kctl describe job "$id")" 'secret-of'
like "its owner sees it all" "$(api kilntest1 GET "$pod")" 'secret-of-arguments'
forbidden "others do not read the script" kilntest2 GET "$job/script"
forbidden "nor the environment" kilntest2 GET "$job/environment"
forbidden "nor the output" kilntest2 GET "$pod/log"
like "the owner reads the script" "$(api kilntest1 GET "$job/script")" \
    '^200 .*secret-of-script'
like "and the environment" \
    "$(api kilntest1 GET "$job/environment" | tr '\0' ' ')" \
    '^200 .*secret-of-environment'
like "and the output" "$(api kilntest1 GET "$pod/log")" '^200 .*secret-of-output'

lost=$(as kilntest1 ksub --parsable -o /nowhere/secret-of-path --wrap true)
ok "a job whose output cannot be opened fails" wait_for 10 state_is "$lost" Failed
like "its owner is told the path" "$(as kilntest1 kctl get job "$lost")" \
    'secret-of-path'
for how in "get job $lost" "get job $lost -o wide" "get job $lost -o yaml" \
    "get pod job-$lost-0 -o yaml" \
    "describe job $lost" "describe pod job-$lost-0" "why $lost" \
    "get events" "get pods -o json"; do
    # shellcheck disable=SC2086 # words
    unlike "others are not: kctl $how" "$(as kilntest2 kctl $how 2>&1)" \
        'secret-of'
done
hold='{"spec":{"suspend":true}}'
forbidden "others do not hold it" kilntest2 PATCH "$job" "$hold" $merge
forbidden "nor cancel it" kilntest2 PATCH "$job" \
    '{"metadata":{"annotations":{"kiln.hpc/cancel":"me"}}}' $merge
forbidden "nor replace it" kilntest2 PUT "$job" \
    "$(job_json "job-$id" '' '')"
forbidden "nor delete it" kilntest2 DELETE "$job"
forbidden "nor its pod" kilntest2 DELETE "$pod"
forbidden "nor evict that" kilntest2 POST "$pod/eviction" \
    "{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\
\"metadata\":{\"name\":\"job-$id-0\"}}"
api kilntest2 DELETE "$jobs" >/dev/null
api kilntest2 DELETE "$pods" >/dev/null
ok "nor all there are" state_is "$id" Running
like "kctl says why it does not" \
    "$(as kilntest2 kctl cancel "$id" 2>&1)" 'kilntest2.* cannot'

like "a body that leaves out whose it is does not change that" \
    "$(api kilntest1 PUT "$job" "$(job_json "job-$id" '' '')")" \
    '^422 .*field is immutable'

# --- as somebody else, or past the scheduler ----------------------------------
uid1=$(id -u kilntest1)
for kind in pod job; do
    if [ $kind = pod ]; then
        to=$pods
        body() { pod_json "p$1" "$2"; }
    else
        to=$jobs
        body() { job_json "j$1" '' "$2"; }
    fi
    forbidden "a $kind does not run as another user" kilntest2 POST "$to" \
        "$(body 1 "\"securityContext\":{\"runAsUser\":$uid1},")"
    forbidden "nor as root" kilntest2 POST "$to" \
        "$(body 2 '"securityContext":{"runAsUser":0},')"
    forbidden "nor in root's group" kilntest2 POST "$to" \
        "$(body 3 '"securityContext":{"runAsGroup":0},')"
    forbidden "nor in groups the user names" kilntest2 POST "$to" \
        "$(body 4 '"securityContext":{"supplementalGroups":[0]},')"
    forbidden "a $kind does not name its node" kilntest2 POST "$to" \
        "$(body 5 '"nodeName":"n1",')"
    forbidden "nor take a priority of the system" kilntest2 POST "$to" \
        "$(body 6 '"priorityClassName":"system-node-critical",')"
    forbidden "nor raise its own" kilntest2 POST "$to" \
        "$(body 7 '"priority":1000000,')"
done
like "a user makes a pod" \
    "$(api kilntest2 POST "$pods" "$(pod_json mine \
        '"schedulingGates":[{"name":"kiln.hpc/wait"}],')")" '^201 '
forbidden "but does not bind it" kilntest2 POST "$pods/mine/binding" \
    '{"apiVersion":"v1","kind":"Binding","metadata":{"name":"mine"},
"target":{"name":"n1"},"allocation":{"cpus":"0"}}'
forbidden "nor write its status" kilntest2 PATCH "$pods/mine/status" \
    '{"status":{"phase":"Succeeded"}}' $merge
owned=",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\
\"name\":\"job-$id\",\"uid\":\"$job_uid\",\"controller\":true}]"
forbidden "nor make one that passes for a pod of another's job" \
    kilntest2 POST "$pods" "$(pod_json "job-$id-1" '' "$owned")"
forbidden "nor hand that job a pod later" kilntest2 PATCH "$pods/mine" \
    "{\"metadata\":{${owned#,}}}" $merge
forbidden "nor make one that asks its node for another's script" \
    kilntest2 POST "$pods" "$(pod_json thief '' \
        ",\"annotations\":{\"kiln.hpc/script\":\"$script_digest\"}")"
forbidden "a user takes no name that a job's number will have" \
    kilntest2 POST "$jobs" "$(job_json job-123456 '' '')"
forbidden "nor one of its pods" \
    kilntest2 POST "$pods" "$(pod_json job-123456-0 '')"
like "the key of another's submission opens nothing" "$(as kilntest2 sh -c "
    curl -s --unix-socket $cluster/socket -H 'Content-Type: application/json' \
        -H 'Idempotency-Key: $(root get job "$id" -o json |
        jq -r '.metadata.annotations["kiln.hpc/submission-key"]')' \
        -d '$(job_json other '"suspend":true,' '')' -w '%{http_code}' \
        -o /dev/null http://kiln$jobs")" '^201$'

# An administrator's key is his own, for whomever he submits.
submit_for() { # KEY
    curl -s --unix-socket "$cluster/socket" \
        -H 'Content-Type: application/json' -H "Idempotency-Key: $1" \
        -d "$(job_json '' '"suspend":true,' \
            "\"securityContext\":{\"runAsUser\":$uid1}," |
            sed 's/"name":""/"generateName":"job-"/')" \
        "http://kiln$jobs" | jq -r .metadata.name
}
is "an administrator's retry for a user makes no second job" \
    "$(for _ in 1 2 3; do submit_for retry-1; done | sort -u | wc -l)" 1
like "one with another key does" "$(submit_for retry-2)" '^job-[0-9]+$'
like "nor does the key open it to its owner" "$(as kilntest1 sh -c "
    curl -s --unix-socket $cluster/socket -H 'Content-Type: application/json' \
        -H 'Idempotency-Key: retry-1' \
        -d '$(job_json again '"suspend":true,' '')' -w '%{http_code}' \
        -o /dev/null http://kiln$jobs")" '^201$'

# --- the cluster is not theirs ------------------------------------------------
forbidden "a user does not cordon nodes" kilntest2 PATCH /api/v1/nodes/n1 \
    '{"spec":{"unschedulable":true}}' $merge
forbidden "nor delete them" kilntest2 DELETE /api/v1/nodes/n1
forbidden "nor write their status" kilntest2 PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"99"}}}' $merge
forbidden "nor enrol one" kilntest2 POST /api/v1/nodes/n1/enrol '{}'
forbidden "nor make one, unless the site allows it" kilntest2 POST \
    /api/v1/nodes '{"apiVersion":"v1","kind":"Node","metadata":{"name":"x"}}'
forbidden "nor let it forget its secret" kilntest2 POST /api/v1/nodes/n1/reset '{}'
forbidden "nor approve one" kilntest2 POST /api/v1/nodes/n1/approve '{}'
forbidden "nor renew a lease" kilntest2 PATCH \
    /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1 \
    '{"spec":{"holderIdentity":"me"}}' $merge
forbidden "nor make accounts" kilntest2 POST /api/v1/namespaces \
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}'
forbidden "nor priorities" kilntest2 POST \
    /apis/scheduling.k8s.io/v1/priorityclasses \
    '{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass",
"metadata":{"name":"x"},"value":10}'
forbidden "nor events of another's pods" kilntest2 POST /api/v1/namespaces/default/events \
    '{"apiVersion":"v1","kind":"Event","metadata":{"name":"x"},
"involvedObject":{"kind":"Pod","name":"'"job-$id-0"'","namespace":"default"}}'
root create -f - >/dev/null <<'TXT'
apiVersion: v1
kind: Namespace
metadata: {name: closed, annotations: {kiln.hpc/members: kilntest1}}
TXT
closed=/apis/batch/v1/namespaces/closed/jobs
forbidden "nor submit to accounts they do not belong to" \
    kilntest2 POST $closed "$(job_json x '' '')"
like "as a member may" \
    "$(api kilntest1 POST $closed "$(job_json x '"suspend":true,' '')")" '^201 '

# --- root of a compute node ---------------------------------------------------
# by NODE SECRET-FILE METHOD PATH [BODY [TYPE]]: over TCP, as root.
by() {
    ask "$cluster_url" "$munge_socket" "$@" 2>&1 | tr '\n' ' '
}
like "root elsewhere is no administrator: deletes no node" \
    "$(by '' '' DELETE /api/v1/nodes/n1)" '^403 '
like "reads no script" "$(by '' '' GET "$job/script")" '^403 '
like "cancels no job" "$(by '' '' DELETE "$job")" '^403 '
like "and submits none" "$(by '' '' POST "$jobs" "$(job_json r '' '')")" '^403 '
like "a job of root is refused to the administrator, too" \
    "$(curl -s --unix-socket "$cluster/socket" \
        -H 'Content-Type: application/json' -d "$(job_json r '' '')" \
        "http://kiln$jobs")" 'allowRootJobs'
like "nor does root take the place of a node that has a secret" \
    "$(by '' '' POST /api/v1/nodes/n1/enrol '{}')" '^409 '

# --- an agent -----------------------------------------------------------------
one() { by n1 "$cluster/n1/state/node-secret" "$@"; }
two() { by n2 "$cluster/n2/state/node-secret" "$@"; }
leases=/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases
like "an agent reads its node" "$(one GET /api/v1/nodes/n1)" '^200 '
like "and its pods" \
    "$(one GET "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")" \
    "^200 .*job-$id-0"
like "and their scripts" "$(one GET "$job/script")" '^200 .*secret-of-script'
# A volume of n1's scratch, and one that is nobody's.
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
like "and its volumes, no others" \
    "$(one GET "$volumes?fieldSelector=spec.nodeName%3Dn1")" \
    '^200 .*"name":"v1"'
like "it says what became of them" "$(one PATCH $volumes/v1/status \
    '{"status":{"phase":"Available"}}' $merge)" '^200 '
like "but not whose they are" "$(one PATCH $volumes/v1 \
    '{"spec":{"claimRef":null}}' $merge)" '^403 '
like "not all volumes" "$(one GET $volumes)" '^403 '
like "nor those of others" \
    "$(two GET "$volumes?fieldSelector=spec.nodeName%3Dn1")" '^403 '
like "nor what becomes of them" "$(two PATCH $volumes/v1/status \
    '{"status":{"phase":"Failed"}}' $merge)" '^403 '
like "nor one that is no node's" "$(one GET $volumes/v0)" '^403 '
like "nor claims" "$(one GET $claims)" '^403 '
like "not another's node" "$(two GET /api/v1/nodes/n1)" '^403 '
like "nor all nodes" "$(two GET /api/v1/nodes)" '^403 '
like "nor writes its status" "$(two PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"1"}}}' $merge)" '^403 '
like "nor deletes it" "$(two DELETE /api/v1/nodes/n1)" '^403 '
like "nor its own" "$(two DELETE /api/v1/nodes/n2)" '^403 '
like "nor approves, uncordons or untaints itself" "$(two PATCH \
    /api/v1/nodes/n2 '{"spec":{"taints":null}}' $merge)" '^403 '
like "nor renews another's lease" "$(two PATCH $leases/n1 \
    '{"spec":{"holderIdentity":"n2"}}' $merge)" '^403 '
like "nor sees pods of others" \
    "$(two GET "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1")" '^403 '
like "nor all pods" "$(two GET /api/v1/pods)" '^403 '
like "nor one that is not bound to it" "$(two GET "$pod")" '^403 '
like "nor reports on it" "$(two PATCH "$pod/status" \
    '{"status":{"phase":"Failed"}}' $merge)" '^403 '
like "nor removes it" "$(two DELETE "$pod")" '^403 '
like "nor reads its script" "$(two GET "$job/script")" '^403 '
like "nor its environment" "$(two GET "$job/environment")" '^403 '
like "nor gives pods other cores" "$(one PATCH "$pod/status" \
    '{"status":{"allocation":{"cpus":"0-7"}}}' $merge)" '^403 '
like "nor submits jobs" "$(one POST "$jobs" "$(job_json a '' '')")" '^403 '
like "the secret of one node does not prove another" \
    "$(by n1 "$cluster/n2/state/node-secret" GET /api/v1/nodes/n1)" \
    "node 'n1'"

# --- credentials that prove nothing -------------------------------------------
nonce() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }
empty=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
# claim TARGET [CLUSTER]: of a GET.
claim() {
    printf 'kiln-claim 1\npurpose=request\ncluster=%s\nnonce=%s\n' \
        "${2:-test}" "$(nonce)"
    printf 'method=GET\ntarget=%s\ncontent-type=\nbody=%s\n' "$1" $empty
}
credential() { # SOCKET MUNGE-OPTION...: of the claim on standard input
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
like "a good credential is taken" "$(get_with "$good")" '^200 '
like "but once" "$(get_with "$good")" '^401 .*(replay|used before)'
other=$(claim /api/v1/nodes | credential "$munge_socket" -u root -t 60)
like "for what it was made for alone" \
    "$(get_with "$other" /api/v1/pods)" '^401 .*/api/v1/nodes'
other=$(claim /api/v1/nodes elsewhere | credential "$munge_socket" -u root -t 60)
like "in the cluster it was made for" "$(get_with "$other")" '^401 .*elsewhere'
other=$(claim /api/v1/nodes | credential "$munge_socket" -t 60)
like "read by the controller alone" "$(get_with "$other")" '^401 .*can be read by others'
other=$(claim /api/v1/nodes | credential "$munge_socket" -u kilntest2 -t 60)
like "not one that another was to read" "$(get_with "$other")" '^401 '
old=$(claim /api/v1/nodes | credential "$munge_socket" -u root -t 1)
other=$(echo nonsense | credential "$munge_socket" -u root)
like "with a claim in it" "$(get_with "$other")" '^401 '
like "not garbage" "$(get_with 'MUNGE:AwQFAAAA:')" '^401 '
like "not another scheme" "$(curl -s -u root:root -w '%{http_code}' \
    "$cluster_url/api/v1/nodes")" '401$'
like "and nobody without any" \
    "$(curl -s -w '%{http_code}' "$cluster_url/api/v1/nodes")" '401$'
like "a session is not had by naming one" "$(curl -s -w '%{http_code}' -H \
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
like "a credential of another key is foreign" "$(get_with "$other")" \
    '^401 .*(key|cluster)'
munge_socket=$cluster/other/socket
cluster_clients
not_ok "ksub with another key is told so" as kilntest1 ksub --wrap true
like "in words that help" "$(as kilntest1 ksub --wrap true 2>&1)" 'key'
munge_socket=$foreign
cluster_clients
is_expired() { get_with "$old" | grep -q '^401 .*expired'; }
ok "an old one has expired" wait_for 10 is_expired

# --- an operator --------------------------------------------------------------
stop controller
controller --operators kilntest2
wait_for 20 has_nodes
ok "an operator cordons nodes" as kilntest2 kctl cordon n2
ok "uncordons them" as kilntest2 kctl uncordon n2
ok "taints them" as kilntest2 kctl taint node n2 a=b:NoSchedule
ok "labels them" as kilntest2 kctl label node n2 feature.kiln.hpc/x=y
forbidden "but does not delete them" kilntest2 DELETE /api/v1/nodes/n1
forbidden "nor write their status" kilntest2 PATCH /api/v1/nodes/n1/status \
    '{"status":{"capacity":{"cpu":"99"}}}' $merge
held=$(as kilntest1 ksub --parsable -H --wrap true)
ok "an operator releases any job" as kilntest2 kctl release "$held"
held=$(as kilntest1 ksub --parsable --begin now+1hour --wrap true)
ok "and holds it" as kilntest2 kctl hold "$held"
not_ok "so that its owner cannot release it" \
    as kilntest1 kctl release "$held"
priority_of() {
    as kilntest1 kctl get job "$held" -o jsonpath='{.spec.template.spec.priority}'
}
ok "an operator says how important any job is" \
    as kilntest2 kctl priority 100 "$held"
is "which is so" "$(priority_of)" 100
not_ok "its owner does not" as kilntest1 kctl priority 200 "$held"
is "which changes nothing" "$(priority_of)" 100
waits=$(as kilntest1 ksub --parsable -c 1000 --wrap true)
pod_priority() {
    as kilntest1 kctl get pods -o json | jq -r --arg job "job-$waits-" '
        .items[] | select(.metadata.name | startswith($job)) |
        .spec.priority' | grep -qx 7
}
ok "also one that waits" as kilntest2 kctl priority 7 "$waits"
ok "which gets a pod that says so" wait_for 10 pod_priority
is "and waits on" "$(as kilntest1 kctl get job "$waits" \
    -o jsonpath='{.spec.suspend}')" false
pod_names() { as kilntest1 kctl get pods -o name | grep "job-$waits-"; }
before=$(pod_names)
not_ok "its owner gives it no number" as kilntest1 kctl priority 8 "$waits"
is "and being refused costs it nothing" "$(pod_names)" "$before"
forbidden "an operator does not change what it runs" \
    kilntest2 PATCH "$jobs/job-$held" \
    '{"spec":{"activeDeadlineSeconds":1}}' $merge
forbidden "nor reads the script" kilntest2 GET "$job/script"
forbidden "nor the output" kilntest2 GET "$pod/log"
ok "an operator cancels any job" as kilntest2 kctl cancel "$held"
forbidden "an operator's own pod names no node, either" kilntest2 POST "$pods" \
    "$(pod_json operators '"nodeName":"n1",')"

# --- an administrator ---------------------------------------------------------
stop controller
controller --administrators kilntest2
wait_for 20 has_nodes
like "an administrator reads scripts" "$(api kilntest2 GET "$job/script")" \
    '^200 .*secret-of-script'
reads_output() { api kilntest2 GET "$pod/log" | grep -q '^200 .*secret-of-output'; }
ok "and output, once the agent is connected again" wait_for 20 reads_output
like "makes accounts" "$(api kilntest2 POST /api/v1/namespaces \
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"made"}}')" '^201 '
like "also over TCP" "$(as kilntest2 kctl delete namespace made 2>&1)" 'deleted'
ok "ends any job" as kilntest2 kctl cancel "$id"
ok "and resets nodes" as kilntest2 kctl reset node n2
not_ok "an administrator nobody knows is refused at the start" \
    kiln-controller --state-dir "$cluster/state2" \
    --socket "$cluster/socket2" --administrators nobody-of-that-name
finish
