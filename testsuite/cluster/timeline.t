#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# When a waiting job is expected to start: in tables, in its reservation of a
# node, and in the picture of kctl timeline.

# shellcheck disable=SC2119,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
need munged kiln-controller kiln-agent ksub kctl jq
if ! cluster_user kilntest1 || ! cluster_user kilntest2; then
    skip_all "only root can make users"
fi
cluster_munge
cat >"$cluster/scheduler.yaml" <<'TXT'
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      queueSort:
        disabled: [{name: "*"}]
        enabled: [{name: SubmissionOrder}]
TXT
cluster_controller --scheduler-config "$cluster/scheduler.yaml"
root() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
cluster_agent n1 --topology 'package:1 core:4 pu:1' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n1 || bail_out "no node"
for key in $(root get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n1 "$key-" >/dev/null
done
sub() { # CPUS TIME [OPTION]...: submits a job, prints its number
    sub_cpus=$1 sub_time=$2
    shift 2
    as kilntest1 ksub --parsable -c "$sub_cpus" -t "$sub_time" -o /dev/null \
        "$@" --wrap 'exec sleep 1000'
}
state_is() { [ "$(root get job "job-$1" -o json | jq -r .status.state)" = "$2" ]; }
cause() { # ID FILTER
    root get pods -l "batch.kubernetes.io/job-name=job-$1" -o json |
        jq -r ".items[0].status.cause | $2"
}
cause_is() { [ "$(cause "$1" "$2")" = "$3" ]; }
start_of() { as kilntest1 kctl --utc jobs -o csv=id,start | grep "^$1," | cut -d , -f 2; }
# Succeeds if the job's expected start is so many minutes after the start of
# the other job, within a minute.
starts_after() { # ID MINUTES OTHER
    starts_at=$(date -u -d "$(start_of "$1")" +%s) || return 1
    starts_began=$(date -u -d "$(root get job "job-$3" -o json |
        jq -r .status.startTime)" +%s)
    starts_late=$((starts_at - starts_began - $2 * 60))
    [ "$starts_late" -gt -60 ] && [ "$starts_late" -lt 60 ]
}

# --- the column START ---------------------------------------------------------
small=$(sub 2 30)
large=$(sub 2 60)
ok "two jobs occupy the node" wait_for 20 state_is "$large" Running
wide=$(sub 4 10)
ok "a waiting job has a node reserved" wait_for 20 cause_is "$wide" .node n1
ok "it starts when the time limits of both are over" \
    wait_for 20 starts_after "$wide" 60 "$large"
next=$(sub 4 10)
ok "the next job starts when the waiting one has ended" \
    wait_for 20 starts_after "$next" 70 "$large"
like "kctl jobs shows the time and the reason" \
    "$(as kilntest1 kctl jobs | grep "^ *$wide ")" \
    ' ([A-Z][a-z]+ +[0-9]+ )?[0-9]+:[0-9]+ +waits for 4 CPUs on n1$'
like "kctl get jobs -o wide has a column START" \
    "$(as kilntest1 kctl get jobs -o wide | head -n 1)" ' START '

# --- the picture --------------------------------------------------------------
chart() { # LOCALE [OPTION]...
    chart_locale=$1
    shift
    LC_ALL=$chart_locale kctl --server "http+unix://$cluster/state/socket" \
        timeline "$@"
}
is_drawn() { chart C | grep -qE -e "$1"; }
ok "the timeline shows the node, a running job and the planned job" \
    wait_for 10 is_drawn "^n1 +4/4 .*\[$small kilntest1 =+\].*\($wide kil"
like "the timeline shows the other running job" \
    "$(chart C)" "\[$large kilntest1 =+\]"
like "its header has now and times" "$(chart C --hours 2 | head -n 1)" \
    '^NODE +CPUS +([0-9]+:[0-9]+ +)?now .* [0-9]+:[0-9]+ '
like "with UTF-8 it uses box-drawing characters" "$(chart C.UTF-8)" \
    "┣$small kilntest1 ━+┫.*┠$wide kil"
unlike "without a terminal it has no colours" "$(chart C)" "$(printf '\033')"
like "CLICOLOR_FORCE turns colours on" "$(CLICOLOR_FORCE=1 chart C)" \
    "$(printf '\033')\[30;48;5;[0-9]+m"
like "another user can see it" "$(as kilntest2 kctl timeline n1)" \
    "$large kilntest1"
ok "no line is wider than the terminal" \
    [ "$(chart C --hours 700 | awk '{ print length($0) }' | sort -n |
        tail -n 1)" -le 100 ]
root timeline --svg "$cluster/chart.svg"
like "--svg draws both jobs" "$(tr '\n' ' ' <"$cluster/chart.svg")" \
    ">$large kilntest1<.*stroke-dasharray.*>$wide kil.*</svg> \$"
root timeline --svg - >"$cluster/again.svg"
ok "--svg - writes to standard output" grep -q '^</svg>' "$cluster/again.svg"
like "a file that cannot be written is reported" \
    "$(root timeline --svg /nowhere/x 2>&1)" '^kctl: timeline: /nowhere/x: No such'
like "a node that does not exist is reported" "$(root timeline n99 2>&1)" \
    'node "n99" not found'
like "an invalid node name is reported" "$(root timeline 'n1&limit=2' 2>&1)" \
    "is not a valid node name"
root apply -f - >/dev/null <<TXT
apiVersion: kiln.hpc/v1
kind: Reservation
metadata: {name: firmware}
spec: {nodes: [n1], start: "$(date -u -d '+5 hours' +%Y-%m-%dT%H:%M:%SZ)",
  duration: 2h, maintenance: true}
TXT
like "a maintenance reservation is hatched" \
    "$(chart C --hours 9)" '[ .]/firmware/+'
root timeline --hours 9 --svg "$cluster/chart.svg"
like "--svg hatches it, too" "$(tr '\n' ' ' <"$cluster/chart.svg")" \
    '<title>maintenance firmware</title><rect [^>]* fill="url\(#reserved\)"'
root delete reservation firmware >/dev/null
root cordon n1 >/dev/null
like "a cordoned node is marked" "$(chart C)" '[ .|](Draining|Drained)'
root uncordon n1 >/dev/null

# --- changes of the expected start --------------------------------------------
root update "$large" time=20 >/dev/null
ok "a changed time limit of a running job changes the start" \
    wait_for 20 starts_after "$wide" 30 "$small"
endless=$(sub 1 unlimited --begin now+1hour)
ok "a job with --begin starts at that time" \
    wait_for 10 starts_after "$endless" 60 "$small"
as kilntest1 kctl cancel "$endless" "$next" "$small" "$large" >/dev/null
ok "the wide job starts" wait_for 20 state_is "$wide" Running
as kilntest1 kctl cancel "$wide" >/dev/null
endless=$(sub 4 unlimited)
ok "a job without a time limit occupies the node" \
    wait_for 20 state_is "$endless" Running
blocked=$(sub 1 10)
ok "for a job that waits for it, an end is assumed" \
    wait_for 20 cause_is "$blocked" .assumed true
like "the assumed start is marked" \
    "$(as kilntest1 kctl jobs | grep "^ *$blocked ")" \
    ' ~[A-Z][a-z]+ +[0-9]+ [0-9]+:[0-9]+ '
is "no node is reserved for it" "$(cause "$blocked" .node)" null
as kilntest1 kctl cancel "$blocked" "$endless" >/dev/null

# --- jobs that would start now ------------------------------------------------
large=$(sub 2 60)
ok "a job occupies half of the node" wait_for 20 state_is "$large" Running
wide=$(sub 4 10)
ok "a wide job has the node reserved" wait_for 20 cause_is "$wide" .node n1
late=$(sub 2 90)
ok "a job that would delay it waits" wait_for 20 cause_is "$late" .code Priority
why=$(as kilntest1 kctl why "$late")
like "kctl why says with which time limit it would start now" "$why" \
    'Sooner: +with a time limit of 0:5[0-9]:00 it would start now, on n1, 1:[0-9:]+ sooner'
like "kctl why says on what the expected start depends" "$why" \
    'By: +the time limits of the running jobs; order SubmissionOrder$'
limit=$(echo "$why" | sed -n 's/.*time limit of \([0-9:]*\) it would.*/\1/p')
short=$(sub 2 "$limit")
ok "a job with that time limit starts" wait_for 20 state_is "$short" Running
as kilntest1 kctl cancel "$short" >/dev/null
tells() { # CPUS WORDS
    as kilntest1 ksub --test-only -c "$1" -t 10 --wrap true | grep -q "$2"
}
ok "ksub --test-only says with how many CPUs a job would start now" \
    wait_for 10 \
    tells 3 '^With 2 CPUs instead of 3 it would start now, on n1'
short=$(sub 2 10)
ok "a job with so many CPUs starts" wait_for 20 state_is "$short" Running
as kilntest1 kctl cancel "$short" "$late" >/dev/null
would() { as kilntest1 kctl why "$1" | grep -q "$2"; }
ok "kctl why says that the wide job would start with less, too" wait_for 10 \
    would "$wide" 'Sooner: *with 2 CPUs instead of 4 it would start now'
is "it says nothing of a job that no node can run" \
    "$(as kilntest1 ksub --test-only -c 99 -t 10 --wrap true 2>&1 |
        grep -c 'start now')" 0
as kilntest1 kctl cancel "$wide" "$large" >/dev/null

# --- the height of a bar is what the job holds --------------------------------
cluster_agent n2 --topology 'package:1 core:4 pu:2' --heartbeat 300ms
wait_for 20 root wait --for condition=Ready node n2
for key in $(root get node n2 -o json | jq -r '.spec.taints[]?.key'); do
    root taint node n2 "$key-" >/dev/null
done
height() { # ID: prints the height of the job's bar, where the node has a height of 83
    root timeline n2 --hours 2 --svg - |
        sed -n "s|.*<title>job $1 .*<rect [^>]* height=\"\([0-9.]*\)\" .*|\1|p"
}
height_is() { [ "$(height "$1")" = "$2" ]; }
half=$(sub 3 60 -w n2)
ok "a job with three threads holds two cores" \
    wait_for 20 height_is "$half" 41.0
alone=$(sub 1 10 -w n2 --exclusive)
# The forecasts take a twentieth of the time, so on a busy machine they are rare.
ok "a waiting job with --exclusive will hold the node" \
    wait_for 60 height_is "$alone" 83.0
threads=$(sub 3 10 -w n2 --threads-per-core 1)
as kilntest1 kctl cancel "$half" >/dev/null
ok "that job starts" wait_for 20 state_is "$alone" Running
ok "its bar has the same height then" height_is "$alone" 83.0
ok "a waiting job with one thread per core will hold both threads" \
    wait_for 60 height_is "$threads" 62.0
as kilntest1 kctl cancel "$alone" >/dev/null
ok "the job with one thread per core starts" \
    wait_for 20 state_is "$threads" Running
ok "its bar has the same height as before" height_is "$threads" 62.0
as kilntest1 kctl cancel "$threads" >/dev/null
finish
