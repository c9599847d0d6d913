#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Users submit and look all the time while the controller that leads is killed, and the
# primary database, with promotion of its standby. Nothing that was acknowledged is lost or
# runs twice, no id is given twice, and no command of a user fails. Each is killed once, and
# with `testsuite/run --long` 100 and 30 times, which takes an hour; by hand:
#
#   KILN_LEADER_KILLS=10 KILN_PRIMARY_KILLS=10 testsuite/one testsuite/cluster/heads_storm.t

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/postgres.sh"
. "$top_srcdir/testsuite/lib/heads.sh"
leader_kills=${KILN_LEADER_KILLS:-${KILN_LONG:+100}}
primary_kills=${KILN_PRIMARY_KILLS:-${KILN_LONG:+30}}
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq curl
[ -x "$top_builddir/kiln-slurm" ] || skip_all "kiln-slurm is not built"
cluster_user kilntest1 || skip_all "only root can make users"
postgres_primary pg1
postgres_standby pg2 pg1
postgres_synchronous pg1 pg2
primary=pg1 secondary=pg2
cluster_store=$postgres_url
heads_grace=120s
heads_begin
cluster_slurm
head_start a
wait_for 30 leads a || bail_out "no controller leads"
head_start b
leader=a follower=b
heads_node a n1 --topology 'package:1 core:16 pu:1'

# One user knows both heads, one only the first and one only the second. Each submits, and looks
# at what was just acknowledged. Another one uses Slurm's commands; he knows both, for with one
# head they give up after ten seconds, as Slurm's do, which a takeover can last.
try() { # FILE COMMAND...
    try_file=$1
    shift
    as kilntest1 env KILN_SERVER="$server" "$@" 2>>"$cluster/log/${try_file##*/}" ||
        echo "$?: $*" >>"$try_file.failed"
}
storm() { # FILE SERVER SUBMIT [COMMAND]
    file=$1 server=$2 submit=$3
    shift 3
    while [ -e "$cluster/storm" ]; do
        id=$(try "$file" "$submit" --parsable -J s --wrap "echo \$KILN_JOB_ID >>ran")
        [ -z "$id" ] || {
            echo "$id" >>"$file.ids"
            try "$file" kctl get job "$id" --no-headers >>"$file.looks"
        }
        for command; do try "$file" "$command" >>"$file.looks"; done
        sleep 0.1
    done
}
touch "$cluster/storm"
storm "$cluster/both" "http://$address_a,$address_b" ksub &
storms=$!
storm "$cluster/slurm" "http://$address_a,$address_b" sbatch squeue &
storms="$storms $!"
storm "$cluster/first" "http://$address_a" ksub &
storms="$storms $!"
storm "$cluster/second" "http://$address_b" ksub &
storms="$storms $!"

acknowledged() { cat "$cluster"/*.ids 2>/dev/null | wc -l; }
grows() { [ "$(acknowledged)" -gt "$((acknowledged_before + 3))" ]; }
goes_on() {
    acknowledged_before=$(acknowledged)
    wait_for 90 grows
}
pause() { sleep "$(awk -v seed="$1" 'BEGIN { srand(seed); printf "%.2f", rand() * 1.5 }')"; }
turn() { turn_of=$leader leader=$follower follower=$turn_of; }
follows() { [ "$(grep -c 'Waiting to lead' "$cluster/log/$1")" -gt "$waited_before" ]; }

# At the first and every third time after it the other one takes over; else the killed one is
# there again at once.
goes_on || bail_out "no submissions"
stuck=0
kills=0
while [ "$kills" -lt "${leader_kills:-1}" ]; do
    kills=$((kills + 1))
    pause "$kills"
    signal "$leader" KILL
    await_end "$leader"
    if [ $((kills % 3)) -eq 1 ]; then
        wait_for 60 leads "$follower" || stuck=$((stuck + 1))
        waited_before=$(grep -c 'Waiting to lead' "$cluster/log/$leader")
        head_start "$leader"
        wait_for 30 follows "$leader"
        turn
    else
        head_start "$leader"
        wait_for 60 leads "$leader" || stuck=$((stuck + 1))
    fi
    goes_on || stuck=$((stuck + 1))
    [ $((kills % 10)) -ne 0 ] || note "leader killed $kills times, $(acknowledged) jobs acknowledged"
done
is "the leader was killed $kills times, and each time submissions went on" "$stuck" 0

is_synchronous() { # only the superuser sees it
    [ "$(psql -qAtX -h 127.0.0.1 -p "$(postgres_port_of "$primary")" -U "$postgres_user" \
        -d postgres -c "SELECT sync_state FROM pg_stat_replication")" = sync ]
}
stuck=0
kills=0
while [ "$kills" -lt "${primary_kills:-1}" ]; do
    kills=$((kills + 1))
    wait_for 60 is_synchronous || bail_out "the database has no synchronous standby"
    pause "$kills"
    signal "$primary" KILL
    await_end "$primary"
    postgres_promote "$secondary"
    postgres_synchronous "$secondary" ''
    goes_on || stuck=$((stuck + 1))
    postgres_follow "$primary" "$secondary"
    postgres_synchronous "$secondary" "$primary"
    turn_of=$primary primary=$secondary secondary=$turn_of
    [ $((kills % 10)) -ne 0 ] ||
        note "primary killed $kills times, $(acknowledged) jobs acknowledged"
done
is "the primary was killed $kills times, and each time submissions went on" "$stuck" 0
ok "a controller leads still that was never restarted for it" is_running "$leader"

rm "$cluster/storm"
for storm in $storms; do wait "$storm"; done
ran=$cluster/home/kilntest1/ran
all_ran() { [ "$(sort -u "$ran" | wc -l)" -ge "$(acknowledged)" ]; }
wait_for 120 all_ran
note "$(acknowledged) jobs were acknowledged"
sort -n "$cluster"/*.ids >"$cluster/acknowledged"
empty "every acknowledged job has run" "$(sort -u "$cluster/acknowledged" >"$cluster/sorted"
    sort -u "$ran" | comm -23 "$cluster/sorted" -)"
empty "no job has run that was not acknowledged" "$(sort -u "$ran" | comm -13 "$cluster/sorted" -)"
empty "no job has run twice" "$(sort "$ran" | uniq -d)"
empty "no id was given twice" "$(uniq -d "$cluster/acknowledged")"
empty "no command of a user has failed" "$(cat "$cluster"/*.failed 2>/dev/null)"
for storm in both slurm first second; do
    ok "the jobs of the user '$storm' were among them" test -s "$cluster/$storm.ids"
done

finish
