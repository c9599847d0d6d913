#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ksub with a real controller: what it submits, what it refuses, and what it
# does when the controller stops.

# shellcheck disable=SC2016,SC2317 # commands that others expand and call

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need ksub kctl kiln-controller kiln-agent munged curl
cluster_munge
cluster_controller --allow-root-jobs
KILN_SERVER=$cluster/state/socket # through the socket, root is an administrator
export KILN_SERVER
cluster_agent n1 --allow-root-jobs
wait_for 20 kctl wait --for condition=Ready node n1 || bail_out "no node"
cd "$cluster/home" || bail_out "no home"

cat >job.sh <<'EOF'
#!/bin/sh
#KSUB -J sim -c 1 -t 10
#KSUB -o out-%j
echo "name=$KILN_JOB_NAME arguments=$*"
echo "cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)"
exit "${CODE:-0}"
EOF

# --- what is submitted --------------------------------------------------------

output=$(ksub job.sh a 'b c')
case $output in
"Submitted job "[0-9]*) pass "ksub prints the ID of the job" ;;
*) fail "ksub prints the ID of the job: $output" ;;
esac
id=${output##* }
ok "the job completes" kctl wait --for condition=Complete --timeout 30s "$id"
is "the job has its directives and arguments" \
    "$(head -n 1 "out-$id")" "name=sim arguments=a b c"
is "it runs on the CPUs of its allocation" \
    "$(sed -n 's/^cpus=//p' "out-$id")" \
    "$(kctl get pods -o json | sed -n 's/^ *"cpus": "\(.*\)",*$/\1/p' | head -n 1)"
case $(ksub --parsable job.sh) in
*[!0-9]* | '') fail "with --parsable, ksub prints only the ID" ;;
*) pass "with --parsable, ksub prints only the ID" ;;
esac

status=0
CODE=7 ksub --wait job.sh >/dev/null || status=$?
is "with --wait, ksub exits with the job's exit status" "$status" 7
status=0
ksub --wait --wrap 'kill -9 $$' >/dev/null || status=$?
is "with --wait, it exits with 128 plus the signal that killed the job" \
    "$status" 137

# A shell has commands in the background ignore SIGINT.
waited_for() { grep -q 'Submitted job' waited; }
runs() { kctl jobs --all -o id,state --no-headers | grep -q "^ *$1 *Running"; }
ended() { kctl get pods -l "batch.kubernetes.io/job-name=job-$1" -o name | wc -l | grep -qx 0; }
for with in INT:130 TERM:143; do
    rm -f waited
    env --default-signal=INT ksub --wait --wrap 'sleep 300' >waited 2>&1 &
    waiter=$!
    ok "ksub --wait says which job it submitted" wait_for 10 waited_for
    id=$(sed -n 's/Submitted job //p' waited)
    ok "that job runs" wait_for 10 runs "$id"
    kill -s "${with%:*}" "$waiter"
    status=0
    wait "$waiter" || status=$?
    is "SIG${with%:*} ends ksub --wait" "$status" "${with#*:}"
    is "ksub then says that the job goes on, and how to cancel it" \
        "$(tail -n 1 waited)" \
        "ksub: job $id goes on; 'kctl cancel $id' cancels it, 'kctl jobs' shows it"
    ok "the job does go on" runs "$id"
    kctl cancel "$id" >/dev/null
    ok "until it is cancelled" wait_for 20 ended "$id"
done
rm -f waited
ksub --wait --wrap 'sleep 1' >waited 2>&1 &
waiter=$!
ok "ksub --wait in the background of a script submits a job" wait_for 10 waited_for
kill -s INT "$waiter"
status=0
wait "$waiter" || status=$?
is "where a script's shell ignores Ctrl-C for it, ksub goes on waiting" "$status" 0

ok "a script can come from standard input" \
    sh -c 'printf "#!/bin/sh\ntrue\n" | ksub --wait'
ok "a script that is not UTF-8 is not changed" \
    sh -c 'printf "#!/bin/sh\n[ \"\$(printf caf\351)\" = \"caf\351\" ]\n" | ksub --wait'

export SEEN=yes
ok "the job has the environment of ksub" \
    ksub --wait --wrap 'test "$SEEN" = yes'
ok "--export selects the variables" \
    ksub --wait --export=A=1 --wrap 'test -z "$SEEN" && test "$A" = 1'
ok "the job has the umask of ksub" \
    sh -c 'umask 027; ksub --wait --wrap "test \$(umask) = 0027"'
ok "the job has the limits of ksub" \
    sh -c 'ulimit -n 123; ksub --wait --wrap "test \$(ulimit -n) = 123"'
mkdir -p elsewhere
ok "-D sets the working directory" \
    ksub --wait -D elsewhere --wrap "test \"\$PWD\" = \"$PWD/elsewhere\""

# --- --test-only --------------------------------------------------------------

like "--test-only says where and when the job could start" \
    "$(ksub --test-only job.sh)" \
    '^It could start now, on n1 \(1 of 1 nodes have room\)'
begin=$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M)
local_begin=$(date -d "${begin}:00Z" '+%Y-%m-%d %H:%M')
like "with --begin, it says that time and names the dependencies" \
    "$(ksub --test-only --begin "${begin}:00Z" -d singleton job.sh)" \
    "^It could start at $local_begin.* \(--begin\), if the free resources .*, on n1; but only after the jobs of --dependency\.\$"
blocker=$(ksub --parsable --exclusive -t 30 --wrap 'sleep 1000')
holds_node() { kctl get pods --field-selector spec.nodeName=n1 | grep -q Running; }
wait_for 20 holds_node || note "the node is not taken"
# The jobs before ran for a part of their limits, so this one is expected to.
like "if the node is occupied, it says when, in local time, and the time by limits" \
    "$(TZ=Asia/Tokyo ksub --test-only job.sh)" \
    "^It may start about $(TZ=Asia/Tokyo date +%Y-%m-)[0-9]+ [0-9:]+, by how long earlier jobs ran.*, on n1"
like "with a later --begin, it says that time" \
    "$(ksub --test-only --begin "${begin}:00Z" job.sh)" \
    "^It could start at $local_begin.* \(--begin\), on n1, which is expected to have room from 20[^ ]* [0-9:]+ on\.\$"
like "with an earlier --begin, it says a time after it" \
    "$(ksub --test-only --begin now+1minute job.sh)" \
    '^It (may|could) start (about|at) 20.* (after|from) '

id=$(ksub --parsable job.sh)
ok "kctl why says when, too" wait_for 20 sh -c \
    "kctl why $id | grep -q '^ *Outlook: *it may start about 20.*, on n1'"
kctl cancel "$id" "$blocker" >/dev/null
wait_for 60 kctl wait --for condition=Failed job "$blocker"
status=0
output=$(ksub --test-only -c 9999 job.sh 2>&1) || status=$?
is "--test-only fails if no node can ever run the job" "$status" 1
like "the message names the nearest node" "$output" \
    '^ksub: the job can never run: no node has 9999 CPUs; the nearest, n1, has [0-9]+ CPUs$'
like "--test-only fails for a partition that does not exist" \
    "$(ksub --test-only -p nosuch job.sh 2>&1)" "there is no partition 'nosuch'"

# --- what is not submitted ----------------------------------------------------

before=$(kctl get jobs -o name | wc -l)
ok "--test-only submits nothing" ksub --test-only job.sh
ok "--dry-run submits nothing" ksub --dry-run -o yaml job.sh
not_ok "an account that does not exist is refused" ksub -A nowhere job.sh
not_ok "an empty name is refused" ksub -J '' job.sh
not_ok "a negative amount of memory is refused" ksub --mem=-1 job.sh
not_ok "a script without #! is refused" sh -c 'echo echo | ksub'
not_ok "an empty script is refused" sh -c 'ksub </dev/null'
not_ok "a binary is refused" ksub /bin/true
not_ok "a priority class that does not exist is refused" \
    ksub --priority nosuch job.sh
not_ok "an array that counts down is refused" ksub --array 10-1 job.sh
is "none of these has created a job" \
    "$(kctl get jobs -o name | wc -l)" "$before"
status=0
ksub --no-such-option job.sh 2>/dev/null || status=$?
is "the exit status for an unknown option is 64" "$status" 64
status=0
ksub no-such-script 2>/dev/null || status=$?
is "the exit status for a script that does not exist is 66" "$status" 66

# --- when the controller stops ------------------------------------------------

status=0
KILN_SERVER=http+unix:///nowhere/socket ksub job.sh 2>err || status=$?
is "the exit status for a controller that cannot be reached is 69" "$status" 69
ok "the message says how to configure it" grep -q "KILN_SERVER" err

stop controller KILL
ksub --parsable -t 10 --wrap true >late 2>err &
late=$!
ok "a submission waits for a controller that restarts, and says so" \
    wait_for 10 grep -q '^ksub: no answer yet' err
cluster_controller --allow-root-jobs
wait "$late"
is "the job is submitted when the controller is back" "$?" 0
like "the ID of one job is printed" "$(cat late)" '^[0-9]+$'
is "one line says that ksub waits" "$(wc -l <err)" 1

(
    ksub --wait --wrap 'sleep 3; exit 5' >/dev/null 2>told
    echo $? >waited
) &
waiting=$!
sleep 1
stop controller KILL
ok "ksub --wait says that the controller does not answer" wait_for 10 grep -q \
    '^ksub: the controller does not answer; waiting until it does' told
cluster_controller --allow-root-jobs
wait "$waiting"
is "ksub --wait survives a restart of the controller" "$(cat waited)" 5
finish
