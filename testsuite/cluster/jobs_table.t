#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The commands that users type most: kctl jobs, nodes, status and whoami, on
# terminals of several widths and without a terminal, with names in several
# scripts.

# shellcheck disable=SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq script python3
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cluster_controller --socket "$cluster/socket"
cluster_agent n1 --topology 'package:2 core:4 pu:2'
cluster_agent n2 --topology 'package:1 core:4 pu:1'
wait_for 20 root wait --for condition=Ready node n1 n2 || bail_out "no nodes"
for n in n1 n2; do
    for key in $(root get node $n -o json | jq -r '.spec.taints[]?.key'); do
        root taint node $n "$key-" >/dev/null
    done
done
root label node n2 kiln.hpc/partition=long >/dev/null
root create namespace chem >/dev/null
root annotate namespace chem kiln.hpc/members=kilntest1 >/dev/null

k1() { as kilntest1 kctl "$@" </dev/null; }
jobs_are() { # WANTED OPTION...
    jobs_wanted=$1
    shift
    [ "$(k1 jobs -o state --no-headers "$@" 2>&1 | tr -d ' ' |
        paste -sd, -)" = "$jobs_wanted" ]
}
status_is() {
    status_name=$1 status_wanted=$2 status=0
    shift 2
    "$@" >/dev/null 2>&1 || status=$?
    is "$status_name" "$status" "$status_wanted"
}

like "without jobs, kctl jobs says so" "$(k1 jobs 2>&1)" '^No jobs of yours; '
submit -J fine --wrap true >/dev/null
submit -J fails --wrap 'exit 3' >/dev/null
submit -J '漢字の名前' -c 6 -t 10 --wrap 'sleep 300' >/dev/null
submit -J large -c 64 -t 1-00:00:00 --wrap true >/dev/null
submit -J theirs -H -n 1 --wrap true >/dev/null
root --as kilntest1 get jobs >/dev/null
as kilntest2 ksub --parsable -J other -H --wrap true >/dev/null
ok "jobs are shown with their states" wait_for 20 \
    jobs_are Completed,Failed,Running,Pending,Held
# The scheduler's messages follow the state a moment later.
has_row() { k1 jobs | grep -qE "$1"; }
ok "a waiting job has its time limit and its reason" wait_for 10 \
    has_row 'large .*-/1-00:00:00 +64 .*[a-z]'
table=$(k1 jobs)
is "the table has these columns" \
    "$(printf '%s\n' "$table" | sed -n '1s/  */ /gp')" \
    "ID NAME USER STATE TIME/LIMIT CPUS START WHERE/WHY"
like "a failed job has its node and its exit code" \
    "$table" 'fails .*n[12]: exit code 3'
unlike "the table has only the user's own jobs" "$table" kilntest2
like "--all-users shows the jobs of all users" "$(k1 jobs --all-users)" kilntest2
is "--user shows the jobs of one user" \
    "$(k1 jobs --user kilntest2 -o state --no-headers)" Held
is "--state selects states, also by Slurm's codes" \
    "$(k1 jobs --state PD,f -o name | paste -sd' ' -)" "job/2 job/4 job/5"
is "--name selects names" \
    "$(k1 jobs --name 'f*' -o name | paste -sd' ' -)" "job/1 job/2"
is "--account selects accounts" \
    "$(k1 jobs --account chem 2>&1 | cut -c1-13)" "No jobs match"
like "an account that does not exist is an error" \
    "$(k1 jobs --account chem,physics 2>&1)" 'account: .*"physics" not found'
of_node() { k1 jobs --node "$@" -o name 2>/dev/null | paste -sd' ' -; }
on() { k1 jobs --name "$1" -o node --no-headers | tr -d ' '; }
like "--node selects a running job by its node" \
    "$(of_node "$(on '漢*')")" '(^| )job/3( |$)'
like "--node selects a job that has ended by its node" \
    "$(of_node "$(on fails)")" '(^| )job/2( |$)'
like "a host list selects the jobs of all its nodes" \
    "$(of_node 'n[1-2]')" '(^| )job/2 .*job/3( |$)'
is "kctl get jobs takes a host list, too" \
    "$(k1 get jobs --node 'n[1-9]' --state Failed -o name)" job/job-2
is "nodes that no job was on select none" "$(of_node 'n[3-9],x')" ""
like "a list that is none is an error" "$(k1 jobs --node 'n[1-' 2>&1)" '^kctl: .*--node: '
like "as is a list of too many" "$(k1 jobs --node 'n[1-9999]' 2>&1)" 'more than 4096 nodes'
is "--node and --state together select both" \
    "$(of_node "$(on fails)" --state Failed)" "job/2"
fails_on=$(on fails)
ok "the pod of a job that has ended is deleted" root delete pod job-2-0 --wait
like "the job is still selected by its node" "$(of_node "$fails_on" --all)" \
    '(^| )job/2( |$)'
is "a waiting job is selected by no node" \
    "$( (of_node n1; of_node n2) | grep -c job/4)" 0
is "kctl get jobs has --node, too" \
    "$(k1 get jobs --node "$(on fails)" --state Failed -o name)" job/job-2
is "--partition selects partitions, also those that are labels of nodes" \
    "$(k1 jobs -p long 2>&1 | cut -c1-13)" "No jobs match"
is "--limit keeps the newest jobs" \
    "$(k1 jobs --limit 2 -o name | paste -sd' ' -)" \
    "job/4 job/5"
sleep 1.1 # times of ends have whole seconds
is "--since now selects no job that ended before" \
    "$(k1 jobs --since now --state ended -o name 2>&1 |
    cut -c1-13)" "No jobs match"
is "-o selects columns" "$(k1 jobs -o id,exit --name fails |
    sed 's/  */ /g; s/^ //')" "ID EXIT
2 3"
is "CSV has quotes where they are needed" \
    "$(submit -J '=1+1,"x"' -H --wrap true >/dev/null
    k1 jobs --name '=*' -o csv=name,state)" "name,state
\"'=1+1,\"\"x\"\"\",Held"
like "times in CSV have a zone" \
    "$(as kilntest1 env TZ=XXX-5:30 kctl jobs --name fine -o csv=submitted,started,ended,start)" \
    '^(20[0-9-]{8}T[0-9:]{8}Z,){3}$'
is "...and are those of the API" \
    "$(as kilntest1 env TZ=XXX-5:30 kctl jobs --name fine -o csv=submitted | tail -n 1)" \
    "$(k1 jobs --name fine -o json | jq -r '.items[0].metadata.creationTimestamp')"
is "JSON has complete objects" \
    "$(k1 jobs --name fails -o json | jq -r '.items[0] |
        [.kind, .status.id, .spec.backoffLimit] | map(tostring) | join(" ")')" \
    "Job 2 0"
is "YAML has complete objects" \
    "$(k1 jobs --name fails -o yaml | grep -c 'kind: Job$')" 1
like "-o wide has Slurm's state codes and times" \
    "$(k1 jobs -o wide --name fine)" \
    ' CD .* 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9] '
at() { k1 jobs --name fine -o submitted --no-headers "$@"; }
is "times are local times" \
    "$(as kilntest1 env TZ=XXX-5:30 kctl jobs --name fine \
    -o submitted --no-headers)" "$(TZ=XXX-5:30 date -d "$(at --utc) UTC" '+%F %T')"
like "kctl describe shows local times, too" \
    "$(as kilntest1 env TZ=XXX-5:30 kctl describe job 1)" \
    "Created: *$(as kilntest1 env TZ=XXX-5:30 kctl jobs --name fine \
        -o submitted --no-headers) .* ago"

selects() { # WANTED OPTION...
    selects_wanted=$1
    shift
    [ "$(k1 get jobs -o name "$@" | paste -sd' ' -)" = "$selects_wanted" ]
}
# The stored state may be slightly older than the state that is shown.
ok "kctl get jobs has --mine and --state" wait_for 20 \
    selects "job/job-2 job/job-4" --mine --state Failed,Pending
is "kctl get jobs has --user" \
    "$(k1 get jobs --user kilntest2 -o name | wc -l)" 1
is "kctl get jobs has --partition" \
    "$(k1 get jobs --partition gpux -o name 2>/dev/null)" ""
like "these options are refused for other kinds" \
    "$(k1 get pods --mine 2>&1)" 'select jobs only'
status_is "an unknown state is refused" 64 k1 get jobs --state Runing
status_is "an invalid node name is refused" 64 k1 jobs --node 'n1&limit=1'
status_is "--node with --watch is refused" 64 k1 get jobs --node n1 -w

as kilntest1 kctl apply -f - >/dev/null <<'TXT'
apiVersion: batch/v1
kind: Job
metadata: {name: two}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {labels: {two: "yes"}}
    spec:
      restartPolicy: Never
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - topologyKey: kubernetes.io/hostname
            labelSelector: {matchLabels: {two: "yes"}}
      containers:
      - name: main
        image: host
        command: [sleep, "300"]
        resources: {requests: {cpu: "1"}}
TXT
of_both() {
    for n in n1 n2; do k1 jobs --node "$n" --name two -o name; done 2>/dev/null |
        wc -l | grep -qx 2
}
ok "a job with several pods is selected by each of their nodes" \
    wait_for 20 of_both
k1 delete job/two --wait >/dev/null

# --- mistakes -----------------------------------------------------------------

like "a similar state is suggested" "$(k1 jobs --state Runing 2>&1)" \
    "'Runing' is not a state \(did you mean 'Running'"
like "a similar time is suggested" \
    "$(k1 jobs --since yesterdy 2>&1)" "did you mean 'yesterday'"
like "a similar column is suggested" \
    "$(k1 jobs -o id,stat 2>&1)" "did you mean 'state'"
for wrong in '--state=' '--since=' '--user=' '--name=' '-o=' '--limit=0' \
    '--since=tomorrow' '--since=2026-02-30' '--state=,' '--user=a,b' \
    '--color=blue' 'extra'; do
    status_is "'$wrong' is refused" 64 k1 jobs "$wrong"
done

# --- terminals ----------------------------------------------------------------

# on_terminal COLUMNS LINES COMMAND...: prints what the command writes to such
# a terminal.
on_terminal() {
    terminal_size="cols $1 rows $2"
    shift 2
    script -qec "stty $terminal_size; exec setpriv --reuid kilntest1 \
        --regid kilntest1 --init-groups env TERM=xterm $*" /dev/null \
        </dev/null | tr -d '\r'
}
# Prints the width of the widest line in columns of a terminal.
width() {
    python3 -c '
import re, sys, unicodedata
def w(c):
    if unicodedata.combining(c): return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1
text = sys.stdin.buffer.read().decode()
text = re.sub("\033\\[[0-9;]*[A-Za-z]", "", text)
print(max([sum(map(w, l)) for l in text.split("\n")]))'
}
no_wider() { # COLUMNS COMMAND...
    no_wider=$1
    shift
    [ "$(on_terminal "$no_wider" 24 "$@" | width)" -le "$no_wider" ]
}
submit -J "$(printf '長%.0s' $(seq 60))" -H --wrap true >/dev/null
for columns in 20 40 80 200; do
    for command in 'jobs --all-users' nodes 'nodes -g' 'get jobs' 'get nodes' \
        'get pods'; do
        # shellcheck disable=SC2086 # words
        ok "kctl $command fits $columns columns" no_wider "$columns" kctl $command
    done
done
ok "a wide terminal is used fully" test \
    "$(on_terminal 200 50 kctl jobs | width)" -gt 80
like "without a terminal, nothing is cut" \
    "$(k1 jobs)" "$(printf '長%.0s' $(seq 60))"
wide_name=$(printf '長%.0s' $(seq 60))
waits=$(submit -J a-long-name-of-a-job-that-waits -H -t 10-00:00:00 -c 8 --wrap true)
in_80() { on_terminal 80 24 "$@" --color never | sed -n '1s/  */ /gp'; }
like "80 columns show the time limit and the CPUs of jobs" "$(in_80 kctl jobs)" \
    'NAME .*STATE TIME/LIMIT CPUS .*WHERE'
like "names are cut for it" "$(on_terminal 80 24 kctl jobs --color never)" \
    ' a-long-[a-z-]*\+ +Held +-/10-00:00:00 '
like "80 columns show the time limit and the nodes of partitions" \
    "$(in_80 kctl partitions)" 'TIME LIMIT NODES'
like "80 columns show the number of nodes of each state" "$(in_80 kctl nodes -g)" ' NODES '
like "80 columns show the time limit in kctl get jobs" "$(in_80 kctl get jobs)" ' LIMIT .*NODE'
is "COLUMNS limits the width without a terminal, too" \
    "$(as kilntest1 env COLUMNS=60 kctl jobs | width | awk '{ print $1 <= 60 }')" 1
unlike "and cuts the names" "$(as kilntest1 env COLUMNS=60 kctl jobs)" "$wide_name"
root delete job "job-$waits" >/dev/null
is "COLUMNS limits the width" "$(on_terminal 200 50 env COLUMNS=60 kctl jobs |
    width | awk '{ print $1 <= 60 }')" 1
aligned() { # checks that the state of each line starts at the same column
    "$@" | python3 -c '
import sys, unicodedata
def w(s): return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
lines = sys.stdin.buffer.read().decode().rstrip("\n").split("\n")
at = {w(l[:l.index(s)]) for l in lines for s in
      ("STATE", "Completed", "Failed", "Running", "Pending", "Held")
      if s in l}
sys.exit(len(at) != 1)'
}
ok "columns are aligned with names in any script" aligned k1 jobs
ok "columns are aligned with LANG=C, too" \
    aligned as kilntest1 env LANG=C LC_ALL=C kctl jobs
esc=$(printf '\033')
like "a terminal gets colours" "$(on_terminal 80 24 kctl jobs)" "$esc.31mFailed"
unlike "NO_COLOR turns colours off" \
    "$(on_terminal 80 24 env NO_COLOR=1 kctl jobs)" "$esc"
unlike "--color never turns colours off" \
    "$(on_terminal 80 24 kctl jobs --color never)" "$esc"
unlike "without a terminal there are no colours" "$(k1 jobs)" "$esc"
like "--color always turns colours on" \
    "$(k1 jobs --color always)" "$esc.31mFailed"

# --- nodes, status, whoami ----------------------------------------------------

root drain --reason 'new fan' n2 >/dev/null
drained() { k1 nodes | grep -q 'long .*Drained .*n2 .*new fan (root, '; }
ok "a drained node says who drained it, and why" wait_for 10 drained
like "the other node shows its CPUs in use" "$(k1 nodes n1)" 'n1 +10/16 '
is "--state selects nodes" "$(k1 nodes --state drained -o name)" node/n2
is "-p selects nodes by partition" "$(k1 nodes -p long -o name)" node/n2
is "-g groups nodes" "$(k1 nodes -g --no-headers | awk '{ print $1, $2, $3 }' |
    paste -sd, -)" "all Mixed 1,all,long Drained 1"
like "a similar state of nodes is suggested" \
    "$(k1 nodes --state Dwn 2>&1)" "did you mean 'Down'"
status_is "a node that does not exist is an error" 66 k1 nodes n9
status=$(k1 status)
like "kctl status counts nodes" "$status" 'Nodes: +2: 1 Mixed, 1 Drained'
like "kctl status shows the free CPUs" \
    "$status" 'CPUs: +10 free of 20, 6 in use'
like "kctl status counts jobs" \
    "$status" 'Jobs: +1 Pending, 4 Held, 1 Running, 1 Completed, 1 Failed'
like "kctl status names the job that has waited longest" \
    "$status" 'job 4 of kilntest1 has waited for'
like "kctl status names the controller" \
    "$status" 'Controller: +v[0-9.]+([+]g[0-9a-f]+)?, leader '
whoami=$(k1 whoami)
like "kctl whoami names the user" \
    "$whoami" "User: +kilntest1 \(uid $(id -u kilntest1)\)"
like "kctl whoami names the user's accounts" "$whoami" 'Accounts: +chem'
like "kctl whoami counts the active jobs" \
    "$whoami" 'Jobs: +1 Pending, 3 Held, 1 Running'
like "kctl whoami shows the limits" "$whoami" 'Limits: +5 of 200000 objects'
like "kctl whoami names an administrator's rank" \
    "$(root whoami)" 'Rank: +administrator'
like "kctl whoami shows an impersonated user" "$(root --as kilntest1 whoami)" \
    'kilntest1 .* impersonated by root'
like "these paths of the API can only be read" \
    "$(api kilntest1 POST /kiln/v1/status '{}')" '^405 '

# --- the examples of the manual page ------------------------------------------

examples=$(sed -n 's/^\$ \(kctl \(jobs\|nodes\|status\|whoami\).*\)/\1/p' \
    "$top_srcdir/man/kctl.1" | sed 's/\\-/-/g; s/\\(aq/'"'"'/g
        s/ 1042\>/ 4/; s/1050-1060/1-3/; s/partition gpu/partition long/')
ok "the manual page has examples" test "$(printf '%s\n' "$examples" | wc -l)" -ge 10
printf '%s\n' "$examples" >"$cluster/examples"
while read -r example; do
    ok "$example" as kilntest1 sh -c "$example" </dev/null
done <"$cluster/examples"

# --- --watch ------------------------------------------------------------------

# shellcheck disable=SC2016 # of the inner shell
as kilntest1 sh -c 'echo $$ >watcher; exec kctl jobs --watch -o id,state' \
    >"$cluster/watched" 2>&1 &
ok "kctl jobs --watch first prints the existing jobs" \
    wait_for 10 grep -q 'Running' \
    "$cluster/watched"
stop controller
ok "it says when the controller does not answer" \
    wait_for 10 grep -q 'does not answer' \
    "$cluster/watched"
cluster_controller --socket "$cluster/socket"
root cancel 3 >/dev/null
ok "it continues when the controller is back" \
    wait_for 20 grep -q '3 .*Cancelled' \
    "$cluster/watched"
is "it prints each change once" \
    "$(grep -c '^ *4  *Pending' "$cluster/watched")" 1
kill "$(cat "$cluster/home/kilntest1/watcher")"
screen=$(on_terminal 80 24 timeout 5 kctl jobs --watch)
like "on a terminal it redraws the table in place" "$screen" "$esc\[[0-9]+F"

# --- completion ---------------------------------------------------------------

# completes WORD...: prints what bash offers for the last word as kilntest1.
# bash makes "=" a word of its own.
# shellcheck disable=SC2016 # of the inner shell
completes() {
    as kilntest1 env COMPLETIONS="$completions" bash -c '
. "$COMPLETIONS/$1"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_$1"
printf "%s\n" "${COMPREPLY[@]}"' bash "$@" </dev/null | paste -sd' ' -
}
cp -r "$top_srcdir/contrib/completions" "$cluster/" && chmod -R a+rX "$cluster/completions"
completions=$cluster/completions
waiting=$(submit -J waits -H -t 1 --wrap true)
is "the jobs offered to cancel are the user's own that have not ended" \
    "$(completes kctl cancel '')" "$(k1 jobs --state active -o id --no-headers |
        tr -d ' ' | paste -sd' ' -)"
like "the jobs offered for logs are also those that ended" "$(completes kctl logs '')" \
    "^1 2 3 .*$waiting"
is "-p offers partitions" "$(completes kctl jobs -p l)" long
is "--partition= does, too" "$(completes kctl jobs --partition = l)" long
is "-p of kctl logs has no value" "$(completes kctl logs -p "$waiting")" "$waiting"
is "--state offers states" "$(completes kctl jobs --state Com)" Completed
is "it offers them after a comma, too" "$(completes kctl jobs -t Held,Com)" Held,Completed
is "and those of nodes for kctl nodes" "$(completes kctl nodes --state Mi)" Mixed
for state in $(completes kctl jobs --state '') $(completes kctl jobs -t ''); do
    k1 jobs --state "$state" >/dev/null 2>&1 || echo "$state"
done >"$cluster/refused"
for state in $(completes kctl nodes --state ''); do
    k1 nodes --state "$state" >/dev/null 2>&1 || echo "$state"
done >>"$cluster/refused"
is "kctl accepts all of them" "$(cat "$cluster/refused")" ""
is "kctl update offers fields" "$(completes kctl update "$waiting" ti)" time=
is "and partitions" "$(completes kctl update "$waiting" partition =)" "all long"
is "and partitions that begin with a text" "$(completes kctl update "$waiting" partition = l)" long
like "and priorities" "$(completes kctl update "$waiting" priority =)" system-cluster-critical
is "ksub offers partitions" "$(completes ksub -p l)" long
like "ksub offers priorities" "$(completes ksub --priority '')" system-cluster-critical

# --- pipes --------------------------------------------------------------------

# unread COMMAND...: runs the command as kilntest1 with an output that nobody
# reads; prints its messages and its exit status.
unread() {
    unread=0
    as kilntest1 python3 -c '
import os, sys
ends = os.pipe()
os.close(ends[0])
os.dup2(ends[1], 1)
os.execvp(sys.argv[1], sys.argv[1:])' timeout --preserve-status 20 "$@" 2>&1 </dev/null || unread=$?
    echo "status $unread"
}
talks=$(submit -J talks --wrap 'while echo word; do sleep 0.2; done')
talks() { k1 logs "$talks" | grep word; }
ok "a job writes a line now and then" wait_for 20 talks
for command in --help 'jobs --help' jobs 'jobs -o json' 'jobs --watch' nodes \
    'nodes -o json' status 'history 1' report 'efficiency 1' whoami 'get jobs' \
    'get jobs -w' 'get jobs -o yaml' 'describe job 1' events 'why 4' "logs $talks" \
    "logs -f $talks" 'top nodes' 'top pods' 'topology n1' 'timeline' 'explain pod' \
    api-resources version 'hold 4' 'release 4' 'update 4 comment=x' \
    'label job/job-4 a=b' 'cancel 5'; do
    # shellcheck disable=SC2086 # words
    is "kctl $command ends without a word when nobody reads its output" \
        "$(unread kctl $command)" 'status 141'
done
for command in --help '--wrap true --dry-run' '-H -t 1 --wrap true' \
    '-H -t 1 --parsable --wrap true' '-H -t 1 --test-only --wrap true'; do
    # shellcheck disable=SC2086 # words
    is "ksub $command ends without a word when nobody reads its output" \
        "$(unread ksub $command)" 'status 141'
done
finish
