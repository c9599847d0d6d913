#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl against a real controller: every verb, and what it says when it cannot.

# shellcheck disable=SC2016,SC2317 # commands that others expand and call

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged curl jq
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket # root of the network is nobody special
export KILN_SERVER
cluster_agent n17 --allow-root-jobs --usage-interval 500ms
wait_for 20 kctl wait --for condition=Ready node n17 || bail_out "no node"
completions=$(cd "$top_srcdir/contrib/completions" && pwd)
cd "$cluster/home" || bail_out "no home"

# says NAME WORDS COMMAND...: the command fails, with those words.
says() {
    says_name=$1 says_words=$2
    shift 2
    if says_output=$("$@" 2>&1); then
        fail "$says_name"
        note "succeeded: $*"
    else
        case $says_output in
        *"$says_words"*) pass "$says_name" ;;
        *)
            fail "$says_name"
            note "$says_output"
            ;;
        esac
    fi
}

# status_is NAME STATUS COMMAND...
status_is() {
    status_name=$1 status_wanted=$2 status=0
    shift 2
    "$@" >/dev/null 2>&1 || status=$?
    is "$status_name" "$status" "$status_wanted"
}

# --- looking -----------------------------------------------------------------

is "an empty list says so" "$(kctl get pods 2>&1)" \
    "No resources found in default namespace."
ok "nodes are listed" sh -c 'kctl get nodes | grep -q "^n17 .*Ready"'
ok "by their short name, wide" kctl get no -o wide
is "by name" "$(kctl get nodes -o name)" "node/n17"
ok "as YAML" sh -c 'kctl get node n17 -o yaml | grep -q "^kind: Node"'
ok "as JSON" sh -c 'kctl get nodes -o json | grep -q "\"kind\": \"NodeList\""'
is "in columns of one's own" \
    "$(kctl get nodes -o custom-columns=N:.metadata.name,K:.kind --no-headers)" \
    "n17   Node"
is "by a template" "$(kctl get nodes -o 'jsonpath={.items[*].metadata.name}')" \
    n17
says "which is checked" "'}' is missing" kctl get nodes -o 'jsonpath={.x'
says "as the columns are" "HEADING:PATH" kctl get nodes -o custom-columns=x
like "with labels in columns" "$(kctl get nodes -L kubernetes.io/os)" 'linux$'
is "in the order of a value" \
    "$(kctl get priorityclasses --sort-by .value -o name | tr '\n' ' ')" \
    "priorityclass/system-cluster-critical priorityclass/system-node-critical "
is "which a template keeps" "$(kctl get ns --sort-by .metadata.name \
    -o custom-columns=N:.metadata.name --no-headers)" \
    "$(kctl get ns -o name | sed 's,.*/,,' | sort)"
says "that is a path" "--sort-by" kctl get nodes --sort-by '.x['
ok "nodes are described" sh -c 'kctl describe node n17 | grep -q "^Events:"'
ok "nodes are drawn" sh -c 'kctl topology n17 | grep -q "cores free"'
ok "nodes have a top" sh -c 'kctl top nodes | grep -q "^n17"'
ok "versions are told" sh -c 'kctl version | grep -q "^Server: v"'
ok "fields are explained" \
    sh -c 'kctl explain pod.spec.placement | grep -q numaPolicy'
says "a mistyped name is guessed" \
    'node "n7" not found (did you mean "n17"?)' kctl drain n7
says "so is a type" "did you mean 'pods'" kctl get pdos
says "and a command" "did you mean 'get'" kctl gte
says "and a field" "did you mean 'placement'" kctl explain pod.spec.placment
status_is "what is not there is 66" 66 kctl get node nowhere
status_is "what was not there may be ignored" 0 \
    kctl get node nowhere --ignore-not-found
status_is "a mistake on the command line is 64" 64 kctl get --no-such-option
status_is "and so is a verb without what it needs" 64 kctl drain
status_is "a controller that is not there is 69" 69 \
    kctl -s http+unix:///nonexistent get nodes

# --- nodes -------------------------------------------------------------------

ok "a node is labelled" kctl label node n17 zone=east
says "not over another value" "--overwrite" kctl label node n17 zone=west
ok "but when told to" kctl label node n17 zone=west --overwrite
is "labels select" "$(kctl get nodes -l zone=west -o name)" "node/n17"
is "one that is there already is no change" \
    "$(kctl label node n17 zone=west)" "node/n17 unchanged"
ok "labels are listed" sh -c 'kctl label node n17 --list | grep -q zone=west'
ok "a label is taken off" kctl label node n17 zone-
is "which is none twice" "$(kctl label node n17 zone-)" "node/n17 unchanged"
ok "a node is annotated" kctl annotate node n17 note='a b'
ok "a node is tainted" kctl taint n17 dedicated=x:NoSchedule
ok "and no more" kctl taint --all dedicated-
says "a taint has an effect" "NoExecute" kctl taint n17 dedicated=x:Nothing
ok "a node is cordoned" kctl cordon --reason 'bad fan' n17
ok "which is shown" sh -c 'kctl get nodes | grep -q SchedulingDisabled'
ok "and uncordoned" kctl uncordon n17
says "a fence needs a word more" "--yes" kctl fence n17

# --- jobs --------------------------------------------------------------------

# runs POD: before the timeout; it may not have been made yet.
runs() {
    wait_for 20 kctl wait --for 'jsonpath={.status.phase}=Running' \
        --timeout 20s pod "$1"
}
id=$(ksub --parsable --wrap 'echo one; sleep 1; echo two; sleep 100')
ok "a job starts" runs "job-$id-0"
told() { # JOB WORD...: events of the job with these reasons, in this order
    kctl events --for "$1" --no-headers | awk -v words="$2" '
        BEGIN { n = split(words, want, " "); at = 1 }
        { for (i = 1; i <= NF; i++) if ($i == want[at]) { at++; break } }
        END { exit at <= n }'
}
ok "what happens to its pods is told with it" \
    wait_for 20 told "$id" "SuccessfulCreate Scheduled"
ok "a number is a job" sh -c "kctl get $id 2>/dev/null || kctl get job $id"
ok "it is in the picture of its node" \
    sh -c "kctl topology n17 | grep -q 'default/job-$id-0'"
uses() { # VIEW NAME: what its node told of it, and what it was given
    kctl top "$1" --no-headers "$2" | grep -Eq "^$2 .* 1 +[0-9.]+ +[0-9]+s +[0-9]"
}
ok "what its pod uses is told" wait_for 10 uses pods "job-$id-0"
ok "and so that of the job" wait_for 10 uses jobs "$id"
says "which a ConfigMap has not" "nodes, pods or jobs" kctl top configmaps
metrics() {
    curl -sS --unix-socket "$KILN_SERVER" \
        "http://kiln/apis/metrics.k8s.io/v1beta1/$1"
}
has_usage() { metrics "$1" | jq -e '.usage.cpu and .usage.memory'; }
ok "a node has metrics" wait_for 10 has_usage nodes/n17
ok "which kubectl shows" wait_for 10 sh -c '! command -v kubectl >/dev/null ||
    { kctl proxy --port 0 >proxied & proxy=$!; sleep 0.2
      kubectl --server "http://$(sed "s,.*http://,," proxied)" top node n17
      status=$?; kill $proxy; exit $status; }'
ok "why it runs is told" sh -c "kctl why $id | grep -q Running"
is "its output is read" "$(kctl logs "$id" | head -n 1)" "one"
timeout 3 kctl logs -f "$id" >followed
is "and followed" "$(tail -n 1 followed)" "two"
stamped() { # POD: its lines with their times, in order
    kctl logs --timestamps pod "$1" >stamped &&
        sort -c stamped && cut -d' ' -f2- stamped | tr '\n' ' '
}
is "with the times of its lines" "$(stamped "job-$id-0")" "one two "
first=$(sed -n '1s/ .*//p' stamped) second=$(sed -n '2s/ .*//p' stamped)
is "and from one of them on" \
    "$(kctl logs --since-time "$second" pod "job-$id-0")" "two"
is "which may be all" "$(kctl logs --since 1h "$id" | tr '\n' ' ')" "one two "
is "the end of it, bounded" "$(kctl logs --tail 1 --limit-bytes 2 "$id")" "tw"
is "or followed with them" "$(timeout 2 kctl logs -f --timestamps "$id" |
    sed 's/Z .*/Z/' | tr '\n' ' ')" "$first $second "
says "a time is one" "is not a time" kctl logs --since-time now "$id"
says "a first attempt has none before" "previous terminated container" \
    sh -c "curl -sS --unix-socket '$KILN_SERVER' 'http://kiln/api/v1/namespaces\
/default/pods/job-$id-0/log?previous=true' >&2; false"
says "a drain waits no longer than told" "timed out" \
    kctl drain --wait --timeout 1s n17
kctl uncordon n17 >/dev/null
ok "a job is requeued" kctl requeue "$id"
ok "and runs again" runs "job-$id-0-r1"
ok "a job is requeued and held" kctl requeue --hold "$id"
ok "and has no pods then" \
    kctl wait --for delete --timeout 20s pod "job-$id-0-r1"
ok "a job is released" kctl release "$id"
ok "and runs again" runs "job-$id-0-r2"
ok "a job is held while it runs" kctl hold "$id"
ok "and runs on" runs "job-$id-0-r2"
ok "a job is cancelled" kctl cancel "$id"
ok "and has failed then" \
    kctl wait --for condition=Failed --timeout 20s job "$id"
ok "which is shown" sh -c "kctl get jobs | grep -q '^$id .*Cancelled'"
ok "and what happened to it is told" wait_for 10 told "$id" \
    "SuccessfulCreate Requeued SuccessfulDelete Cancelled"
ok "warnings alone, too" \
    sh -c "kctl events --for $id --types Warning | grep -q Cancelled"
ok "a description has the same" \
    sh -c "kctl describe $id | grep -q 'Requeued .*job-controller'"
says "events are Normal or Warning" "neither Normal nor Warning" \
    kctl events --types Bad
says "of an object that --for names" "--for 1042" kctl events 1042
ok "its record goes when it is deleted" kctl delete --wait "$id"
says "and is not there any more" "not found" kctl get job "$id"
says "a job that never was cannot be cancelled" "job 999 not found" \
    kctl cancel 999
id=$(ksub --parsable -H --wrap true)
says "one that is not there is told" "job 999 not found" kctl get jobs "$id" 999
like "and does not spare the other" "$(kctl get jobs "$id" 999 2>/dev/null)" \
    "^$id "
ok "a wait for one to be gone that is gone is over" \
    kctl wait --for delete job 999
is "jobs are cancelled by their user" "$(kctl cancel -u root)" \
    "job/$id cancelled"
is "nobody has none" "$(kctl cancel -u nobody 2>&1)" \
    "No active jobs that you may change"
wait_for 20 kctl wait --for condition=Failed job "$id"
# How often jobs were read.
reads() {
    curl -s --unix-socket "$cluster/state/socket" http://kiln/metrics | awk '
        /^apiserver_request_total/ && /resource="jobs"/ && /"(GET|LIST)"/ {
            n += $2
        }
        END { print n + 0 }'
}
before=$(reads)
is "and those that have ended are not told of" "$(kctl cancel --all 2>&1)" \
    "No active jobs that you may change"
is "nor asked for: there was one request" "$(($(reads) - before))" 1
says "a wait that takes too long gives up" "timed out" \
    kctl wait --for condition=Ready --timeout 1s job "$id"
says "--timeout is of --wait" "--wait" kctl delete --timeout 1s "$id"
ok "kctl help is --help" sh -c 'kctl help drain | grep -q -e --evict'
ok "versions are told as YAML" \
    sh -c 'kctl version -o yaml | grep -q "gitVersion: v1"'

# --- objects from files ------------------------------------------------------

cat >a.yaml <<'EOF'
apiVersion: v1
kind: Namespace
metadata:
  name: physics
  labels: {a: "1", b: "2"}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
EOF
is "apply creates" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics created"
is "and then has nothing to do" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics unchanged"
sed -i 's/a: "1", b: "2"/a: "3"/' a.yaml
kctl label namespace physics other=theirs >/dev/null
is "and changes what has changed" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics configured"
is "removes what is gone, and leaves what is others'" \
    "$(kctl get ns physics -o json | jq -c '.metadata.labels | [.a, .b, .other]')" \
    '["3",null,"theirs"]'
is "several are one list for a program" \
    "$(kctl get ns physics default -o json |
        jq -c '[.kind, (.items[] | .kind, .metadata.name)]')" \
    '["List","Namespace","physics","Namespace","default"]'
is "of any kinds" "$(kctl get namespaces,priorityclasses -o yaml |
    grep -c -e '^kind: List' -e '^    name: default$' \
        -e '^    name: system-node-critical')" 3
mkdir d && printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c1}\n' \
    >d/1.yaml
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c2"}}' >d/2.json
echo 'no document' >d/README
is "a directory is the documents in it" "$(kctl apply -f d | tr '\n' ' ')" \
    "configmap/c1 created configmap/c2 created "
ok "also where they are deleted" kctl delete -f d
says "a directory without any says so" "no files *.yaml" kctl apply -f /proc/self
says "create does not replace" "already exists" kctl create -f a.yaml
says "a field nobody knows is refused" 'unknown field "valeu"' \
    sh -c 'sed -e "1,/---/d" -e s/value/valeu/ -e s/urgent/new/ a.yaml | kctl create -f -'
says "so is a kind" "did you mean 'Namespace'" \
    sh -c 'sed s/Namespace/Namespaze/ a.yaml | kctl apply -f -'
kctl get priorityclass urgent -o yaml >pc.yaml
ok "what get prints, replace takes" kctl replace -f pc.yaml
kctl get priorityclasses -o json |
    jq ".items |= map(select(.value == 1000))" >pcs.json
ok "and also a list" kctl replace -f pcs.json
ok "files are deleted" kctl delete -f a.yaml

# --- proxy -------------------------------------------------------------------

start proxy kctl proxy --port 0 --unix-socket "$cluster/proxy.sock"
wait_for 10 grep -q "http://" "$cluster/log/proxy"
url=$(grep -o 'http://.*' "$cluster/log/proxy" | head -n 1)
like "what comes later is said to, by it too" \
    "$(curl -sS -H 'Connection: Upgrade' -H 'Upgrade: SPDY/3.1' -X POST \
        "$url/api/v1/namespaces/default/pods/p/exec?command=ls")" \
    'come later.*501'
ok "the proxy serves the API" \
    sh -c "curl -fsS $url/api/v1/nodes/n17 | grep -q '\"name\":\"n17\"'"
ok "and its watches" \
    sh -c "timeout 2 curl -sN '$url/api/v1/nodes?watch=true' | grep -q ADDED"
not_ok "no web page" curl -fsS -H 'Origin: http://example.net' "$url/api"
not_ok "under no other name" curl -fsS -H 'Host: example.net' "$url/api"
is "its socket is the user's alone" \
    "$(stat -c %a "$cluster/proxy.sock")" 600
if cluster_user kilntest1; then
    not_ok "no other user is served" as kilntest1 curl -fsS "$url/api"
    not_ok "not by the socket either" as kilntest1 \
        curl -fsS --unix-socket "$cluster/proxy.sock" http://localhost/api
else
    skip "no other user is served" "only root can make users"
fi

# --- who may what ------------------------------------------------------------

if cluster_user kilntest1 && cluster_user kilntest2; then
    chmod 755 "$cluster/home/kilntest1"
    id=$(as kilntest1 ksub --parsable -H --wrap true)
    ok "a user submits over the network" test -n "$id"
    ok "and is told the controller's version" \
        sh -c 'case $1 in *"Server: v"*) ;; *) echo "$1"; false ;; esac' \
        - "$(as kilntest1 kctl version 2>&1)"
    ok "another one sees the job" as kilntest2 kctl get job "$id"
    status_is "but may not cancel it" 77 as kilntest2 kctl cancel "$id"
    status_is "nor drain a node" 77 as kilntest2 kctl cordon n17
    ok "its owner may" as kilntest1 kctl cancel "$id"
else
    skip "a user submits over the network" "only root can make users"
fi
# --- what people type ----------------------------------------------------------

id=$(ksub --parsable -J "$(printf 'é%.0s' $(seq 100))" --wrap true)
is "a long name is cut in a row" \
    "$(kctl get job "$id" --no-headers | awk '{ print $2 }')" \
    "$(printf 'é%.0s' $(seq 20))+"
printf '#!/bin/sh\necho "given $1"\n' | ksub -W -o given.out - words >/dev/null
is "a script from a pipe has arguments" "$(cat given.out)" "given words"
kctl wait --for condition=Complete --timeout 30s "$id" >/dev/null
like "nothing to cancel is said so" "$(kctl cancel -u root 2>&1)" \
    'No active jobs that you may change'
status_is "an empty command is no job" 64 ksub --wrap ' '
status_is "nor are a script and a command" 64 ksub --wrap true a.yaml
is "a namespace is made by its name" "$(kctl create namespace physics)" \
    "namespace/physics created"
is "a label that goes is said to go" "$(kctl label ns physics a=b
    kctl label ns physics a-)" "namespace/physics labeled
namespace/physics unlabeled"
is "and so is a taint" "$(kctl taint node n17 a=b:NoSchedule
    kctl taint node n17 a-)" "node/n17 tainted
node/n17 untainted"
kctl delete ns physics >/dev/null

complete_words() { # WORD...: what bash offers for the last
    bash -c '. "$1/kctl"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _kctl
        echo "${COMPREPLY[*]}"' bash "$completions" "$@"
}
is "commands are completed" "$(complete_words kctl unc)" uncordon
is "so are options" "$(complete_words kctl drain --rea)" --reason
is "and names" "$(complete_words kctl get node n)" n17
is "of the type that is asked for" "$(complete_words kctl drain --reason x n)" n17
is "what is followed is a job" "$(complete_words kctl logs -f "$id")" "$id"

# --- jobs as Kubernetes has them -------------------------------------------------

kctl apply -f - >/dev/null <<'TXT'
apiVersion: batch/v1
kind: Job
metadata: {name: rules}
spec:
  completionMode: Indexed
  completions: 3
  parallelism: 3
  backoffLimitPerIndex: 5
  podFailurePolicy:
    rules:
    - {action: FailIndex, onExitCodes: {operator: In, values: [1, 2]}}
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: host
        command: [sh, -c, 'exit $JOB_COMPLETION_INDEX']
---
apiVersion: batch/v1
kind: Job
metadata: {name: enough}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  successPolicy: {rules: [{succeededIndexes: "0"}]}
  template:
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: host
        command: [sh, -c, '[ $JOB_COMPLETION_INDEX = 0 ] || sleep 600']
TXT
told() { # JOB TYPE
    kctl get job "$1" -o jsonpath="{.status.conditions[?(@.type==\"$2\")].reason}{\" \"}{.status.completedIndexes}{\" \"}{.status.failedIndexes}"
}
ok "a rule on failures ends a job" \
    kctl wait --for condition=Failed --timeout 30s job rules
is "it says which indexes have failed" "$(told rules Failed)" \
    "FailedIndexes 0 1,2"
ok "a rule on success does, too" \
    kctl wait --for condition=Complete --timeout 30s job enough
is "though not every index was done" "$(told enough Complete)" \
    "SuccessPolicy 0 "
like "the output of one of several is named" \
    "$(kctl logs rules 2>&1 >/dev/null)" 'of the 3 pods of job/rules'
kctl delete job rules enough >/dev/null
finish
