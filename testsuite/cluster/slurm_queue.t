#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's squeue, with real daemons: the output as Debian's Slurm 22.05 has it

# shellcheck disable=SC2016,SC2119,SC2154 # of jobs; cluster.sh

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
need jq
cluster_slurm
cluster_user kilntest1
cluster_user kilntest2
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done
q() { as kilntest1 squeue "$@" 2>&1; }
is_in_state() { [ "$(q -h -t all -j "$1" -o %t | sort -u)" = "$2" ]; }

script=$cluster/a.sh
cat >"$script" <<'S'
#!/bin/sh
sleep 600
S
chmod 755 "$script"
run=$(as kilntest1 sbatch --parsable -J 'a b|c' -c 4 --mem 200 -t 10 --comment 'my note' "$script")
array=$(as kilntest1 sbatch --parsable -J arr -a 1-9:2%2 -t 1:00:00 "$script")
after=$(as kilntest1 sbatch --parsable -J dep -d "afterok:$run" -t 5 "$script")
held=$(as kilntest2 sbatch --parsable -J held -H -t 1-2:03:04 "$script")
later=$(as kilntest1 sbatch --parsable -J later -b now+1hour -t 5 "$script")
fail=$(as kilntest1 sbatch --parsable -J fail -t 5 --wrap 'exit 3')
wait_for 20 is_in_state "$run" R
wait_for 20 is_in_state "$fail" F
wait_for 20 is_in_state "$array" 'PD
R'

is "the default columns are Slurm's" "$(q -j "$run" | sed 's/ 0:[0-9][0-9] / 0:07 /')" \
    "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)
$(printf '%18s' "$run")       all    a b|c kilntest  R       0:07      1 n1"
is "waiting tasks of an array share a line" "$(q -h -j "$array" -o '%i|%t|%K|%R')" \
    "${array}_[5,7,9%2]|PD|5,7,9%2|(JobArrayTaskLimit)
${array}_1|R|1|n1
${array}_3|R|3|n1"
is "another user sees the same" "$(as kilntest2 squeue -h -t all -n arr -S K -o '%i %t' | tr '\n' ';')" \
    "${array}_1 R;${array}_3 R;${array}_[5,7,9%2] PD;"
is "-r has a line for each" "$(q -h -r -j "$array" -S K -o %i | tr '\n' ' ')" \
    "${array}_1 ${array}_3 ${array}_5 ${array}_7 ${array}_9 "
is "a task is found by its name" "$(q -h -j "${array}_7,${array}_3" -o '%i %t' | tr '\n' ' ')" \
    "${array}_7 PD ${array}_3 R "
is "-l has a date, long states and the limit" \
    "$(q -l -j "$held" | sed 1d | tail -n 1 | tr -s ' ')" \
    " $held all held kilntest PENDING 0:00 1-02:04:00 1 (JobHeldUser)"
is "reasons are Slurm's codes" \
    "$(q -h -j "$after,$held,$later" -S i -o '%j=%r' | tr '\n' ' ')" \
    "dep=Dependency held=JobHeldUser later=BeginTime "
is "the fields of a running job" \
    "$(q -h -j "$run" -o '%j,%u,%a,%P,%T,%C,%D,%m,%l,%k,%N,%B,%q,%E,%Z,%z,%X')" \
    "a b|c,kilntest1,default,all,RUNNING,4,1,200M,10:00,my note,n1,n1,normal,(null),$(as kilntest1 pwd),*:*:*,N/A"
is "names, widths and delimiters of -O" \
    "$(q -j "$run" -O "JobID:|,Name:^,State:.9,NumCPUs:3x")" "JOBID|NAME^    STATECPUx
$run|a b|c^  RUNNING4  x"
is "an unusual delimiter" "$(q -h -j "$run" -O "$(printf 'JobID:\037,Name:\037')")" \
    "$(printf '%s\037a b|c\037' "$run")"
is "a job that has ended is not shown" "$(q -h -j "$fail")" ""
is "unless all states are asked for" "$(q -h -t all -j "$fail" -o '%i %t %R')" \
    "$fail F (NonZeroExitCode)"
is "a job that there is not" "$(q -j 4711; echo $?)" \
    "slurm_load_jobs error: Invalid job id specified
1"
is "of several jobs, one that there is not is left out" "$(q -h -j "4711,$run" -o %i; echo $?)" "$run
0"
is "what is no job" "$(q -j abc; echo $?)" "squeue: error: Invalid job id: abc
1"
is "what is no state" "$(q -t foo | head -n 1)" "squeue: error: Invalid job state specified: foo"
is "an unknown field is said, and the rest is shown" "$(q -h -j "$run" -O foo,JobID:)" \
    "squeue: error: Invalid job format specification: foo
$run"
is "selected by user" "$(q -h -u kilntest2 -o %i)" "$held"
is "and by uid" "$(q -h -u 1002 -o %i)" "$held"
is "--me" "$(as kilntest2 squeue -h --me -o %i)" "$held"
is "selected by name, state and node" "$(q -h -n 'a b|c,held' -t R -w n1 -o %i)" "$run"
is "another node has none" "$(q -h -w 'n[2-3]')" ""
is "the order is chosen" "$(q -h -S -j -n dep,held,later -o %j | tr '\n' ' ')" "later held dep "
is "-s shows the steps of running jobs" "$(q -h -s -j "$run" -o '%i %j %N')" \
    "$run.batch batch n1
$run.extern extern n1"
is "one of them" "$(q -h "-s$run.batch" -o %i)" "$run.batch"
is "--start shows when the job may begin" "$(q -h --start -j "$later" -O StartTime: | cut -c1-13)" \
    "$(date -d '+1 hour' +%Y-%m-%dT%H)"
is "times have the form of SLURM_TIME_FORMAT" \
    "$(as kilntest1 env SLURM_TIME_FORMAT=%Y squeue -h -j "$run" -o '%V %S')" "$(date +%Y) $(date +%Y)"
is "SQUEUE_FORMAT" "$(as kilntest1 env SQUEUE_FORMAT=%i/%j squeue -h -j "$run")" "$run/a b|c"
is "-M takes this cluster's name" "$(q -M test -o %i -j "$run" | head -n 1; q -h -M test -j "$run" -o %i; q -M all -h -j "$run" -o %i | tail -n 1)" \
    "CLUSTER: test
$run
$run"
like "and no other" "$(q -M moon)" "squeue: error: No cluster 'moon' known by database."
is "JSON has Slurm's shape" \
    "$(q --json -j "$run" | jq -r '.meta.Slurm.release, (.jobs[] | .job_id, .job_state, .name, .cpus, .time_limit, .nodes)' | tr '\n' ' ')" \
    "22.05.8 $run RUNNING a b|c 4 10 n1 "

# Names of other people must not look like lines of their own.
evil=$(as kilntest1 sbatch --parsable -H -J "$(printf 'x\n999 R\033[1m')" "$script")
is "a name with a newline makes one line" "$(q -h -j "$evil" -o '%i %j|')" "$evil x?999 R?[1m|"
is "a name of Unicode is whole" \
    "$(u=$(as kilntest1 sbatch --parsable -H -J 'größe €' "$script"); q -h -j "$u" -o '%j|%.4j|')" \
    "größe €|grö|"

# As tools ask and read.
is "Nextflow" "$(q --noheader -o '%i %t' -t all -u kilntest1 | grep -c "^$fail F\$")" 1
is "aiida" "$(as kilntest1 env SLURM_TIME_FORMAT=standard squeue --noheader \
    -o '%i^^^%t^^^%r^^^%B^^^%u^^^%D^^^%C^^^%R^^^%P^^^%l^^^%j' "--jobs=$run,$run")" \
    "$run^^^R^^^None^^^n1^^^kilntest1^^^1^^^4^^^n1^^^all^^^10:00^^^a b|c"
is "batchtools" "$(q --user=kilntest1 --states=R,S,CG,RS,SI,SO,ST --noheader --format=%i -r -n arr | tr '\n' ' ')" \
    "${array}_1 ${array}_3 "
is "psij" "$(q --me -o %i -h -r -t all -n arr | wc -l)" 5
is "fireworks" "$(q -o %u -u kilntest2 -h | wc -l)" 1

d=$(printf '\037')
f=
for name in Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature \
    ArrayJobID GroupName GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment \
    ArrayTaskID TimeLimit TimeLeft MinMemory TimeUsed ReqNodes NodeList Command Contiguous QOS \
    Partition PriorityLong Reason StartTime StateCompact State UserName UserID Reservation \
    SubmitTime wckey Licenses CoreSpec Nice SchedNodes SCT WorkDir gres; do
    f=$f${f:+,}$name:$d
done
is "Open OnDemand's fields are all there" \
    "$(q --all --states=all --noconvert -O "$f" -h -j "$run" | tr -cd '\037' | wc -c)" 48
is "and their values in their places" \
    "$(q --all --states=all --noconvert -O "$f" -h -j "$run" | cut -d "$d" -f 1,2,18,22,24,35,37 | tr '\037' ';')" \
    "default;$run;a b|c;10:00;200M;R;kilntest1"

# sinfo: n1 has jobs, n2 none, and n3 is drained
cluster_agent n2 --topology 'package:1 core:4 pu:2'
cluster_agent n3 --topology 'package:1 core:4 pu:2'
wait_for 20 admin wait --for condition=Ready node n2 n3 || bail_out "no nodes"
for n in n2 n3; do
    for key in $(admin get node "$n" -o json | jq -r '.spec.taints[]?.key'); do
        admin taint node "$n" "$key-" >/dev/null
    done
done
admin label node n3 kiln.hpc/partition=gpu >/dev/null
admin apply -f - >/dev/null <<'Y'
{"apiVersion": "kiln.hpc/v1", "kind": "Partition", "metadata": {"name": "gpu"},
 "spec": {"maximumTime": "2-00:00:00", "selector": {"matchLabels": {"kiln.hpc/partition": "gpu"}}}}
Y
admin drain n3 --reason 'bad disk, see ticket' >/dev/null
i() { as kilntest1 sinfo "$@" 2>&1; }
has_nodes() { [ "$(i -h -p all -o %D:%t -S -t | tr '\n' ' ')" = '1:drain 1:mix 1:idle ' ]; }
wait_for 20 has_nodes
is "sinfo has Slurm's columns" "$(i)" \
    "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
all*         up   infinite      1  drain n3
all*         up   infinite      1    mix n1
all*         up   infinite      1   idle n2
gpu          up 2-00:00:00      1  drain n3"
is "-s" "$(i -s)" "PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST
all*         up   infinite          1/1/1/3 n[1-3]
gpu          up 2-00:00:00          0/0/1/1 n3"
is "-N" "$(i -N)" "NODELIST   NODES PARTITION STATE 
n1             1      all* mix   
n2             1      all* idle  
n3             1      all* drain 
n3             1       gpu drain "
is "-l" "$(i -l -p gpu | sed 1d)" \
    "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE NODELIST
gpu          up 2-00:00:00 1-infinite   no       NO        all      1     drained n3"
is "-R says why nodes take no jobs" "$(i -R | sed 's/ 20[0-9T:-]* / T /')" \
    "REASON               USER      TIMESTAMP           NODELIST
bad disk, see ticket root      T n3"
is "a partition without such nodes" "$(i -h -p gpu -t alloc)" \
    "gpu          up 2-00:00:00      0    n/a "
is "partitions, as snakemake asks" "$(i -o %P)" "PARTITION
all*
gpu"
is "counts, as Open OnDemand asks" "$(i -aho %F/%C)" "1/1/1/3/6/10/8/24"
is "shapes" "$(i -h -N -n 'n[1-2]' -o '%n %c %m %z %f %G')" "n1 8 1024 2:4:1 (null) (null)
n2 8 1024 1:4:2 (null) (null)"
is "as an exporter asks" "$(i -h -N -O NodeList:3,AllocMem:4,CPUsState:12,StateLong:8)" \
    "n1 200 6/2/0/8     mixed   
n2 0   0/8/0/8     idle    
n3 0   0/0/8/8     drained "
is "nodes that are alike have one line" "$(i -h -o %N,%c)" "n[1-3],8"
is "what is no state of nodes" "$(i -t foo | head -n 1)" 'sinfo: error: Bad state string: "foo"'
is "nodes as JSON" \
    "$(i --json | jq -c '.nodes[2] | [.name, .state, .state_flags, .reason, .cpus]')" \
    '["n3","idle",["DRAIN"],"bad disk, see ticket",8]'
counted() { as kilntest1 sdiag | grep -q '^Jobs running: *[1-9]'; }
wait_for 20 counted
# Jobs may start between the two answers.
counts_agree() {
    [ "$(as kilntest1 sdiag --json | jq -c '.statistics | [.jobs_pending, .jobs_running]')" = \
        "$(as kilntest1 sdiag | sed -n 's/^Jobs pending: *//p; s/^Jobs running: *//p' | jq -sc .)" ]
}
ok "sdiag counts jobs, as JSON, too" wait_for 20 counts_agree
like "some wait and some run" "$(as kilntest1 sdiag | grep '^Jobs [pr]' | tr -s ' \n' ' ')" \
    "^Jobs pending: [1-9][0-9]* Jobs running: [1-9]"
stop n2 KILL
is_silent() { [ "$(i -h -n n2 -p all -o '%t %T')" = 'down* down*' ]; }
wait_for 90 is_silent
is "a node that does not respond" "$(i -h -d -o '%N %t %O')" "n2 down* N/A"

# A job that is requeued between two calls is never gone, and no call shows it twice.
again=$(as kilntest1 sbatch --parsable -J again --requeue -p all -t 5 "$script")
wait_for 20 is_in_state "$again" R
asks() { # prints what several calls show of the job
    asks_left=40
    while [ "$asks_left" -gt 0 ]; do
        asks_left=$((asks_left - 1))
        q -h -t all -j "$again" -o %i
        as kilntest1 sacct -X -n -P -j "$again" -o jobid
    done | sort | uniq -c | tr -s ' '
}
asks >"$cluster/asks" &
asking=$!
was_restarted() { [ "$(q -h -j "$again" -O RestartCnt:) $(q -h -j "$again" -o %t)" = "$1 R" ]; }
for n in 1 2 3; do
    as kilntest1 scontrol requeue "$again"
    wait_for 20 was_restarted "$n"
done
wait "$asking"
is "a job that is requeued meanwhile is in each answer, once" "$(cat "$cluster/asks")" " 80 $again"
ok "and was restarted" was_restarted 3
has_runs() { [ "$(as kilntest1 sacct -D -X -n -P -j "$again" -o state | grep -c REQUEUED)" = 3 ]; }
wait_for 20 has_runs
is "all its runs are in sacct -D, the last one without" \
    "$(as kilntest1 sacct -D -X -n -P -j "$again" -o state | tr '\n' ' '
    as kilntest1 sacct -X -n -P -j "$again" -o state)" \
    "REQUEUED REQUEUED REQUEUED RUNNING RUNNING"

# What rows are sorted by is asked for, also if it is not shown.
late=$(as kilntest1 sbatch --parsable -H -J sorted --comment b -d "afterany:$again" --wrap true)
early=$(as kilntest1 sbatch --parsable -H -J sorted --comment a --wrap true)
sorted() { as kilntest1 squeue -h -t PD -S "$1" -o %i | grep -x -e "$late" -e "$early" | tr '\n' ' '; }
is "-S by a comment that is not shown" "$(sorted k)" "$early $late "
is "... by a dependency" "$(sorted E)" "$early $late "
is "... by a dependency, the other way round" "$(sorted -E)" "$late $early "

# Settings of another Slurm on the machine mean nothing here, and do not reach jobs.
is "SLURM_CONF of a user is not read" \
    "$(as kilntest1 env SLURM_CONF=/nowhere squeue -h -j "$again" -o %i)" "$again"
as kilntest1 env SLURM_CONF=/nowhere sbatch -Q -W -o conf.out \
    --wrap 'echo "${SLURM_CONF-none}"; squeue -h -j $SLURM_JOB_ID -o %j; command -v squeue' >/dev/null
is "and a job has Kiln's commands, without it" \
    "$(as kilntest1 cat conf.out | sed "s|$cluster||" | tr '\n' ' ')" "none wrap /bin/slurm/squeue "
finish
