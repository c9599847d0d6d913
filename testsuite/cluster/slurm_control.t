#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's scontrol, with real daemons: its words, its exit codes and its records as Debian's Slurm
# 22.05 has them; and Slurm's commands inside of jobs

# shellcheck disable=SC2016 # what the user's shell expands

# shellcheck disable=SC2119,SC2317 # a function with optional arguments; functions for others

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
need jq
cluster_slurm
cluster_user kilntest1
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:2 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
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
is_in() { [ "$(state "$1")" = "$2" ]; }

# --- host lists, which ask nobody ---------------------------------------------

is "hostnames" "$(says scontrol show hostnames 'n[1-3,7],m2')" "n1+n2+n3+n7+m2+||0"
is "of two numbers" "$(says scontrol show hostnames 'r[1-2]n[01-02]')" "r1n01+r1n02+r2n01+r2n02+||0"
is "of the job that it is called in" "$(says env SLURM_NODELIST='n[8-9]' scontrol show hostnames)" \
    "n8+n9+||0"
is "without a list" "$(says scontrol show hostnames)" "|scontrol: error: host list is empty+|0"
is "hostlist" "$(says scontrol show hostlist n1,n2,n3,m1)" "n[1-3],m1+||0"
is "in its order" "$(says scontrol show hostlist n3,n1)" "n[3,1]+||0"
is "sorted" "$(says scontrol show hostlistsorted n3,n1,n2)" "n[1-3]+||0"
is "zeros stay" "$(says scontrol show hostlist n01,n02,n1)" "n[01-02,1]+||0"
like "a list that is none" "$(says scontrol show hostnames 'n[3')" 'Invalid hostlist.*\|1$'

# --- small keywords -----------------------------------------------------------

like "version" "$(says scontrol version)" '^slurm 22\.05\.8 \(kiln .*\|\|0$'
like "ping" "$(says scontrol ping)" '^Slurmctld\(primary\) at .* is UP\+\|\|0$'
like "ping of a controller that is away" "$(says env KILN_SERVER=http://127.0.0.1:1 scontrol ping)" \
    '^Slurmctld\(primary\) at .* is DOWN\+\|\|1$'
is "an unknown keyword" "$(says scontrol foo)" "|invalid keyword: foo+|1"
is "an unknown entity" "$(says scontrol show foo)" "|invalid entity:foo for keyword:show +|1"
is "no entity" "$(says scontrol show)" "|too few arguments for keyword:show+|1"
like "reboot is refused" "$(says scontrol reboot n1)" 'does not reboot nodes.*\|1$'
like "commands come from standard input" "$(says sh -c 'printf "version\nquit\nfoo\n" | scontrol')" \
    '^scontrol: slurm 22.*scontrol: \|\|0$'

# --- jobs ---------------------------------------------------------------------

running=$(submit -J 'a b')
held=$(submit -H -J held)
array=$(submit -a '1-5%1')
ended=$(as kilntest1 sbatch --parsable --wait -o /dev/null --wrap 'exit 3' || true)
ok "a job runs" wait_for 20 is_in "$running" Running

is "hold" "$(says scontrol hold "$held" "${array}_4")" "||0"
is "by name" "$(says scontrol hold name=held)" "||0"
is "a job that does not exist" "$(says scontrol hold 9999)" \
    "|Invalid job id specified for job 9999+slurm_suspend error: Invalid job id specified+|1"
is "with -Q it is not told" "$(says scontrol -Q hold 9999)" "||1"
is "a job that has ended" "$(says scontrol hold "$ended")" \
    "|Job has already finished for job $ended+slurm_suspend error: Job has already finished+|1"
is "no job" "$(says scontrol hold)" "|too few arguments for keyword:hold+|1"
is "requeue of a job that waits" "$(says scontrol requeue "$held")" \
    "|Job is pending execution for job $held+|1"
is "suspend is for operators" "$(says scontrol suspend "$running")" \
    "|Access/permission denied for job $running+|1"
is "update" "$(says scontrol update "JobId=$held" TimeLimit=1:00:00 'Comment=two words' Name=other)" "||0"
is "the job has the new values" "$(admin get job "$held" -o json | jq -r '[
    .spec.template.spec.activeDeadlineSeconds, .metadata.annotations["kiln.hpc/job-name"]] | join(" ")')" \
    "3600 other"
is "update in its other form" "$(says scontrol update job "$held" Comment=foo)" "||0"
is "of a field that no job has" "$(says scontrol update "JobId=$held" Foo=5)" \
    "|Update of this parameter is not supported: Foo=5+Request aborted+|1"
like "of a wrong value" "$(says scontrol update "JobId=$held" TimeLimit=abc)" \
    '^\|scontrol: error: Invalid TimeLimit value.*\|1$'
is "of nothing" "$(says scontrol update "JobId=$held")" "|No changes specified+|1"
class() { # NAME VALUE
    printf '{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "%s"},
        "value": %s}\n' "$1" "$2" | admin apply -f - >/dev/null
}
class low -10
class urgent 1000
qos() { as kilntest1 squeue -h -j "$held" -o %q; }
is "its QOS" "$(says scontrol update "JobId=$held" QOS=low)" "||0"
is "that is its class now" "$(qos)" low
is "a QOS that does not exist" "$(says scontrol update "JobId=$held" QOS=nosuch)" \
    "|Invalid qos specification for job $held+|1"
is "one that is for others" "$(says scontrol update "JobId=$held" QOS=urgent)" \
    "|Invalid qos specification for job $held+|1"
is "nothing of these has changed it" "$(qos)" low
is "no QOS of its own" "$(says scontrol update "JobId=$held" QOS=normal)" "||0"
is "that is no class" "$(qos)" normal
is "a QOS of a job that runs" "$(says scontrol update "JobId=$running" QOS=low)" \
    "|Job is no longer pending execution for job $running+|1"
like "a QOS is a priority" "$(as kilntest1 kctl update "$held" qos=low priority=low 2>&1)" \
    'either qos or priorityClassName, not both'
like "mail, where there is none" "$(says scontrol update "JobId=$held" MailType=end,fail MailUser=me@x.org)" \
    '^\|scontrol: warning: this cluster sends no mail .*\|0$'
like "the job has it all the same" "$(as kilntest1 scontrol show job "$held")" \
    '   MailUser=me@x.org MailType=END,FAIL'
like "of a job that runs, too" "$(says scontrol update "JobId=$running" MailType=END)" '\|0$'
like "a mail address that is none" "$(says scontrol update "JobId=$held" MailUser=-x)" \
    'Invalid MailUser value: .*is not an address.*\|1$'
is "no more mail" "$(says scontrol update "JobId=$held" MailType=NONE)" "||0"
like "a directory that is relative" "$(says scontrol update "JobId=$held" WorkDir=here)" \
    'Invalid WorkDir value: .*begins with /+.*\|1$'
is "Nice lowers the priority" "$(says scontrol update "JobId=$held" Nice=100) $(as kilntest1 squeue -h -j "$held" -o %y)" \
    "||0 100"
is "the owner takes it back" "$(says scontrol update "JobId=$held" Nice=0) $(as kilntest1 squeue -h -j "$held" -o %y)" \
    "||0 0"
is "a negative one is for operators" "$(says scontrol update "JobId=$held" Nice=-1)" \
    "|Access/permission denied for job $held+|1"
is "the number of nodes and the account that it has are no change" \
    "$(says scontrol update "JobId=$held" NumNodes=1-1 Account=default)" "||0"
like "not of a job that does not exist" "$(says scontrol update JobId=999999 NumNodes=1)" \
    '^\|Invalid job id specified for job 999999\+\|1$'
for field in Account=a Licenses=a MinCPUsNode=2 NumNodes=2 OverSubscribe=yes Switches=1 TimeMin=5; do
    like "so does ${field%%=*}" "$(says scontrol update "JobId=$held" "$field")" \
        "^\\|Update of this parameter is not supported: $field\\+scontrol: error: .*\\|1\$"
done
moved=$(as kilntest1 sbatch --parsable -H -t 10 --wrap pwd)
directory "$cluster/home/kilntest1/moved" 755
chown kilntest1: "$cluster/home/kilntest1/moved"
is "a directory" "$(says scontrol update "JobId=$moved" "WorkDir=$cluster/home/kilntest1/moved")" "||0"
as kilntest1 scontrol release "$moved"
ok "it runs" wait_for 30 is_in "$moved" Completed
is "in that directory" "$(cat "$cluster/home/kilntest1/moved/slurm-$moved.out")" \
    "$cluster/home/kilntest1/moved"
is "a QOS of sacct that does not exist" "$(says sacct -q normal,nosuch)" \
    "|sacct: error: You gave a bad qos 'nosuch'. Valid QOS's are normal,low,urgent+sacct: fatal: problem processing qos list+|1"
like "one that does" "$(says sacct -X -q low)" '\|\|0$'
is "to a partition that does not exist" "$(says scontrol update "JobId=$held" Partition=nope)" \
    "|Invalid partition name specified for job $held+|1"
is "a longer time of a job that runs" "$(says scontrol update "JobId=$running" TimeLimit=50)" \
    "|Access/permission denied for job $running+|1"
is "the throttle of an array" "$(says scontrol update "JobId=$array" ArrayTaskThrottle=2)" "||0"
is "the script of a job" "$(says scontrol write batch_script "$running" -)" \
    "#!/bin/sh+# Made by sbatch --wrap.++sleep 500+||0"
is "into a file" "$(says scontrol write batch_script "$running")" \
    "batch script for job $running written to slurm-$running.sh+||0"
is "of a job that does not exist" "$(says scontrol write batch_script 9999 -)" \
    "|job script retrieval failed: Invalid job id specified+|1"
is "wait_job" "$(says scontrol wait_job "$running")" "|scontrol: Nodes are ready for job $running+|0"
is "of a job that does not exist" "$(says scontrol wait_job 9999)" \
    "|scontrol: Problem running job 9999+|1"
is "release" "$(says scontrol release "$held")" "||0"
ok "the job runs" wait_for 20 is_in "$held" Running
is "requeuehold" "$(says scontrol requeuehold "$running")" "||0"
ok "the job is held" wait_for 20 is_in "$running" Held

# --- records ------------------------------------------------------------------

# The keys of a record of Debian's Slurm 22.05, in their order.
keys() { as kilntest1 scontrol -o show "$@" | sed -n 1p | tr ' ' '\n' | sed -n 's/=.*//p' | tr '\n' ' '; }
shown=$(submit -J 'one|two' --comment 'a note' -n 2 -c 2 --mem=64)
ok "it runs" wait_for 20 is_in "$shown" Running
is "a job has every key in its place" "$(keys job "$shown")" "JobId JobName UserId GroupId MCS_label \
Priority Nice Account QOS JobState Reason Dependency Requeue Restarts BatchFlag Reboot ExitCode \
RunTime TimeLimit TimeMin SubmitTime EligibleTime AccrueTime StartTime EndTime Deadline SuspendTime \
SecsPreSuspend LastSchedEval Scheduler Partition AllocNode:Sid ReqNodeList ExcNodeList NodeList BatchHost \
NumNodes NumCPUs NumTasks CPUs/Task ReqB:S:C:T TRES Socks/Node NtasksPerN:B:S:C CoreSpec MinCPUsNode \
MinMemoryNode MinTmpDiskNode Features DelayBoot OverSubscribe Contiguous Licenses Network Command WorkDir \
Comment StdErr StdIn StdOut Power "
record=$(as kilntest1 scontrol show job "$shown")
has() { # WHAT LINE
    is "$1" "$(printf '%s\n' "$record" | grep -cxF -e "$2")" 1
}
has "the first line" "JobId=$shown JobName=one|two"
has "the user" "   UserId=kilntest1($(id -u kilntest1)) GroupId=kilntest1($(id -g kilntest1)) MCS_label=N/A"
has "the state" "   JobState=RUNNING Reason=None Dependency=(null)"
has "CPUs" "   NumNodes=1 NumCPUs=4 NumTasks=2 CPUs/Task=2 ReqB:S:C:T=0:0:*:*"
has "TRES" "   TRES=cpu=4,mem=64M,node=1,billing=4"
has "nodes that were asked for" "   ReqNodeList=(null) ExcNodeList=(null)"
has "the directory" "   WorkDir=$cluster/home/kilntest1"
has "the comment" "   Comment=a note "
has "the output" "   StdOut=/dev/null"
# Options that a job keeps are shown where Slurm has them; testsuite/slurm has each alone.
kept=$(submit -H -b now+2hours --deadline now+5hours --tmp 1500M --threads-per-core 1 \
    --mail-type TIME_LIMIT,FAIL,BEGIN --mail-user a@example.org 2>/dev/null)
record=$(as kilntest1 scontrol show job "$kept")
has "threads of each core" "   NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:1"
has "room on the node's disk" "   MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=1500M"
has "mail, in Slurm's order" "   MailUser=a@example.org MailType=BEGIN,FAIL,TIME_LIMIT"
begin=$(date -d "$(admin get job "$kept" -o jsonpath='{.spec.beginTime}')" +%FT%T)
end=$(date -d "$(date -d "$begin" +%F\ %T) 10 minutes" +%FT%T)
deadline=$(date -d "$(admin get job "$kept" -o jsonpath='{.spec.deadline}')" +%FT%T)
has "a held job starts at its time at the earliest" "   StartTime=$begin EndTime=$end Deadline=$deadline"
like "and is eligible then" "$record" "EligibleTime=$begin"
like "when it was last looked at is not known" "$record" "LastSchedEval=Unknown"
has "but is in no queue" "   AccrueTime=Unknown"
record=$(as kilntest1 scontrol show job "$(submit -H --gpus 2 2>/dev/null)")
has "GPUs are those of each node" "   TresPerNode=gres:gpu:2"
is "nobody asked for mail" "$(printf '%s\n' "$record" | grep -c Mail)" 0
record=$(as kilntest1 scontrol show job "$(submit -H -N 2 --switches 1@5 --mail-type end 2>/dev/null)")
has "switches" "   Switches=1@00:05:00"
has "mail to the user" "   MailUser=kilntest1 MailType=END"
record=$(as kilntest1 scontrol show job "$shown")
like "with -d it has more" "$(as kilntest1 scontrol -d show job "$shown")" 'DerivedExitCode=0:0'
record=$(as kilntest1 scontrol show job "${array}_5")
has "a task" "JobId=$array ArrayJobId=$array ArrayTaskId=5 ArrayTaskThrottle=2 JobName=wrap"
record=$(as kilntest1 scontrol show jobid="$ended")
has "a job that has ended" "   Requeue=0 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=3:0"
is "a task that does not exist" "$(says scontrol show job "${array}_77")" "Job ${array}_77 not found+||1"
is "a job that does not exist" "$(says scontrol show job 9999)" \
    "|slurm_load_jobs error: Invalid job id specified+|1"
is "a word that is no job" "$(says scontrol show job abc)" \
    "|scontrol_print_job error: Invalid job id specified+|1"
like "no value makes a line" "$(says sh -c 'scontrol show job $(sbatch --parsable -H \
    --comment "a
JobId=7" --wrap true) | grep -c ^JobId')" '^1\+'
is "a node has every key in its place" "$(keys node n1)" "NodeName Arch CoresPerSocket CPUAlloc CPUEfctv \
CPUTot CPULoad AvailableFeatures ActiveFeatures Gres NodeAddr NodeHostName Port Version OS RealMemory AllocMem \
FreeMem Sockets Boards State ThreadsPerCore TmpDisk Weight Owner MCS_label Partitions BootTime \
SlurmdStartTime LastBusyTime CfgTRES AllocTRES CapWatts CurrentWatts AveWatts ExtSensorsJoules \
ExtSensorsWatts ExtSensorsTemp "
like "its shape" "$(as kilntest1 scontrol -o show node=n1)" \
    'CoresPerSocket=4 .* CPUTot=8 .* Sockets=2 .* State=MIXED ThreadsPerCore=1 .*CfgTRES=cpu=8,mem=1G'
admin drain n1 --reason 'new fan' >/dev/null
like "a node that is drained" "$(as kilntest1 scontrol -o show node)" \
    ' State=MIXED\+DRAIN .* Reason=new fan \[root@20[0-9-]+T[0-9:]+\]$'
admin uncordon n1 >/dev/null
is "a node that does not exist" "$(says scontrol show node nope)" "Node nope not found+||1"
is "a partition has every key in its place" "$(keys partition)" "PartitionName AllowGroups AllowAccounts \
AllowQos AllocNodes Default QoS DefaultTime DisableRootJobs ExclusiveUser GraceTime Hidden MaxNodes MaxTime \
MinNodes LLN MaxCPUsPerNode Nodes PriorityJobFactor PriorityTier RootOnly ReqResv OverSubscribe \
OverTimeLimit PreemptMode State TotalCPUs TotalNodes SelectTypeParameters JobDefaults DefMemPerNode \
MaxMemPerNode TRES "
is "a partition that does not exist" "$(says scontrol show part nope)" "Partition nope not found+||1"
is "no reservations" "$(says scontrol show res)" "No reservations in the system+||0"
admin reserve course --nodes n1 --start 'tomorrow 09:00' --duration 3h --users kilntest1 >/dev/null
is_planned() { as kilntest1 scontrol -o show res "$1" | grep -q ' EndTime=20.* Nodes=n1 '; }
ok "its times and nodes are known a moment later" wait_for 20 is_planned course
like "a reservation" "$(as kilntest1 scontrol -o show reservation course)" \
    '^ReservationName=course StartTime=.*T09:00:00 EndTime=.*T12:00:00 Duration=03:00:00 Nodes=n1 .*Users=kilntest1 '
admin delete reservation course >/dev/null
config=$(as kilntest1 scontrol show config)
like "the configuration has what tools read" "$config" 'MinJobAge  *= 300 sec'
like "and the limit of the site" "$config" 'MaxArraySize  *= [1-9][0-9]+'
is "a controller that is away" "$(says env KILN_SERVER=http://127.0.0.1:1 scontrol show job 1)" \
    "|slurm_load_jobs error: Unable to contact slurm controller (connect failure)+|1"

# --- nodes, partitions and reservations ---------------------------------------

operator() { (KILN_SERVER=http+unix://$cluster/state/socket && export KILN_SERVER && says_here "$@"); }
says_here() {
    status=0
    timeout 60 "$@" >"$cluster/out" 2>"$cluster/err" </dev/null || status=$?
    printf '%s|%s|%s\n' "$(tr '\n' '+' <"$cluster/out")" "$(tr '\n' '+' <"$cluster/err")" "$status"
}
is "a node is drained by operators" "$(says scontrol update NodeName=n1 State=DRAIN Reason=x)" \
    "|slurm_update error: Invalid user id+|1"
is "with a reason" "$(operator scontrol update NodeName=n1 State=DRAIN)" \
    "|You must specify a reason when DOWNING or DRAINING a node. Request denied+|1"
is "update of a node" "$(operator scontrol update NodeName=n1 State=DRAIN Reason='bad fan')" "||0"
like "it is drained" "$(as kilntest1 scontrol -o show node n1)" 'DRAIN.*Reason=bad fan '
is "and resumed" "$(operator scontrol update NodeName=n1 State=RESUME)" "||0"
unlike "it takes jobs again" "$(as kilntest1 scontrol -o show node n1)" 'DRAIN'
is "a node that does not exist" "$(operator scontrol update NodeName=n9 State=RESUME)" \
    "|slurm_update error: Invalid node name specified+|1"
is "update of a partition" \
    "$(operator scontrol update PartitionName=all MaxTime=2-00:00:00 State=DRAIN)" "||0"
like "it has the values" "$(as kilntest1 scontrol -o show part)" 'MaxTime=2-00:00:00 .*State=DRAIN'
is "back again" "$(operator scontrol update PartitionName=all MaxTime=UNLIMITED State=UP)" "||0"
is "a reservation needs a start" "$(operator scontrol create res)" \
    "|scontrol: error: A start time must be given.  No reservation created.+|1"
is "create reservation" "$(operator scontrol create reservation ReservationName=r Users=kilntest1 \
    StartTime=now+1hour Duration=10 Nodes=n1)" "Reservation created: r+||0"
ok "it is planned" wait_for 20 is_planned r
like "it is there" "$(as kilntest1 scontrol -o show res r)" 'Duration=00:10:00 Nodes=n1 '
like "names of a list all have a sign, or none" \
    "$(operator scontrol update ReservationName=r Users=+kilntest2,kilntest1)" \
    "slurm_update error: .*'kilntest1' has no sign: give all names of the list, or each with \\+ or -"
is "users may not change a node" "$(says scontrol update NodeName=n1 Comment=x)" \
    "|slurm_update error: Invalid user id+|1"
like "a feature that cannot be a label is refused" "$(operator scontrol update NodeName=n1 Features=a/b)" \
    'slurm_update error: .*feature.kiln.hpc/a/b'
like "nodes have no weight" "$(operator scontrol update NodeName=n1 Weight=5)" \
    'nodes have no weights: the scheduler takes the nodes on which the least is left over .*Update of this parameter is not supported: Weight=5\+'
like "nor features that are not active" "$(operator scontrol update NodeName=n1 ActiveFeatures=a)" \
    'a node has one list of features, and all of them are active: AvailableFeatures=LIST'
is "users may not delete it" "$(says scontrol delete reservation r)" \
    "|delete_reservation reservation: Invalid user id+|1"
is "delete reservation" "$(operator scontrol delete ReservationName=r)" "||0"
is "again" "$(operator scontrol delete ReservationName=r)" \
    "|delete_reservation ReservationName=r: Requested reservation is invalid+|1"
like "listpids" "$(as kilntest1 scontrol listpids "$shown")" "[0-9]+ +$shown +batch "
KILN_JOB_ID=9998 KILN_ARRAY_TASK_ID=$(printf '1\033[31m') sleep 60 &
liar=$!
is "a process that says what it likes is of none" "$(scontrol listpids 2>/dev/null | grep -c 9998)" 0
kill "$liar"
is "of a job that has none" "$(says scontrol listpids 9999)" \
    "PID      JOBID    STEPID   LOCALID GLOBALID+|There are no steps for job 9999 on node (null).+|1"

# --- sacctmgr and sbcast -------------------------------------------------------

is "sacctmgr shows the accounts of a user" \
    "$(says sacctmgr -nP show users withassoc format=account,qos where user=kilntest1 cluster=test)" \
    "default|normal+||0"
is "in columns" "$(says sacctmgr -n -s list user kilntest1 format=account%12)" "     default +||0"
is "with headings" "$(says sacctmgr -p show assoc format=Cluster,Account,User)" \
    "Cluster|Account|User|+test|default|kilntest1|+||0"
like "it changes nothing" "$(says sacctmgr add user x)" "only 'show' is available.*namespace.*\\|1\$"
is "the resources that are accounted for" "$(says sacctmgr -nP show tres format=type,name,id)" \
    "cpu||1+mem||2+node||4+billing||5+fs|disk|6+gres|gpu|1001+||0"
is "an entity that it does not have" "$(says sacctmgr show foo | sed 's/+.*|/|/')" \
    "|No valid entity in list command|1"
echo text >"$cluster/home/kilntest1/source"
is "sbcast copies a file" "$(says env SLURM_JOB_ID=1 sbcast source copy)" "||0"
is "it is the same" "$(cat "$cluster/home/kilntest1/copy")" text
is "it replaces no file" "$(says env SLURM_JOB_ID=1 sbcast source copy)" \
    "|sbcast: error: REQUEST_FILE_BCAST(localhost): File exists+|17"
is "unless it is told to" "$(says env SLURM_JOB_ID=1 sbcast -f source copy)" "||0"
is "no file of that name" "$(says env SLURM_JOB_ID=1 sbcast nosuch other)" \
    "|sbcast: error: Can't open \`nosuch\`: No such file or directory+|255"
is "a name is missing" "$(says env SLURM_JOB_ID=1 sbcast source)" \
    '|Need two file names, have 1 names+Try "sbcast --help" for more information+|1'
is "outside of a job" "$(says sbcast source other)" \
    "|sbcast: error: Need a job id to run this command.  Run from within a Slurm job+|1"
like "a job that is none" "$(says env SLURM_JOB_ID=1 sbcast -j 9999 source other)" \
    '^\|sbcast: error: Job 9999: .*\|1$'
wanted=$(submit)
does_run() { [ "$(state "$wanted")" = Running ]; }
wait_for 30 does_run
into() { rm -f "$cluster/home/kilntest1/there"; [ "$(says sbcast -j "$wanted" source there)" = "||0" ]; }
ok "another job" wait_for 20 into || note "$(cat "$cluster/err")"
is "... gets the file" "$(cat "$cluster/home/kilntest1/there")" "$(cat "$cluster/home/kilntest1/source")"
admin cancel "$wanted" >/dev/null
for command in sattach sreport strigger sview; do
    like "$command says what to use instead" "$(says "$cluster/bin/kiln-slurm" "$command" x)" \
        "^\\|$command: error: Kiln has no .*\\|1\$"
done

# --- inside of a job ----------------------------------------------------------

as kilntest1 sbatch -Q -W -o "inside.out" --wrap 'scontrol show hostnames
scontrol version; command -v sbatch; squeue -h -j "$SLURM_JOB_ID" -o %T; sbatch --parsable -H --wrap "command -v scancel"
command -v srun; scancel "$SLURM_JOB_ID"; sleep 60'
inside=$(cat "$cluster/home/kilntest1/inside.out")
like "a job finds Slurm's commands, and its own node by them" "$(echo "$inside" | tr '\n' '+')" \
    "^n1\\+slurm 22.*\\+$cluster/bin/slurm/sbatch\\+(RUNNING|CONFIGURING)\\+[0-9]+(\\+|\$)"
like "and srun" "$(echo "$inside" | tr '\n' '+')" "\\+$cluster/bin/slurm/srun\\+"
is "a job of ksub does not have them" "$(as kilntest1 ksub -Q -t 5 --wait --export NONE --no-sbatch -o plain.out \
    --wrap 'echo "$PATH"' >/dev/null && grep -c bin/slurm: "$cluster/home/kilntest1/plain.out")" 0
finish
