#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Two controllers with one replicated store: the one that leads dies in several
# ways, and so does the database. Agents and users know the addresses of both.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/postgres.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step ksub kctl krun jq curl
cluster_user kilntest1 || skip_all "only root can make users"
postgres_primary pg1
postgres_standby pg2 pg1
postgres_synchronous pg1 pg2
cluster_store=$postgres_url
cluster_munge
for head in controller b; do # two ports, of which clients know both
    find_free_port
    eval "address_$head=127.0.0.1:$free_port"
    find_free_port
    eval "tls_$head=127.0.0.1:$free_port"
done
cluster_address=$address_controller
cluster_url=http://$address_controller,$address_b
cluster_clients
cluster_controller --node-grace 60s --listen-tls "$tls_controller"
cluster_agent n1 --topology 'package:1 core:8 pu:1' --heartbeat 1s
admin() { kctl --server "$cluster_url" "$@"; }
on() { # HEAD COMMAND...
    on_head=$1
    shift
    KILN_SERVER=$cluster/$on_head/socket kctl "$@"
}

# head_start NAME ADDRESS: a controller on another machine, which is a state directory here.
head_start() {
    directory "$cluster/$1" 700
    head_tls=$tls_b
    [ "$2" = "$address_b" ] || head_tls=$tls_controller
    start "$1" kiln-controller --state-dir "$cluster/$1" --store "$cluster_store" \
        --listen "$2" --listen-tls "$head_tls" --cluster test --munge-socket "$munge_socket" \
        --socket "$cluster/$1/socket" --node-grace 60s
}
leads() { curl -fs --max-time 5 --unix-socket "$cluster/$1/socket" http://kiln/livez; }
log_says() { grep -qE "$2" "$cluster/log/$1"; }
state_is() { as kilntest1 kctl get job "$1" --no-headers 2>/dev/null | grep -qw "$2"; }
wait_for 20 kctl --server "$cluster/state/socket" wait --for condition=Ready node n1
for key in $(KILN_SERVER=$cluster/state/socket kctl get node n1 -o json |
    jq -r '.spec.taints[]?.key'); do
    KILN_SERVER=$cluster/state/socket kctl taint node n1 "$key-" >/dev/null
done

# Submits job after job, each once, and notes the ids that were acknowledged. A
# request that gets no answer is repeated with its key by ksub itself.
storm() { # FILE
    while [ -e "$cluster/storm" ]; do
        as kilntest1 ksub --parsable -J "s" --wrap "echo \$KILN_JOB_ID >>ran" 2>>"$cluster/log/ksub" \
            >>"$1" || echo "exit status $?" >>"$1.failed"
    done
}
storm_begin() {
    : >"$cluster/ids"
    : >"$cluster/ids.failed"
    touch "$cluster/storm"
    storm "$cluster/ids" &
    storm_pid=$!
    sleep 1
}
storm_end() {
    rm "$cluster/storm"
    wait "$storm_pid"
}
acknowledged() { wc -l <"$cluster/ids"; }
grows() { [ "$(acknowledged)" -gt "$acknowledged_before" ]; }
goes_on() { # SECONDS
    acknowledged_before=$(acknowledged)
    wait_for "$1" grows
}
all_ran() { [ "$(sort -n "$cluster/home/kilntest1/ran" | uniq | wc -l)" -ge "$(acknowledged)" ]; }
check_storm() { # NAME
    wait_for 60 all_ran
    empty "$1: every acknowledged job has run" \
        "$(sort -u "$cluster/ids" >"$cluster/ids.sorted"
            sort -u "$cluster/home/kilntest1/ran" | comm -23 "$cluster/ids.sorted" -)"
    empty "$1: no job has run twice" "$(sort "$cluster/home/kilntest1/ran" | uniq -d)"
    empty "$1: no id was given twice" "$(sort "$cluster/ids" | uniq -d)"
    empty "$1: no command of the user has failed" "$(cat "$cluster/ids.failed")"
    : >"$cluster/home/kilntest1/ran"
}

# --- a standby ------------------------------------------------------------------
head_start b "$address_b"
ok "a second controller waits, and says who leads" \
    wait_for 20 log_says b "Waiting to lead.*state directory '$cluster/state'"
ok "a client that knows only that one is served by the leader" \
    as kilntest1 env KILN_SERVER="http://$address_b" kctl get nodes --no-wait
long=$(as kilntest1 ksub --parsable --wrap 'sleep 45; echo done >>long')
wait_for 20 state_is "$long" Running
stop b
is "a standby ends in good order" "$stopped_with" 0
head_start b "$address_b"
wait_for 20 log_says b "Waiting to lead"

# --- keys ------------------------------------------------------------------------------
# A client verifies the certificate that it got from the first head, and has its token.
cp "$cluster/state/tls.crt" "$cluster/authority"
credential() { as kilntest1 kctl --server "http://$1" credential | jq -r .status.token; }
status_of() { # ADDRESS TOKEN
    curl -s --max-time 10 -o /dev/null -w '%{http_code}' --cacert "$cluster/authority" \
        -H "Authorization: Bearer $2" "https://$1/api/v1/namespaces/default/pods"
}
rotate() { # HEAD
    kiln-controller --state-dir "$cluster/$1" --store "$cluster_store" --rotate-tokens 2>&1
}
token=$(credential "$address_controller")
is "a token is valid" "$(status_of "$tls_controller" "$token")" 200
rotate b >"$cluster/rotate" &
rotation=$!

# --- kill -9 of the leader ----------------------------------------------------------
# A watch that has missed changes when the leader dies.
held=$(as kilntest1 ksub --parsable --hold --wrap true)
as kilntest1 sh -c 'echo $$ >watch.pid; exec kctl get jobs -w' >"$cluster/watch" \
    2>"$cluster/log/watch" &
wait_for 20 grep -q "^$held " "$cluster/watch"
watch=$(cat "$cluster/home/kilntest1/watch.pid")
kill -STOP "$watch"
# Events are written later than they are shown.
events() { on "$1" get events -A -o name | sort; }
events state >"$cluster/events"
events_are_written() {
    [ "$(psql -qAtX "$postgres_url?target_session_attrs=read-write" \
        -c 'SELECT count(*) FROM kiln.events')" -ge "$(wc -l <"$cluster/events")" ]
}
ok "events are written into the database" wait_for 20 events_are_written
storm_begin
signal controller KILL
await_end controller
# Something of the old leader is still under way in the database.
sql() { psql -qAtX "$postgres_url?target_session_attrs=read-write" -c "$1" >>"$cluster/log/psql"; }
sql 'BEGIN; UPDATE kiln.counters SET holder = holder; SELECT pg_sleep(18.5); COMMIT' &
ok "after a kill of the leader the standby leads" wait_for 30 leads b
ok "submissions go on" goes_on 30
ok "it had followed, and read only the rest" log_says b 'Took over with [0-9]+ objects in memory'
storm_end
ok "(there were events)" test -s "$cluster/events"
empty "events of the leader before are shown" "$(events b | comm -23 "$cluster/events" -)"
kill -CONT "$watch"
ok "a watch shows what it has missed" \
    wait_for 20 grep -q "^$(tail -1 "$cluster/ids") " "$cluster/watch"
is "and not what it has shown before" "$(grep -c "^$held " "$cluster/watch")" 1
after_watch=$(as kilntest1 ksub --parsable --wrap true)
ok "it goes on with the controller that leads now" \
    wait_for 20 grep -q "^$after_watch " "$cluster/watch"
kill "$watch"
check_storm "kill -9"
is "tokens and the certificate of the leader before are valid" "$(status_of "$tls_b" "$token")" 200
wait "$rotation"
like "one that waits cannot revoke tokens, and says so" "$(cat "$cluster/rotate")" \
    'no token was revoked: .*its machine'
ok "the key is in a file that only its owner can read" \
    test "$(stat -c %a "$cluster/b/token.key")" = 600
empty "the controller that leads revokes tokens" "$(rotate b)"
is "at once" "$(status_of "$tls_b" "$token")" 401
fresh=$(credential "$address_b")
ok "a job that ran runs still" state_is "$long" Running

has_history() { # HEAD JOB
    on "$1" history --all-users -j "$2" --no-headers 2>/dev/null | grep -q Completed
}
old=$(head -1 "$cluster/ids")
on b delete job "job-$old" >/dev/null
ok "history has a row of each of them" wait_for 20 has_history b "$old"

stepped=$(as kilntest1 ksub --parsable --wrap 'krun -n 1 sh -c "exit 3"')
has_step() { # HEAD
    on "$1" steps --no-headers "$stepped" 2>/dev/null | grep -q "^$stepped.0 .*Failed *3"
}
ok "the head has the steps of a job" wait_for 30 has_step b

# A record that no history can have must not keep the others out.
sql "INSERT INTO kiln.history (key, at, record)
    VALUES ('x', 0, '{\"object\": \"x\", \"state\": \"Completed\"}')"

# --- handover ------------------------------------------------------------------------
head_start c "$address_controller"
wait_for 20 log_says c "Waiting to lead"
row_of() { # ADDRESS
    admin_rows=$(as kilntest1 kctl --server "$cluster_url" controllers --no-headers --no-wait) &&
        echo "$admin_rows" | grep "$1"
}
waits() { row_of "$1" | grep -q Waiting; }
ok "kctl controllers shows the standby" wait_for 20 waits "$address_controller"
follows() { row_of "$1" | grep -Eq '(nothing|[0-9]+ changes) '; }
ok "and how far behind it is" wait_for 30 follows "$address_controller"
like "and who leads" "$(row_of "$address_b")" 'Leading'
like "a user cannot hand over" \
    "$(as kilntest1 kctl --server "$cluster_url" controllers handover 2>&1)" 'only administrators'
like "nor can the lead be given to nobody" "$(on b controllers handover nowhere 2>&1)" \
    "no controller 'nowhere' waits.*$address_controller"
storm_begin
like "an administrator hands the lead over" "$(on b controllers handover "$address_controller")" \
    "handed over to .*$address_controller"
await_end b
is "the one that has led ends, to be started again" "$stopped_with" 75
ok "the other one leads" wait_for 8 leads c
ok "submissions go on" goes_on 20
is "tokens of before are valid" "$(status_of "$tls_controller" "$fresh")" 200
is "those that were revoked are not" "$(status_of "$tls_controller" "$token")" 401
leads_now() { row_of "$1" | grep -q Leading; }
ok "kctl controllers shows that" wait_for 20 leads_now "$address_controller"
head_start b "$address_b"
ok "the one before waits now" wait_for 20 waits "$address_b"
like "it leads again when it is told to" "$(on c controllers handover)" "$address_b"
await_end c
ok "after that, too, submissions go on" goes_on 20
storm_end
check_storm "handover by kctl"
head_start c "$address_controller"
wait_for 20 waits "$address_controller"
printf '{"apiVersion":"v1","kind":"Event","reason":"Kept","metadata":{"name":"n1.kept"},
"involvedObject":{"kind":"Node","name":"n1"}}' | on b create -f - >/dev/null
ask_database() { psql -qAtX "$cluster_store" -c "$1" 2>>"$cluster/log/psql"; }
is_kept() { [ "$(ask_database "SELECT count(*) FROM kiln.events WHERE name = 'n1.kept'")" = 1 ]; }
wait_for 20 is_kept
# An administrator holds the table of events, from before the end of the one until the other leads.
ask_database "BEGIN; LOCK TABLE kiln.events; SELECT pg_sleep(300)" >/dev/null &
is_locked() {
    [ "$(ask_database "SELECT count(*) > 0 FROM pg_locks WHERE granted
        AND relation = 'kiln.events'::regclass AND mode = 'AccessExclusiveLock'")" = t ]
}
wait_for 20 is_locked
events_of_c() { # [OPTION]...: the status, or with options what curl prints
    curl -s --max-time 10 "$@" --unix-socket "$cluster/c/socket" \
        http://kiln/api/v1/namespaces/default/events
}
storm_begin
stop b
is "the leader ends in good order although its events cannot be written" "$stopped_with" 0
ok "the next one leads soon" wait_for 8 leads c
ok "submissions go on after a handover, while the events of before cannot be read" goes_on 20
like "who asks for events is told to ask again" "$(events_of_c -D - | tr -d '\r' | tr '\n' ' ')" \
    '^HTTP/1.1 429 .*Retry-After: 1 .*still reads the events of before'
like "... and who watches them from the beginning" \
    "$(events_of_c -G -d watch=true -d timeoutSeconds=2 -w ' %{http_code}' | tail -c 400)" \
    'still reads the events of before.* 429$'
ask_database "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE '%pg_sleep(300)%' AND pid <> pg_backend_pid()" >/dev/null
like "kctl does so, and shows them when they are there" "$(on c get events)" 'Kept'
storm_end
check_storm "handover"
ok "a record that cannot be written is left out" \
    wait_for 20 log_says c "history cannot be written, leaving it out"
ok "the next head has the rows of history that others have written" \
    wait_for 20 has_history c "$old"
ok "and the steps of jobs" wait_for 20 has_step c

# --- a leader that is cut off from the database --------------------------------------------
# Clients reach it still, and have to leave it.
find_free_port
start proxy python3 "$top_srcdir/testsuite/lib/flaky_proxy.py" "$free_port" \
    "$(postgres_port_of pg1)" 100000000 7
cluster_store=postgresql://kiln@127.0.0.1:$free_port/kiln
wait_for 10 sh -c "psql -qAtX '$cluster_store' -c 'SELECT 1'"
head_start b "$address_b"
cluster_store=$postgres_url
wait_for 20 waits "$address_b"
on c controllers handover "$address_b" >"$cluster/log/handover" 2>&1
await_end c
ok "the lead goes to the one whose line will be cut" wait_for 20 leads b
head_start c "$address_controller"
wait_for 20 waits "$address_controller"
storm_begin
stop proxy KILL
ok "when the leader is cut off, the standby leads" wait_for 40 leads c
ok "submissions go on" goes_on 60
tail -1 "$cluster/ids" >"$cluster/last"
has_run() { grep -qx "$(cat "$cluster/last")" "$cluster/home/kilntest1/ran"; }
ok "and run: the agent has left the one that is cut off" wait_for 60 has_run
signal b KILL
await_end b
storm_end
check_storm "cut off"

# --- a leader that stands still ----------------------------------------------------------
head_start b "$address_b"
wait_for 20 log_says b "Waiting to lead.*$cluster/c"
storm_begin
signal c STOP
ok "when the leader stands still, the standby leads" wait_for 40 leads b
ok "submissions go on" goes_on 60
tail -1 "$cluster/ids" >"$cluster/last"
ok "and run: the agent has left the one that stands still" wait_for 60 has_run
signal c CONT
await_end c
ok "the old leader ends with an error" test "$stopped_with" -ne 0
ok "it says that it was taken over" \
    log_says c "taken over by another controller|another controller may lead"
ok "submissions go on after that" goes_on 30
storm_end
check_storm "SIGSTOP"

# --- the database ------------------------------------------------------------------------
head_start c "$address_controller"
wait_for 20 log_says c "Waiting to lead.*$cluster/b"
storm_begin
signal pg1 KILL
await_end pg1
ok "writes wait for the database" wait_for 20 log_says b "Writes wait for the database"
sleep 11 # longer than a standby waits for a leader that is silent
postgres_promote pg2
ok "after a failover of the database writes go on" wait_for 30 log_says b "writes go on"
ok "submissions go on after the failover" goes_on 40
storm_end
check_storm "failover"
ok "the leader is the same process" is_running b
ok "the job that has run all the time is complete" wait_for 60 state_is "$long" Completed
is "it has run once" "$(cat "$cluster/home/kilntest1/long")" "done"
stop c

# --- mistakes in the database --------------------------------------------------------------
sql 'REVOKE UPDATE ON kiln.counters FROM kiln'
as kilntest1 ksub --parsable --wrap true >"$cluster/late.id" 2>>"$cluster/log/ksub" &
late=$!
ok "writes wait for a right that was withdrawn" wait_for 20 log_says b "Writes wait.*permission"
empty "nothing is acknowledged meanwhile" "$(cat "$cluster/late.id")"
sql 'GRANT UPDATE ON kiln.counters TO kiln'
wait "$late"
is "they go on when it is given back" "$?" 0
sql "UPDATE kiln.counters SET batches = batches - 1;
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'kiln-controller writer'"
as kilntest1 timeout 30 ksub --parsable --wrap true >/dev/null 2>&1 &
writes=$!
await_end b
kill "$writes"
ok "a database that lacks what was confirmed is not written to" \
    log_says b "lacks changes that it had confirmed"

finish
