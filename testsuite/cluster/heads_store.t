#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The store in a PostgreSQL database: the contract of engines, answers that are
# lost, a standby that is away, moving a cluster there and back, and mistakes.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/postgres.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq python3
cluster_user kilntest1 || skip_all "only root can make users"
postgres_primary pg1

# --- the contract -----------------------------------------------------------------
postgres_admin pg1 'CREATE DATABASE contract OWNER kiln'
tests=$top_builddir/testsuite/unit/controller/store/tests
if [ -x "$tests" ]; then
    KILN_TEST_POSTGRES=postgresql://kiln@$postgres_hosts/contract
    export KILN_TEST_POSTGRES
    "$tests" test_engine_contract >"$cluster/contract" 2>"$cluster/log/contract"
    empty "PostgreSQL's engine does what every engine does" "$(grep '^not ok' "$cluster/contract")"
    ok "all points of the contract were tried" test "$(grep -c '^ok' "$cluster/contract")" -ge 9
    "$tests" test_follow >"$cluster/follow" 2>"$cluster/log/follow"
    empty "what a standby has followed is what a start reads" "$(grep '^not ok' "$cluster/follow")"
    ok "all points of that were tried" test "$(grep -c '^ok' "$cluster/follow")" -eq 12
    unset KILN_TEST_POSTGRES
else
    skip "PostgreSQL's engine does what every engine does" "the unit tests are not built"
    skip "all points of the contract were tried" "the unit tests are not built"
    skip "what a standby has followed is what a start reads" "the unit tests are not built"
    skip "all points of that were tried" "the unit tests are not built"
fi

# --- mistakes -----------------------------------------------------------------------
init() { # URL
    said=$(kiln-controller --state-dir "$cluster/none" --store "$1" --init 2>&1)
    code=$?
}
directory "$cluster/none" 700
init http://127.0.0.1/x
ok "a URL that is none is refused" test "$code" -eq 64
init "postgresql://kiln:s3cret/x@127.0.0.1:1/kiln"
like "a password in the URL is refused" "$said" 'belongs in ~/.pgpass'
unlike "and not repeated" "$said" 's3cret'
init postgresql://kiln@127.0.0.1:1/kiln
like "a server that is not there is said" "$said" "127.0.0.1:1/kiln.*Connection refused.*runs and can"
init "postgresql://kiln@$postgres_hosts/nowhere"
like "a database that is not there is said" "$said" 'nowhere.*does not exist.*createdb'
postgres_admin pg1 "CREATE USER secret PASSWORD 'right'"
hba=$cluster/postgres/pg1/pg_hba.conf
{
    echo 'host all secret 127.0.0.1/32 scram-sha-256'
    cat "$hba"
} >"$cluster/hba"
cat "$cluster/hba" >"$hba" # it keeps its owner
postgres_admin pg1 'SELECT pg_reload_conf()'
export PGPASSWORD=wrong
with_password() { # the server reads that file a little later
    init "postgresql://secret@127.0.0.1:$(postgres_port_of pg1)/kiln"
    echo "$said" | grep -q 'password authentication failed.*check the user and the password.*pgpass'
}
ok "a wrong password is said" wait_for 10 with_password
unset PGPASSWORD
postgres_admin pg1 "CREATE USER other" "CREATE DATABASE narrow"
init "postgresql://other@$postgres_hosts/narrow"
like "a user who may make no schema is said" "$said" 'permission denied.*create a schema'
start=$(kiln-controller --state-dir "$cluster/none" --store "$postgres_url" --cluster test 2>&1)
like "a database without a cluster is said" "$start" 'contains no cluster.*--init once'

# Servers that take connections and say nothing, each for five seconds.
cat >"$cluster/silent.py" <<'EOF'
import socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
kept = []
while True:
    kept.append(listener.accept())
    print("a connection", flush=True)
EOF
find_free_port
start silent python3 "$cluster/silent.py" "$free_port"
silent=127.0.0.1:$free_port
start waits kiln-controller --state-dir "$cluster/none" --cluster test \
    --store "postgresql://kiln@$silent,$silent,$silent,$silent,$silent,$silent,$silent,$silent/kiln"
wait_for 20 grep -q 'a connection' "$cluster/log/silent"
stop waits
is "a controller that cannot reach its database stops when it is told to" "$stopped_with" 0
stop silent

# --- moving there --------------------------------------------------------------------
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s
admin() { KILN_SERVER=$cluster/state/socket kctl "$@"; }
state_is() { as kilntest1 kctl get job "$1" --no-headers 2>/dev/null | grep -qw "$2"; }
log_says() { grep -qE "$2" "$cluster/log/$1"; }
wait_for 20 admin wait --for condition=Ready node n1
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
first=$(as kilntest1 ksub --parsable --wrap 'echo first')
held=$(as kilntest1 ksub --parsable --hold --wrap "echo held >>held")
long=$(as kilntest1 ksub --parsable --wrap 'sleep 20; echo done >>long')
wait_for 20 state_is "$first" Completed
wait_for 20 state_is "$long" Running
like "a running cluster is not moved" \
    "$(kiln-controller --state-dir "$cluster/state" --store "$postgres_url" --migrate 2>&1)" \
    'in use|process'
stop controller
like "--init beside a store in the directory is refused" \
    "$(kiln-controller --state-dir "$cluster/state" --store "$postgres_url" --init 2>&1)" \
    'has a store.*--migrate'
# As after a copy that was broken off: tables, and no cluster that has run.
kiln-controller --state-dir "$cluster/none" --store "$postgres_url" --init >/dev/null
psql -qAtX "$postgres_url" -c "INSERT INTO kiln.objects VALUES (1, 1, 1, 'x', 'x', 'x', 'x')"
ok "a cluster is moved into a database" \
    kiln-controller --state-dir "$cluster/state" --store "$postgres_url" --migrate
ok "the file is kept under another name" test -s "$cluster/state/kiln.db.migrated"
mkdir "$cluster/state/kiln.db" # no other file may take its place
cluster_init() { :; }

# --- answers that are lost --------------------------------------------------------------
find_free_port
proxy_port=$free_port
start proxy python3 "$top_srcdir/testsuite/lib/flaky_proxy.py" "$proxy_port" \
    "$(postgres_port_of pg1)" 300 7
cluster_store=postgresql://kiln@127.0.0.1:$proxy_port/kiln
wait_for 10 sh -c "psql -qAtX '$cluster_store' -c 'SELECT 1'"
cluster_patience=60
# A start ends when it loses its session while it reads the store, and its unit starts it
# again.
for _ in $(seq 10); do
    cluster_controller
    if is_running controller; then break; fi
    await_end controller
done
ok "jobs are there after the move" state_is "$first" Completed
as kilntest1 kctl release "$held" >/dev/null 2>&1
unlike "history has every row of the store that was moved" \
    "$(sed -n '/stopping on/,$p' "$cluster/log/controller")" 'History is ahead'
: >"$cluster/ids"
for _ in $(seq 120); do
    as kilntest1 ksub --parsable --wrap "echo \$KILN_JOB_ID >>ran" >>"$cluster/ids" \
        2>>"$cluster/log/ksub"
done
is "each submission was acknowledged" "$(wc -l <"$cluster/ids")" 120
empty "no id was given twice" "$(sort "$cluster/ids" | uniq -d)"
all_ran() { [ "$(wc -l <"$cluster/home/kilntest1/ran")" -ge 120 ]; }
wait_for 90 all_ran
is "each job has run, and once" "$(sort "$cluster/home/kilntest1/ran")" "$(sort "$cluster/ids")"
ok "answers were lost meanwhile" log_says controller 'Writes wait for the database'
ok "the controller was not restarted" is_running controller
unlike "it never took itself for another" "$(cat "$cluster/log/controller")" 'taken over'
ok "the job that ran during the move is complete" wait_for 60 state_is "$long" Completed
is "it ran once" "$(cat "$cluster/home/kilntest1/long")" "done"
stop controller
stop proxy
cluster_store=$postgres_url

# --- a leader that is cut off -----------------------------------------------------------
api() { # HEAD PATH
    curl -sS -m 10 --unix-socket "$cluster/$1/socket" -w '\n%{http_code}\n' "http://x$2"
}
answers() { [ "$(api "$1" "$2" | tail -1)" = "$3" ]; }
start proxy python3 "$top_srcdir/testsuite/lib/flaky_proxy.py" "$proxy_port" \
    "$(postgres_port_of pg1)" 100000000 7
cluster_store=postgresql://kiln@127.0.0.1:$proxy_port/kiln
wait_for 10 sh -c "psql -qAtX '$cluster_store' -c 'SELECT 1'"
cluster_controller
directory "$cluster/b" 700
find_free_port
start b kiln-controller --state-dir "$cluster/b" --store "$postgres_url" --cluster test \
    --munge-socket "$munge_socket" --listen "127.0.0.1:$free_port"
wait_for 20 log_says b 'Waiting to lead'
nodes=/api/v1/nodes
start watch curl -sSN --unix-socket "$cluster/state/socket" "http://x$nodes?watch=1"
wait_for 20 test -s "$cluster/log/watch"
stop proxy KILL
ok "a leader that is cut off refuses reads" wait_for 30 answers state "$nodes" 503
like "it says why" "$(api state "$nodes")" 'may no longer lead.*NotLeading'
ok "but shows old data to those who ask for it" answers state "$nodes?resourceVersion=0" 200
ok "it begins no watch" answers state "$nodes?resourceVersion=0&watch=1" 503
ok "a watch of before has ended" wait_for 10 cluster_is_over watch
like "nothing can be tried against its state" "$(admin create namespace x --dry-run --no-wait 2>&1)" \
    'nothing was changed: this controller may no longer lead'
like "kctl status tells how things are" "$(admin status --no-wait)" 'database does not answer'
ok "another one leads soon" wait_for 30 answers b "$nodes" 200
ok "the one that is cut off has not changed its mind" answers state "$nodes" 503
await_end watch
stop controller KILL
stop b
cluster_store=$postgres_url

# --- a slow line ---------------------------------------------------------------------------
start proxy python3 "$top_srcdir/testsuite/lib/flaky_proxy.py" "$proxy_port" \
    "$(postgres_port_of pg1)" 100000000 7 250000
cluster_store=postgresql://kiln@127.0.0.1:$proxy_port/kiln
wait_for 10 sh -c "psql -qAtX '$cluster_store' -c 'SELECT 1'"
cluster_controller --stop-timeout 2s
{
    echo '#!/bin/sh'
    head -c 2900000 /dev/urandom | base64 -w 100 | sed 's/^/# /' | head -c 3000000
} >"$cluster/home/kilntest1/big"
ok "a batch that takes longer than the usual patience is written in the end" \
    as kilntest1 timeout 90 ksub --hold "$cluster/home/kilntest1/big"
ok "it was tried before" log_says controller 'no answer within 10 s'
sed 's/^# /#/' "$cluster/home/kilntest1/big" >"$cluster/home/kilntest1/other"
as kilntest1 timeout 60 ksub --parsable --hold --no-wait "$cluster/home/kilntest1/other" \
    >"$cluster/other.id" 2>"$cluster/log/other" &
other=$!
is_under_way() {
    [ "$(psql -qAtX "$postgres_url" -c "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'kiln-controller writer' AND state <> 'idle'
        AND clock_timestamp() - state_change > '1 s'")" = 1 ]
}
ok "(a batch is under way for a while)" wait_for 30 is_under_way
stop controller
# 74 on a slow machine: the line was given up just then, and will not be tried again.
like "a controller that is told to stop does not wait for that batch for ever" \
    "$stopped_with" '^7[45]$'
ok "it says so" log_says controller \
    'not written all within 2 s.*nothing that was acknowledged|stopping while writes wait'
kill "$other"
wait "$other"
empty "the batch was not acknowledged" "$(cat "$cluster/other.id")"
stop proxy
cluster_store=$postgres_url

# --- a standby that is away ---------------------------------------------------------------
cluster_controller
ok "a store on one disk is warned of" log_says controller 'no synchronous standby'
like "and kctl status says so" "$(admin status)" 'on one disk only'
like "and readiness" "$(curl -s "http://$cluster_address/readyz?verbose")" 'on one disk only'
fenced() { as kilntest1 ksub --hold --fence-after "$1" --wrap true 2>&1; }
like "a fence that ends before a takeover is warned of" "$(fenced 59s)" 'fenceAfterSeconds is 59'
unlike "and a longer one is not" "$(fenced 60s)" 'fenceAfterSeconds'
# The tables were empty when the statements were prepared. One that reads a whole table for
# each batch would do so some hundred times here; a start does so once, and is counted late.
scans() {
    psql -qAtX "$postgres_url" -c "SELECT sum(seq_scan) FROM pg_stat_user_tables
        WHERE schemaname = 'kiln' AND relname IN
        ('objects', 'deltas', 'blobs', 'blob_contents', 'history', 'changes')"
}
before=$(scans)
for _ in $(seq 20); do last=$(as kilntest1 ksub --parsable --wrap true); done
wait_for 60 state_is "$last" Completed
admin delete job "job-$last" >/dev/null
sleep 2 # the server counts once in a second
ok "no statement of a batch reads a whole table" test $(($(scans) - before)) -lt 12

# --- a database without space ----------------------------------------------------------------
# The server says so with this code.
psql -qX "$postgres_url" -v ON_ERROR_STOP=1 -c "
    CREATE FUNCTION kiln.full() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END \$\$;
    CREATE TRIGGER no_space BEFORE UPDATE ON kiln.counters EXECUTE FUNCTION kiln.full()"
like "without space a submission is refused" \
    "$(as kilntest1 ksub --no-wait --hold --wrap true 2>&1)" 'space'
like "and a deletion, too" "$(admin delete job "$first" --no-wait 2>&1)" 'space'
ok "the job is still there" state_is "$first" Completed
like "kctl status says so" "$(admin status)" 'database has no space'
psql -qX "$postgres_url" -c "DROP TRIGGER no_space ON kiln.counters; DROP FUNCTION kiln.full()"
takes_jobs() { as kilntest1 ksub --no-wait --hold --wrap true; }
ok "when there is space again, submissions are accepted" wait_for 30 takes_jobs
ok "nobody has started the controller for that" is_running controller
postgres_standby pg2 pg1
postgres_synchronous pg1 pg2
stop pg2 INT
as kilntest1 ksub --parsable --wrap 'echo late >>late' >"$cluster/late.id" 2>"$cluster/log/late" &
late=$!
is_waiting() { ! curl -fsS "http://$cluster_address/readyz"; }
ok "while the standby is away the controller is not ready" wait_for 40 is_waiting
empty "and acknowledges nothing" "$(cat "$cluster/late.id")"
ok "what is there can be read by those who take old data" \
    answers state "$nodes?resourceVersion=0" 200
ok "and by no others" answers state "$nodes" 503
admin get nodes -o name >"$cluster/nodes" 2>"$cluster/log/nodes" &
reader=$!
postgres_serve pg2
wait "$reader"
is "kctl waits until it is answered" "$(cat "$cluster/nodes")" node/n1
wait "$late"
is "when the standby is back the submission is acknowledged" "$?" 0
ok "and its job runs" wait_for 40 test -s "$cluster/home/kilntest1/late"
postgres_synchronous pg1 ''

# --- a controller that waits, and whose statements wait, too ---------------------------------
lock() { # TABLE: nobody reads it until unlock
    PGAPPNAME=lock_$1 psql -qAtX "$postgres_url" -c "BEGIN; LOCK TABLE kiln.$1; SELECT pg_sleep(300)" \
        >>"$cluster/log/psql" 2>&1 &
    wait_for 20 is_locked "$1"
}
is_locked() {
    psql -qAtX "$postgres_url" -c "SELECT 1 FROM pg_locks WHERE granted
        AND mode = 'AccessExclusiveLock' AND relation = 'kiln.$1'::regclass" | grep -q 1
}
unlock() { # TABLE
    psql -qAtX "$postgres_url" -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'lock_$1'" >>"$cluster/log/psql"
}
lock version # which the leader does not read
lock deltas
find_free_port
waits_at=127.0.0.1:$free_port
directory "$cluster/aside" 700
start aside kiln-controller --state-dir "$cluster/aside" --store "$postgres_url" --cluster test \
    --listen "$waits_at" --munge-socket "$munge_socket" --socket "$cluster/aside/socket"
is_up() { curl -fsS --max-time 2 "http://$waits_at/healthz" 2>>"$cluster/log/curl"; }
comes_up() { is_up || log_says aside 'Waiting to lead'; }
wait_for 30 comes_up
# After five seconds the statement ends, and it says that it waits.
ok "a controller serves health while its first statement waits for a table" is_up
unlike "the statement has not ended before" "$(cat "$cluster/log/aside")" 'Waiting to lead'
unlock version
is_loading() { admin controllers --no-headers | grep -qw loading; }
ok "one that reads all objects says so, although a table is locked" wait_for 60 is_loading
ok "it relays meanwhile" wait_for 20 as kilntest1 env KILN_SERVER="http://$waits_at" \
    kctl get nodes --no-wait
token=$(admin metrics-token heads)
metrics() { curl -s --max-time 10 -H "Authorization: Bearer $token" "http://$waits_at/metrics"; }
like "it has no objects yet" "$(metrics)" 'kiln_standby_objects 0'
unlock deltas
ok "then it follows" wait_for 60 log_says aside 'follows the one that leads'
has_objects() { metrics | grep -q '^kiln_standby_objects [1-9]'; }
ok "and has objects" wait_for 20 has_objects
lock leader # which the leader needs, too
stop aside
is "it ends when it is told to, whatever a statement waits for" "$stopped_with" 0
unlock leader

# --- there and back ----------------------------------------------------------------------
ok "a running cluster is saved into one file" kiln-controller --state-dir "$cluster/state" \
    --store "$cluster_store" --backup "$cluster/backup"
stop controller
postgres_admin pg1 'CREATE DATABASE again OWNER kiln'
again=postgresql://kiln@127.0.0.1:$(postgres_port_of pg1)/again
ok "it is restored into another database" kiln-controller --state-dir "$cluster/state" \
    --store "$again" --restore "$cluster/backup"
like "a database of a cluster is not written over" "$(kiln-controller --state-dir \
    "$cluster/state" --store "$cluster_store" --restore "$cluster/backup" 2>&1)" 'has run there'
cluster_store=$again
cluster_controller
ok "its jobs are there" state_is "$first" Completed
new=$(as kilntest1 ksub --parsable --wrap true)
ok "its ids go on" test "$new" -gt "$(cat "$cluster/late.id")"
stop controller
postgres_admin pg1 'DROP DATABASE again'
rmdir "$cluster/state/kiln.db"
ok "it is restored into the state directory" kiln-controller --state-dir "$cluster/state" \
    --restore "$cluster/backup"
cluster_store=
cluster_controller
ok "its jobs are there, too" state_is "$first" Completed
stop controller

# --- another release, another program -------------------------------------------------------
for head in leads older; do
    directory "$cluster/$head" 700
    start "$head" kiln-controller --state-dir "$cluster/$head" --store "$postgres_url" \
        --cluster test --munge-socket "$munge_socket" --socket "$cluster/socket-$head"
    [ "$head" != leads ] || wait_for 30 log_says leads 'leads now'
done
wait_for 20 log_says older 'Waiting to lead'
psql -qAtX "$postgres_url" -c "UPDATE kiln.version SET version = 99, writer = 'v9'" >/dev/null
like "a database of a later release is refused" "$(kiln-controller --state-dir "$cluster/none" \
    --store "$postgres_url" --cluster test 2>&1)" 'later release of Kiln \(version v9'

await_end older
is "a controller that waits ends when a later release has led" "$stopped_with" 65
ok "it says so, and what to do" log_says older 'later release of Kiln.*start that release'
stop leads KILL

finish
