#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's scancel, with real daemons: which jobs it ends, its words and its exit codes as Debian's
# Slurm 22.05 has them

# shellcheck disable=SC2119,SC2317 # a function with optional arguments; functions for others

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
need jq curl
cluster_slurm
cluster_user kilntest1
cluster_user kilntest2
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

# What a user's command says, on one line: "OUT|ERR|STATUS".
says() {
    status=0
    as kilntest1 timeout 60 "$@" >"$cluster/out" 2>"$cluster/err" </dev/null || status=$?
    printf '%s|%s|%s\n' "$(tr '\n' '+' <"$cluster/out")" "$(tr '\n' '+' <"$cluster/err")" "$status"
}
submit() { as kilntest1 sbatch --parsable -t 10 -o /dev/null --wrap 'sleep 500' "$@"; }
state() { admin get job "$1" --no-headers -o jsonpath='{.status.state}'; }
is_cancelled() { [ "$(state "$1")" = Cancelled ]; }

running=$(submit -J 'a b')
held=$(submit -H -J 'x|y')
array=$(submit -a '1-5%2')
other=$(as kilntest2 sbatch --parsable -o /dev/null --wrap 'sleep 500')
wait_for 20 sh -c "[ \"\$(kctl --server http+unix://$cluster/state/socket get job $running \
    -o jsonpath='{.status.state}')\" = Running ]" || bail_out "no job runs"

is "without a job it does nothing" "$(says scancel)" \
    "|scancel: error: No job identification provided+|1"
is "a job that does not exist is no error" "$(says scancel 99999 99998)" "||0"
is "with -v it is told" "$(says scancel -v 99999)" \
    "|scancel: Terminating job 99999+scancel: error: Kill job error on job id 99999: Invalid job id specified+|0"
is "nor is a task of a job that is no array" "$(says scancel "${held}_9")" "||0"
is "a word that is no job" "$(says scancel abc)" "|scancel: error: Invalid job id abc+|1"
is "a task that is no number" "$(says scancel "${array}_x")" \
    "|scancel: error: Invalid job id ${array}_x+|1"
is "a step, for jobs have none" "$(says scancel "$running.0")" \
    "|scancel: error: Kill job error on job step id $running.0: Invalid job id specified+|225"
is "a user who does not exist" "$(says scancel -u nosuch)" \
    "|scancel: error: Invalid user name: nosuch+|1"
is "a state that does not exist" "$(says scancel -t XX)" \
    "|Invalid job state specified: XX+Valid job states are PENDING, RUNNING, and SUSPENDED+|1"
is "an unknown signal" "$(says scancel -s FOO "$running")" "|Unknown job signal: FOO+|1"

# ---- Signals ----
written() { as kilntest1 kctl logs "$signalled" | grep -c "$1"; }
has_written() { [ "$(written script) $(written child)" = "$1 $2" ]; }
signalled=$(as kilntest1 sbatch --parsable -t 10 <<'SCRIPT'
#!/bin/sh
trap 'echo script' USR1
sh -c 'trap "echo child" USR1; echo ready; while :; do sleep 0.1; done' &
while :; do wait; done
SCRIPT
)
has_begun() { as kilntest1 kctl logs "$signalled" 2>/dev/null | grep -q ready; }
signalled_runs() { [ "$(state "$signalled")" = Running ]; }
ok "a job that handles signals runs" wait_for 60 has_begun
ok "and its state says so" wait_for 60 signalled_runs
is "a signal to what the script has started" "$(says scancel -s USR1 "$signalled")" "||0"
ok "comes there, and not to the script" wait_for 20 has_written 0 1
is "a signal to the script" "$(says scancel -v -b -s SIGUSR1 "$signalled")" \
    "|scancel: Signal 10 to batch job $signalled+|0"
ok "comes there, and to nothing else" wait_for 20 has_written 1 1
is "a signal to both" "$(says scancel -f -s 10 "$signalled")" "||0"
ok "comes to both" wait_for 20 has_written 2 2
is "by kctl" "$(says kctl signal --signal USR1 --script "$signalled")" \
    "job/$signalled signal USR1 sent+||0"
ok "it comes, too" wait_for 20 has_written 3 2
stop n1 KILL
is "a signal while the agent is away" "$(says scancel -b -s USR1 "$signalled")" "||0"
cluster_agent n1 --topology 'package:2 core:4 pu:1'
ok "comes when it is back, and no other comes again" wait_for 40 has_written 4 2
like "a signal that does not exist" "$(says kctl signal --signal FOO "$signalled")" \
    "'FOO' is not a signal.*[1-9]$"
like "a signal in the place of a job is no TERM for the others" \
    "$(says kctl signal USR1 "$signalled")" "USR1 is a signal, not a job; give --signal USR1"
like "a job of another user gets no signal" "$(says kctl signal --signal CONT "$other")" \
    "cannot change it, because it belongs to 'kilntest2'.*[1-9]$"
is "and scancel says so as Slurm does" "$(says scancel -s USR1 "$other")" \
    "|scancel: error: Kill job error on job id $other: Access/permission denied+|210"
is "a job that waits gets no signal" "$(says scancel -s USR1 "$held")" \
    "|scancel: error: Kill job error on job id $held: Job is pending execution+|1"
like "and kctl says why" "$(says kctl signal "$held")" "does not run, and only running jobs"
is_task_running() { as kilntest1 kctl get job "${array}_1" --no-headers | grep -q Running; }
ok "a task of an array runs" wait_for 60 is_task_running
is "a task gets a signal" "$(says kctl signal --signal CONT "${array}_1")" \
    "job/${array}_1 signal CONT sent to 1 task+||0"
like "a task that waits does not" "$(says kctl signal --signal CONT "${array}_5")" \
    "does not run, and only running jobs"
is "a signal of all jobs says nothing of those that wait" "$(says scancel -s CONT --me)" "||0"
is "TERM as a signal is no order to end: it ends the script" \
    "$(says scancel -b -s TERM "$signalled")" "||0"
has_failed() { [ "$(state "$signalled")" = Failed ]; }
ok "and the job fails by its own exit" wait_for 30 has_failed
is "each signal was sent once" "$(written script) $(written child)" "4 2"
like "a signal to a job that has ended is an error" "$(says scancel -s USR1 "$signalled")" \
    "^\|scancel: error: Kill job error on job id $signalled: Invalid job id specified.*\|1\$"
like "the end of a job that has ended is none" "$(says scancel -v "$signalled")" \
    'Job/step already completing or completed.*\|0$'
is "a job of another user" "$(says scancel "$other")" \
    "|scancel: error: Kill job error on job id $other: Access/permission denied+|210"
is "filters that no job meets" "$(says scancel -v -n nosuch -p all)" \
    "|scancel: error: No active jobs match ALL job filters, including: job_name=nosuch partition=all +|0"
is "-i asks, and no answer is no" "$(says scancel -i "$held")" \
    "Cancel job_id=$held name=x|y partition=all [y/n]? ||0"
is "the job goes on" "$(state "$held")" Held

is "tasks of an array are ended" "$(says scancel -v "${array}_[4-5]")" \
    "|scancel: Terminating job ${array}_[4-5]+|0"
is "a name is exact" "$(says scancel -v -n 'x*')" \
    "|scancel: error: No active jobs match ALL job filters, including: job_name=x* +|0"
is "a name may have any characters; PENDING has the held jobs" \
    "$(says scancel -v --me -t PENDING -n 'x|y')" "|scancel: Terminating job $held+|0"
ok "the held job is cancelled" wait_for 20 is_cancelled "$held"
is "jobs of a node" "$(says scancel -v --me -w n1 -n 'a b')" "|scancel: Terminating job $running+|0"
ok "the running job is cancelled" wait_for 20 is_cancelled "$running"
is "again: it has ended" "$(says scancel -v "$running")" \
    "|scancel: Terminating job $running+scancel: error: Kill job error on job id $running: Job/step already completing or completed+|0"
is "several jobs, a name and another, in one list" "$(says scancel "$array,$held" "$running")" "||0"
ok "the array is cancelled" wait_for 20 is_cancelled "$array"
is "nobody else's job was ended" "$(state "$other")" Running

# --- arrays of which some tasks run --------------------------------------------

# Each task that is not over, with its state: "1R 2R 3PD".
tasks() {
    as kilntest1 squeue -h -r -j "$1" -S K -o '%K%t' | sort -n | paste -sd ' '
}
tasks_are() { [ "$(tasks "$1")" = "$2" ]; }
array=$(submit -a '1-6%2')
ok "two tasks of an array run" wait_for 20 tasks_are "$array" "1R 2R 3PD 4PD 5PD 6PD"
is "two of its tasks and a filter" "$(says scancel -v -u kilntest1 "${array}_5" "${array}_6")" \
    "|scancel: Terminating job ${array}_[5-6]+|0"
is "PENDING means the tasks that wait" "$(says scancel -v -t PENDING "$array")" \
    "|scancel: Terminating job ${array}_[3-4]+|0"
is "...and no others" "$(tasks "$array")" "1R 2R"
other_array=$(submit -a '1-4%1')
ok "one task of another runs" wait_for 20 tasks_are "$other_array" "1R 2PD 3PD 4PD"
is "RUNNING means the tasks that run, of tasks that are named, too" \
    "$(says scancel -v -t RUNNING "${other_array}_[1-3]" "${array}_2" |
        sed "s/job ${array}_2+/A+/;s/job ${other_array}_1+/B+/;s/A+scancel: Terminating B+/B+scancel: Terminating A+/")" \
    "|scancel: Terminating B+scancel: Terminating A+|0"
ok "...and no others: the next task starts" wait_for 20 tasks_are "$other_array" "2R 3PD 4PD"
ok "...and one of the first array goes on" wait_for 20 tasks_are "$array" "1R"
is "a node means the tasks that run there" "$(says scancel -v --me -w 'n[1,7]' "$other_array")" \
    "|scancel: Terminating job ${other_array}_2+|0"
ok "...and not those that wait" wait_for 20 tasks_are "$other_array" "3R 4PD"
scancel_i() { printf '%s\n' "$@" | as kilntest1 scancel -i -v "$other_array" 2>&1 | tr '\n' '+'; }
like "a long answer is one answer" "$(scancel_i 'no, thank you, y' n y)" '[^T]*$'
is "...and nothing was ended by it" "$(tasks "$other_array")" "3R 4PD"
like "each task is asked for" "$(scancel_i n y)" "Terminating job ${other_array}_"
other_held=$(as kilntest2 sbatch --parsable -H -J both -o /dev/null --wrap 'sleep 500')
own_held=$(submit -H -J both)
is "filters mean one's own jobs" "$(says scancel -v -t PENDING -n both)" \
    "|scancel: Terminating job $own_held+|0"
is "...and other users' jobs stay" "$(state "$other_held")" Held
is "a job that runs by now does not wait any more" \
    "$(curl -s --unix-socket "$cluster/state/socket" -H 'Content-Type: application/json' -d \
        "{\"ids\":\"$other\",\"states\":[\"Pending\"]}" http://localhost/kiln/v1/jobs/cancel |
        jq -r '.jobs[].outcome')" Nothing
is "...and goes on" "$(state "$other")" Running

is "a controller that is away" \
    "$(KILN_SERVER=http://127.0.0.1:1 && export KILN_SERVER && says env KILN_SERVER=$KILN_SERVER scancel 17)" \
    "|scancel: error: Kill job error on job id 17: Unable to contact slurm controller (connect failure)+|8"
finish
