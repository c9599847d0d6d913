#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kctl with a real controller: every verb, and its error messages.

# shellcheck disable=SC2016,SC2317 # commands that others expand and call

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged curl jq
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket # through the socket, root is an administrator
export KILN_SERVER
cluster_agent n17 --allow-root-jobs --usage-interval 500ms
wait_for 20 kctl wait --for condition=Ready node n17 || bail_out "no node"
completions=$(cd "$top_srcdir/contrib/completions" && pwd)
cd "$cluster/home" || bail_out "no home"

# says NAME TEXT COMMAND...: passes if the command fails and prints that text.
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

# status_is NAME STATUS COMMAND...: passes if the command exits with that
# status.
status_is() {
    status_name=$1 status_wanted=$2 status=0
    shift 2
    "$@" >/dev/null 2>&1 || status=$?
    is "$status_name" "$status" "$status_wanted"
}

# --- reading objects ----------------------------------------------------------

is "an empty list says so" "$(kctl get pods 2>&1)" \
    "No resources found in default namespace."
ok "nodes are listed" sh -c 'kctl get nodes | grep -q "^n17 .*Ready"'
ok "nodes have a short name, and wide output" kctl get no -o wide
is "-o name prints names" "$(kctl get nodes -o name)" "node/n17"
ok "-o yaml prints YAML" \
    sh -c 'kctl get node n17 -o yaml | grep -q "^kind: Node"'
ok "-o json prints JSON" \
    sh -c 'kctl get nodes -o json | grep -q "\"kind\": \"NodeList\""'
is "-o custom-columns prints the given columns" \
    "$(kctl get nodes -o custom-columns=N:.metadata.name,K:.kind --no-headers)" \
    "n17   Node"
is "-o jsonpath prints what a template selects" \
    "$(kctl get nodes -o 'jsonpath={.items[*].metadata.name}')" \
    n17
says "an invalid template is refused" \
    "'}' is missing" kctl get nodes -o 'jsonpath={.x'
says "invalid columns are refused" \
    "HEADING:PATH" kctl get nodes -o custom-columns=x
like "-L prints labels in columns" \
    "$(kctl get nodes -L kubernetes.io/os)" 'linux$'
is "--sort-by sorts by a value" \
    "$(kctl get priorityclasses --sort-by .value -o name | tr '\n' ' ')" \
    "priorityclass/system-cluster-critical priorityclass/system-node-critical "
is "custom columns keep the order of --sort-by" \
    "$(kctl get ns --sort-by .metadata.name \
    -o custom-columns=N:.metadata.name --no-headers)" \
    "$(kctl get ns -o name | sed 's,.*/,,' | sort)"
says "an invalid path is refused" "--sort-by" kctl get nodes --sort-by '.x['
ok "kctl describe describes nodes" \
    sh -c 'kctl describe node n17 | grep -q "^Events:"'
ok "kctl topology draws nodes" sh -c 'kctl topology n17 | grep -q "cores free"'
ok "kctl top shows the usage of nodes" sh -c 'kctl top nodes | grep -q "^n17"'
ok "kctl version prints the server's version" \
    sh -c 'kctl version | grep -q "^Server: v"'
sed 's/^serviceUser:.*/serviceUser: "54321"/' "$KILN_CONFIG" \
    >"$cluster/etc/elsewhere.yaml"
chmod 644 "$cluster/etc/elsewhere.yaml"
like "a machine where the service user has another uid learns the remedy" \
    "$(env -u KILN_SERVER KILN_CONFIG="$cluster/etc/elsewhere.yaml" \
        kctl --no-wait whoami 2>&1)" \
    "a user other than uid $(id -u).*same uid on all machines.*serviceUser: "
build=$(kiln-controller --version | cut -d ' ' -f 2)
is "kctl version prints the commit of both" "$(kctl version)" "Client: v$build
Server: v1.32.0+kiln.$(echo "$build" | tr + .)"
like "kctl nodes shows the version of each agent" "$(kctl nodes -o wide)" \
    "n17 .* v$(kiln-agent --version | cut -d ' ' -f 2 | sed 's/[+.]/\\&/g')"
ok "kctl explain explains fields" \
    sh -c 'kctl explain pod.spec.placement | grep -q numaPolicy'
says "a similar name is suggested" \
    'node "n7" not found (did you mean "n17"?)' kctl drain n7
says "a list with nodes that are not there changes nothing" \
    'nodes n[18-19] not found; nothing was changed' kctl drain 'n[17-19]'
says "a similar kind is suggested" "did you mean 'pods'" kctl get pdos
says "a similar command is suggested" "did you mean 'get'" kctl gte
says "a similar field is suggested" \
    "did you mean 'placement'" kctl explain pod.spec.placment
status_is "the exit status for an object that does not exist is 66" \
    66 kctl get node nowhere
status_is "--ignore-not-found makes it 0" 0 \
    kctl get node nowhere --ignore-not-found
status_is "the exit status for an unknown option is 64" \
    64 kctl get --no-such-option
status_is "the exit status for a missing operand is 64" 64 kctl drain
status_is "the exit status for a controller that cannot be reached is 69" 69 \
    kctl --no-wait -s http+unix:///nonexistent get nodes

# --- nodes --------------------------------------------------------------------

ok "a node can be labelled" kctl label node n17 zone=east
says "a label with another value is not overwritten" \
    "--overwrite" kctl label node n17 zone=west
ok "--overwrite overwrites it" kctl label node n17 zone=west --overwrite
is "-l selects by labels" "$(kctl get nodes -l zone=west -o name)" "node/n17"
is "a label with the same value is reported as unchanged" \
    "$(kctl label node n17 zone=west)" "node/n17 unchanged"
ok "--list lists labels" sh -c 'kctl label node n17 --list | grep -q zone=west'
ok "a label can be removed" kctl label node n17 zone-
is "removing it again is reported as unchanged" \
    "$(kctl label node n17 zone-)" "node/n17 unchanged"
ok "a node can be annotated" kctl annotate node n17 note='a b'
ok "a node can be tainted" kctl taint n17 dedicated=x:NoSchedule
ok "a taint can be removed" kctl taint --all dedicated-
says "an unknown effect of a taint is refused" \
    "NoExecute" kctl taint n17 dedicated=x:Nothing
ok "a node can be cordoned" kctl cordon --reason 'bad fan' n17
ok "the table shows that" sh -c 'kctl get nodes | grep -q SchedulingDisabled'
ok "a node can be uncordoned" kctl uncordon n17
says "kctl fence needs --yes" "--yes" kctl fence n17

# --- jobs ---------------------------------------------------------------------

# runs POD: waits until the pod runs. It may not exist yet.
runs() {
    wait_for 20 kctl wait --for 'jsonpath={.status.phase}=Running' \
        --timeout 20s pod "$1"
}
id=$(ksub --parsable --wrap 'echo one; sleep 1; echo two; sleep 100')
ok "a job starts" runs "job-$id-0"
told() { # JOB WORD...: checks that the job has events with these reasons, in this order
    kctl events --for "$1" --no-headers | awk -v words="$2" '
        BEGIN { n = split(words, want, " "); at = 1 }
        { for (i = 1; i <= NF; i++) if ($i == want[at]) { at++; break } }
        END { exit at <= n }'
}
ok "the events of a job include those of its pods" \
    wait_for 20 told "$id" "SuccessfulCreate Scheduled"
ok "an object can be named by the job's number alone" \
    sh -c "kctl get $id 2>/dev/null || kctl get job $id"
ok "the job is in the picture of its node" \
    sh -c "kctl topology n17 | grep -q 'default/job-$id-0'"
uses() { # VIEW NAME: checks that the row has the measured usage and the allocation
    kctl top "$1" --no-headers "$2" | grep -Eq "^$2 .* 1 +[0-9.]+ +[0-9]+s +[0-9]"
}
ok "kctl top shows the usage of the pod" wait_for 10 uses pods "job-$id-0"
ok "kctl top shows the usage of the job" wait_for 10 uses jobs "$id"
says "kctl top refuses other kinds" "nodes, pods or jobs" kctl top configmaps
metrics() {
    curl -sS --unix-socket "$KILN_SERVER" \
        "http://kiln/apis/metrics.k8s.io/v1beta1/$1"
}
has_usage() { metrics "$1" | jq -e '.usage.cpu and .usage.memory'; }
ok "a node has metrics in the API" wait_for 10 has_usage nodes/n17
if command -v kubectl >/dev/null; then
    ok "kubectl top can read them" wait_for 10 sh -c '
      kctl proxy --port 0 >proxied & proxy=$!; sleep 0.2
      kubectl --server "http://$(sed "s,.*http://,," proxied)" top node n17
      status=$?; kill $proxy; exit $status'
else
    skip "kubectl top can read them" "kubectl is not installed"
fi
ok "kctl why says that the job runs" sh -c "kctl why $id | grep -q Running"
is "kctl logs prints the output" "$(kctl logs "$id" | head -n 1)" "one"
ok "kctl logs -f follows the output" until_says 20 '^two$' kctl logs -f "$id"
stamped() { # POD: prints the lines, after checking that their times are in order
    kctl logs --timestamps pod "$1" >stamped &&
        sort -c stamped && cut -d' ' -f2- stamped | tr '\n' ' '
}
is "--timestamps prints lines with times" "$(stamped "job-$id-0")" "one two "
first=$(sed -n '1s/ .*//p' stamped) second=$(sed -n '2s/ .*//p' stamped)
is "--since-time prints the lines from that time on" \
    "$(kctl logs --since-time "$second" pod "job-$id-0")" "two"
is "--since prints the lines of that period" \
    "$(kctl logs --since 1h "$id" | tr '\n' ' ')" "one two "
is "--tail and --limit-bytes limit the output" \
    "$(kctl logs --tail 1 --limit-bytes 2 "$id")" "tw"
until_says 20 ' two$' kctl logs -f --timestamps "$id"
is "--timestamps also works with -f" \
    "$(sed 's/Z .*/Z/' "$cluster/output" | tr '\n' ' ')" "$first $second "
says "an invalid time is refused" \
    "is not a time" kctl logs --since-time now "$id"
says "the previous log of a first attempt does not exist" \
    "previous terminated container" \
    sh -c "curl -sS --unix-socket '$KILN_SERVER' 'http://kiln/api/v1/namespaces\
/default/pods/job-$id-0/log?previous=true' >&2; false"
says "kctl drain --wait gives up after its timeout" "timed out" \
    kctl drain --wait --timeout 1s n17
kctl uncordon n17 >/dev/null
ok "a job can be requeued" kctl requeue "$id"
ok "the job runs again" runs "job-$id-0-r1"
ok "a job can be requeued and held" kctl requeue --hold "$id"
ok "the held job has no pods" \
    kctl wait --for delete --timeout 20s pod "job-$id-0-r1"
ok "the held job can be released" kctl release "$id"
ok "the released job runs" runs "job-$id-0-r2"
ok "a running job can be held" kctl hold "$id"
ok "it still runs" runs "job-$id-0-r2"
ok "a job can be cancelled" kctl cancel "$id"
ok "a cancelled job has the condition Failed" \
    kctl wait --for condition=Failed --timeout 20s job "$id"
ok "the table shows that it was cancelled" \
    sh -c "kctl get jobs | grep -q '^$id .*Cancelled'"
ok "its events say what happened" wait_for 10 told "$id" \
    "SuccessfulCreate Requeued SuccessfulDelete Cancelled"
ok "--types selects warnings" \
    sh -c "kctl events --for $id --types Warning | grep -q Cancelled"
ok "kctl describe shows the events" \
    sh -c "kctl describe $id | grep -q 'Requeued .*job-controller'"
says "an unknown type of event is refused" "neither Normal nor Warning" \
    kctl events --types Bad
says "an operand without --for is refused with a hint" \
    "--for 1042" kctl events 1042
for verb in 'delete job' 'get job' 'delete node' 'cordon' 'label job'; do
    # shellcheck disable=SC2086 # a verb and a type
    like "an empty name does not mean all: kctl $verb ''" "$(kctl $verb '' 2>&1; echo "rc $?")" \
        "kctl: ${verb% *}: an empty (job|node) name was given
rc 64"
done
ok "a job can be deleted" kctl delete --wait "$id"
says "the deleted job does not exist any more" "not found" kctl get job "$id"
says "cancelling a job that does not exist fails" "job 999 not found" \
    kctl cancel 999
id=$(ksub --parsable -H --wrap true)
says "of several jobs, one that does not exist is reported" \
    "job 999 not found" kctl get jobs "$id" 999
like "the other job is printed" "$(kctl get jobs "$id" 999 2>/dev/null)" \
    "^$id "
ok "waiting for the deletion of a job that does not exist succeeds" \
    kctl wait --for delete job 999
is "kctl cancel -u cancels the jobs of a user" "$(kctl cancel -u root)" \
    "job/$id cancelled"
is "a user without jobs is reported" "$(kctl cancel -u nobody 2>&1)" \
    "No active jobs of user nobody that you may change"
wait_for 20 kctl wait --for condition=Failed job "$id"
# Prints how often jobs were read.
reads() {
    curl -s --unix-socket "$cluster/state/socket" http://kiln/metrics | awk '
        /^apiserver_request_total/ && /resource="jobs"/ && /"(GET|LIST)"/ {
            n += $2
        }
        END { print n + 0 }'
}
before=$(reads)
is "kctl cancel --all does not list jobs that have ended" \
    "$(kctl cancel --all 2>&1)" \
    "No active jobs that you may change"
is "it sent one request" "$(($(reads) - before))" 1
says "kctl wait gives up after its timeout" "timed out" \
    kctl wait --for condition=Ready --timeout 1s job "$id"
says "--timeout without --wait is refused" \
    "--wait" kctl delete --timeout 1s "$id"
ok "kctl help VERB prints the help of the verb" \
    sh -c 'kctl help drain | grep -q -e --evict'
ok "kctl version prints YAML" \
    sh -c 'kctl version -o yaml | grep -q "gitVersion: v1"'

# --- objects from files -------------------------------------------------------

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
is "kctl apply creates an object" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics created"
is "applying it again changes nothing" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics unchanged"
sed -i 's/a: "1", b: "2"/a: "3"/' a.yaml
kctl label namespace physics other=theirs >/dev/null
is "kctl apply changes an object" "$(kctl apply -f a.yaml | head -n 1)" \
    "namespace/physics configured"
is "kctl apply removes what is no longer in the file, and keeps what others added" \
    "$(kctl get ns physics -o json | jq -c '.metadata.labels | [.a, .b, .other]')" \
    '["3",null,"theirs"]'
is "several objects are printed as one List" \
    "$(kctl get ns physics default -o json |
        jq -c '[.kind, (.items[] | .kind, .metadata.name)]')" \
    '["List","Namespace","physics","Namespace","default"]'
is "objects of several kinds are printed as one List" \
    "$(kctl get namespaces,priorityclasses -o yaml |
    grep -c -e '^kind: List' -e '^    name: default$' \
        -e '^    name: system-node-critical')" 3
mkdir d && printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c1}\n' \
    >d/1.yaml
echo '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c2"}}' >d/2.json
echo 'no document' >d/README
is "kctl apply applies all files of a directory" \
    "$(kctl apply -f d | tr '\n' ' ')" \
    "configmap/c1 created configmap/c2 created "
ok "kctl delete deletes the objects of a directory" kctl delete -f d
says "a directory without documents is refused" \
    "no files *.yaml" kctl apply -f /proc/self
says "kctl create does not replace an object" \
    "already exists" kctl create -f a.yaml
says "an unknown field is refused" 'unknown field "valeu"' \
    sh -c 'sed -e "1,/---/d" -e s/value/valeu/ -e s/urgent/new/ a.yaml | kctl create -f -'
says "an unknown kind is refused, with a suggestion" \
    "did you mean 'Namespace'" \
    sh -c 'sed s/Namespace/Namespaze/ a.yaml | kctl apply -f -'
kctl get priorityclass urgent -o yaml >pc.yaml
ok "kctl replace accepts what kctl get prints" kctl replace -f pc.yaml
kctl get priorityclasses -o json |
    jq ".items |= map(select(.value == 1000))" >pcs.json
ok "kctl replace accepts a List" kctl replace -f pcs.json
ok "kctl delete deletes the objects of a file" kctl delete -f a.yaml

# --- proxy --------------------------------------------------------------------

start proxy kctl proxy --port 0 --unix-socket "$cluster/proxy.sock"
wait_for 10 grep -q "http://" "$cluster/log/proxy"
url=$(grep -o 'http://.*' "$cluster/log/proxy" | head -n 1)
like "through the proxy, exec is refused as not yet supported" \
    "$(curl -sS -H 'Connection: Upgrade' -H 'Upgrade: SPDY/3.1' -X POST \
        "$url/api/v1/namespaces/default/pods/p/exec?command=ls")" \
    'not supported yet.*501'
ok "kctl proxy serves the API" \
    sh -c "curl -fsS $url/api/v1/nodes/n17 | grep -q '\"name\":\"n17\"'"
ok "kctl proxy serves watches" \
    until_says 20 ADDED curl -sN "$url/api/v1/nodes?watch=true"
not_ok "kctl proxy refuses requests of web pages" \
    curl -fsS -H 'Origin: http://example.net' "$url/api"
not_ok "kctl proxy refuses requests with another host name" \
    curl -fsS -H 'Host: example.net' "$url/api"
is "the socket of kctl proxy belongs to its user alone" \
    "$(stat -c %a "$cluster/proxy.sock")" 600
if cluster_user kilntest1; then
    not_ok "kctl proxy refuses other users" as kilntest1 curl -fsS "$url/api"
    not_ok "kctl proxy refuses other users through its socket" as kilntest1 \
        curl -fsS --unix-socket "$cluster/proxy.sock" http://localhost/api
else
    skip "kctl proxy refuses other users" "only root can make users"
fi

# --- rights of users ----------------------------------------------------------

if cluster_user kilntest1 && cluster_user kilntest2; then
    chmod 755 "$cluster/home/kilntest1"
    id=$(as kilntest1 ksub --parsable -H --wrap true)
    ok "a user can submit through the network" test -n "$id"
    ok "a user can read the controller's version" \
        sh -c 'case $1 in *"Server: v"*) ;; *) echo "$1"; false ;; esac' \
        - "$(as kilntest1 kctl version 2>&1)"
    ok "another user can read the job" as kilntest2 kctl get job "$id"
    status_is "another user cannot cancel it" 77 as kilntest2 kctl cancel "$id"
    status_is "a user cannot cordon a node" 77 as kilntest2 kctl cordon n17
    ok "its owner can cancel it" as kilntest1 kctl cancel "$id"
    port=$(sed -n 's/.*and port \(127[0-9.:]*\).*/\1/p' "$cluster/log/controller" | head -n 1)
    status_is "who may not list nodes is told so, and does not wait for one" 77 \
        kctl --server "http://$port" wait --for condition=Ready --timeout 20s node n17
else
    skip "a user can submit through the network" "only root can make users"
fi
# --- unusual input ------------------------------------------------------------

id=$(ksub --parsable -J "$(printf 'é%.0s' $(seq 100))" --wrap true)
is "a long name is cut in the table" \
    "$(kctl get job "$id" --no-headers | awk '{ print $2 }')" \
    "$(printf 'é%.0s' $(seq 20))+"
printf '#!/bin/sh\necho "given $1"\n' | ksub -W -o given.out - words >/dev/null
is "a script from a pipe has arguments" "$(cat given.out)" "given words"
kctl wait --for condition=Complete --timeout 30s "$id" >/dev/null
like "kctl cancel says that there is nothing to cancel" \
    "$(kctl cancel -u root 2>&1)" \
    'No active jobs of user root that you may change'
status_is "an empty command is refused" 64 ksub --wrap ' '
status_is "a script together with --wrap is refused" 64 ksub --wrap true a.yaml
is "kctl create namespace creates a namespace" \
    "$(kctl create namespace physics)" \
    "namespace/physics created"
is "kctl label says that a label was removed" "$(kctl label ns physics a=b
    kctl label ns physics a-)" "namespace/physics labeled
namespace/physics unlabeled"
is "kctl taint says that a taint was removed" \
    "$(kctl taint node n17 a=b:NoSchedule
    kctl taint node n17 a-)" "node/n17 tainted
node/n17 untainted"
kctl delete ns physics >/dev/null

complete_words() { # WORD...: prints the completions of the last word
    bash -c '. "$1/kctl"
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _kctl
        echo "${COMPREPLY[*]}"' bash "$completions" "$@"
}
is "commands are completed" "$(complete_words kctl unc)" uncordon
is "options are completed" "$(complete_words kctl drain --rea)" --reason
is "names are completed" "$(complete_words kctl get node n)" n17
is "names of the kind that a verb takes are completed" \
    "$(complete_words kctl drain --reason x n)" n17
is "kctl logs -f completes the IDs of jobs" \
    "$(complete_words kctl logs -f "$id")" "$id"

# --- Jobs with Kubernetes' policies -------------------------------------------

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
ok "a pod failure policy ends a job" \
    kctl wait --for condition=Failed --timeout 30s job rules
is "its status says which indexes failed" "$(told rules Failed)" \
    "FailedIndexes 0 1,2"
ok "a success policy ends a job" \
    kctl wait --for condition=Complete --timeout 30s job enough
is "its status says that not all indexes completed" "$(told enough Complete)" \
    "SuccessPolicy 0 "
like "kctl logs of a job with several pods says which pod it prints" \
    "$(kctl logs rules 2>&1 >/dev/null)" 'of the 3 pods of job/rules'
kctl delete job rules enough >/dev/null
finish
