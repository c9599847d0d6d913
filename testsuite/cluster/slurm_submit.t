#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Slurm's sbatch, with real daemons: options, variables, output and exit codes as Debian's
# Slurm 22.05 has them

# shellcheck disable=SC2016,SC2089,SC2090 # what the user's shell expands

# shellcheck disable=SC2119,SC2317 # a function with optional arguments; functions for others

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
wait_for 20 admin wait --for condition=Ready node n1 || bail_out "no node"
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

admin label node n1 feature.kiln.hpc/two=true feature.kiln.hpc/three=true >/dev/null

# What sbatch says, on one line: "OUT|ERR|STATUS". Words of Debian's sbatch are typed here as it
# printed them.
says() {
    status=0
    as kilntest1 timeout 60 sh -c "$*" >"$cluster/out" 2>"$cluster/err" </dev/null || status=$?
    printf '%s|%s|%s\n' "$(tr '\n' '+' <"$cluster/out")" "$(tr '\n' '+' <"$cluster/err")" "$status"
}
home=$cluster/home/kilntest1
printf '#!/bin/sh\n#SBATCH -J fromscript -t 5\n#SBATCH --mail-type=END\n%s\n' \
    'echo "$SLURM_JOB_NAME $1 $A,$B,$C"; echo "$SLURM_NTASKS_PER_NODE"' >"$home/job.sh"
printf 'sleep 1\n' >"$home/plain.sh"
: >"$home/empty.sh"
printf ' \n\n' >"$home/blank.sh"
printf '#!/bin/sh\r\nsleep 1\r\n' >"$home/dos.sh"
printf '#!/bin/sh\n#SBATCH -n 2 --foo=1\n#SBATCH hetjob\n#SBATCH --container-image=x\ntrue\n' >"$home/wrong.sh"
chmod 755 "$home"/*.sh

# --- the words and the exit code ----------------------------------------------

like "sbatch says which Slurm it is" "$(says sbatch --version)" '^slurm 22\.05\.8 \(kiln .*\)\+\|\|0$'
is "-V says the same" "$(says sbatch -V)" "$(says sbatch --version)"
like "a job is submitted in Slurm's words" "$(says sbatch --wrap true)" \
    '^Submitted batch job [0-9]+\+\|\|0$'
like "--parsable prints the id" "$(says sbatch --parsable --wrap true)" '^[0-9]+\+\|\|0$'
like "-M with this cluster's name prints it" "$(says sbatch --parsable -M test --wrap true)" \
    '^[0-9]+;test\+\|\|0$'
like "also without --parsable" "$(says sbatch --cluster=test --wrap true)" \
    '^Submitted batch job [0-9]+ on cluster test\+\|\|0$'
is "another cluster is refused" "$(says sbatch -M nowhere --wrap true)" \
    "|sbatch: error: 'nowhere' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.+|1"
is "-Q prints nothing" "$(says sbatch -Q job.sh)" "||0"
like "the id is the first line, also of both outputs in one" "$(says sbatch job.sh '2>&1')" \
    '^Submitted batch job [0-9]+\+sbatch: warning: this cluster sends no mail \(mailProgram of .*--mail-type has no effect\+\|\|0$'
like "with --parsable nothing else is in the same output" "$(says sbatch --parsable job.sh '2>&1')" \
    '^[0-9]+\+\|\|0$'
like "a directory that this machine does not have is told, and the job is submitted" \
    "$(says sbatch -H -o /nope/%j -e /nope/too/x --wrap true)" \
    "^Submitted batch job [0-9]+\\+\\|sbatch: --output /nope/%j: there is no directory '/nope' on this machine; [^+]*\\+sbatch: --error /nope/too/x: [^+]*\\+\\|0\$"
like "a directory that is closed to the user, too" "$(says sbatch -H -D /root --wrap true)" \
    "sbatch: --chdir /root: you may not use '/root' on this machine"
is "with -Q nothing is told" "$(says sbatch -Q -H -o /nope/x --wrap true)" "||0"
is "a script without an interpreter is refused" "$(says sbatch plain.sh)" \
    "|sbatch: error: This does not look like a batch script.  The first+sbatch: error: line must start with #! followed by the path to an interpreter.+sbatch: error: For instance: #!/bin/sh+|1"
is "an empty one" "$(says sbatch empty.sh)" "|sbatch: error: Batch script is empty!+|1"
is "no script on standard input" "$(says sbatch)" "|sbatch: error: Batch script is empty!+|1"
is "a blank one" "$(says sbatch blank.sh)" "|sbatch: error: Batch script contains only whitespace!+|1"
is "one with lines of DOS" "$(says sbatch dos.sh)" \
    '|sbatch: error: Batch script contains DOS line breaks (\r\n)+sbatch: error: instead of expected UNIX line breaks (\n).+|1'
is "a missing one" "$(says sbatch nosuch.sh)" "|sbatch: error: Unable to open file nosuch.sh+|1"
is "a script beside --wrap" "$(says sbatch --wrap=true job.sh)" \
    "|sbatch: error: Script arguments not permitted with --wrap option+|1"
like "an unknown option" "$(says sbatch --foo job.sh)" \
    '^\|sbatch: unknown option .--foo.\+Try "sbatch --help" for more information\+\|255$'
like "a wrong value" "$(says sbatch -t abc job.sh)" \
    '^\|sbatch: error: Invalid --time specification: .abc. is not a time.*\|255$'
is "\$SLURM_EXIT_ERROR is the exit code of mistakes" \
    "$(says SLURM_EXIT_ERROR=7 sbatch -t abc job.sh | sed 's/.*|//')" 7
like "all mistakes of a script are told, with their lines" "$(says sbatch wrong.sh)" \
    'wrong.sh:2: #SBATCH: unknown option .--foo.\+.*wrong.sh:3: #SBATCH: hetjob: heterogeneous jobs are not available.*wrong.sh:4: #SBATCH: --container-image: start containers in the script: apptainer.*\|255$'
like "a heterogeneous job on the command line" "$(says sbatch -n 1 : -n 2 job.sh)" \
    'heterogeneous jobs are not available'
like "a partition that does not exist" "$(says sbatch -p nope job.sh)" \
    "there is no partition 'nope'.*sbatch: error: Batch job submission failed: Invalid partition name specified\\+\\|1\$"
like "an account that does not exist" "$(says sbatch -A nope job.sh)" \
    'Batch job submission failed: Invalid account or account/partition combination specified\+\|1$'
like "a dependency that does not exist" "$(says sbatch -d afterok:99999 job.sh)" \
    'Batch job submission failed: Job dependency problem\+\|1$'

# --- --test-only --------------------------------------------------------------

like "--test-only says when and where, on standard error" "$(says sbatch --test-only -n 2 job.sh)" \
    '^\|sbatch: Job 0 to start at 20[0-9-]+T[0-9:]+ using 2 processors on nodes n1 in partition all\+\|0$'
like "--test-only of a job that can never run" "$(says sbatch --test-only -n 99 job.sh)" \
    '^\|allocation failure: Requested node configuration is not available\+sbatch: error: .*\|1$'
is "with -Q it says nothing" "$(says sbatch -Q --test-only job.sh)" "||0"

# --- where options come from --------------------------------------------------

is "the environment overrides the script" \
    "$(says SBATCH_JOB_NAME=variable sbatch -Q -W -o out job.sh one '&&' head -1 out)" \
    "variable one ,,+||0"
is "the command line overrides the environment" \
    "$(says SBATCH_JOB_NAME=variable sbatch -Q -W -o out -J line job.sh '&&' head -1 out)" \
    "line  ,,+||0"
is "arguments of the script keep their blanks" \
    "$(says sbatch -Q -W -o out job.sh "'two words'" '&&' head -1 out)" \
    "fromscript two words ,,+||0"
is "a variable of a flag counts when it is yes, empty or a number other than 0" \
    "$(says SBATCH_REQUEUE=no SBATCH_WAIT=yes sbatch -Q -o out --wrap "'exit 4'")" "||4"
is "all tasks of -O share a CPU, and srun in the job learns of -O and -m" \
    "$(says sbatch -Q -W -o out -O -n 3 -m plane=2 -C "'(one|two)&three'" --exclude= --gres=gpu:0 --wrap \
        "'echo \$SLURM_OVERCOMMIT \$SLURM_NTASKS \$SLURM_DISTRIBUTION \$SLURM_DIST_PLANESIZE \$SLURM_CPUS_ON_NODE'" \
        '&&' cat out)" "1 3 plane 2 1+||0"
is "--tasks-per-node is --ntasks-per-node" \
    "$(says sbatch -Q -W -o out --tasks-per-node=2 job.sh '&&' tail -1 out)" "2+||0"
is "a file has the environment" "$(says "printf 'A=1\\0B=x y\\0' >vars; A=9 C=3 sbatch -Q -W \
    -o out --export-file=vars job.sh && head -1 out")" "fromscript  1,x y,+||0"
like "a file that does not exist" "$(says sbatch --export-file=nope job.sh)" 'nope.*No such file'
is "a script is looked for in PATH" \
    "$(says 'mkdir -p other && cd other && PATH=$HOME:$PATH sbatch -Q -W -o out job.sh && head -1 out')" \
    "fromscript  ,,+||0"
is "a script comes from standard input, and its job is called sbatch" \
    "$(says "cat job.sh | sed 1a'#SBATCH -o out' | grep -v fromscript | sbatch -Q -W && head -1 out")" \
    "sbatch  ,,+||0"
id=$(as kilntest1 sbatch --parsable --mem=0 -H --wrap true)
is "--mem=0 is the whole node" \
    "$(admin get job "$id" -o jsonpath='{.spec.template.spec.placement.wholeNode}')" true
name='a|b  "c" $(d) ü'
id=$(as kilntest1 sbatch --parsable -H -J "$name" --wrap true)
is "a name may have any characters" \
    "$(admin get job "$id" -o json | jq -r '.metadata.annotations["kiln.hpc/job-name"]')" "$name"

# --- --wait -------------------------------------------------------------------

is "the exit code is the job's" "$(says sbatch -Q -W -o out --wrap "'exit 3'")" "||3"
is "it is 1 after a signal" "$(says sbatch -Q -W -o out --wrap "'kill -9 \$\$'")" "||1"
is "it is the largest of an array" \
    "$(says sbatch -Q -W -o out -a 1-3 --wrap "'exit \$((SLURM_ARRAY_TASK_ID == 2 ? 5 : SLURM_ARRAY_TASK_ID))'")" "||5"

# --- mail ---------------------------------------------------------------------

like "without a mailProgram the user is told" "$(says sbatch --mail-type=END -H --wrap true)" \
    'this cluster sends no mail'
is "an address is checked, but a script with another text is not refused" \
    "$(says "sbatch -Q -H --mail-type=END --mail-user='<your-email>' --wrap true")" "||0"
mkdir "$cluster/mails"
cat >"$cluster/mailer" <<'SH'
#!/bin/sh
folder=$(dirname "$0")/mails
[ "$3" != nosuch ] || { echo "$3" >>"$folder/../refused"; exit 67; }
[ ! -e "$folder/../broken" ] || { echo "no smarthost"; exit 75; }
file=$(mktemp "$folder/.new.XXXXXX")
{ echo "Arguments: $*"; cat; } >"$file"
mv "$file" "$folder/mail.${file##*.}"
SH
chmod 755 "$cluster/mailer"
echo "{mailProgram: $cluster/mailer, mailsPerHour: 8}" >"$cluster/mail.yaml"
stop controller KILL
cluster_controller --config "$cluster/mail.yaml"
# Earlier jobs of the other user have asked for mail, too, and get it now.
# is_marked ID...: the mails about these jobs were sent, or are not to be.
is_marked() {
    for marked_id; do
        admin get job "$marked_id" -o json |
            jq -e '.metadata.annotations["kiln.hpc/mailed"] != null' || return 1
    done
}
# The subjects of the mails about a job, sorted.
subjects() { sed -n "s/^Subject: Kiln \(.*Job_id=$1[_ ].*\)/\1/p" "$cluster"/mails/mail.* 2>/dev/null | sort; }
has_mails() { [ "$(subjects "$1" | wc -l)" -ge "$2" ]; }
id=$(as kilntest2 sbatch --parsable -W -J my --mail-type=BEGIN,FAIL --mail-user=ann@example.org,bob \
    -t 5 -o out --wrap 'sleep 1; exit 3')
wait_for 20 has_mails "$id" 2
is "a mail at the start, and one at the end" "$(subjects "$id" | sed 's/time [0-9:]*/time/')" \
    "Job_id=$id Name=my Began
Job_id=$id Name=my Failed, Run time, FAILED, ExitCode 3"
is "the program has the addresses as arguments" \
    "$(grep -l "Job_id=$id " "$cluster"/mails/mail.* | xargs sed -n 's/^Arguments: //p' | sort -u)" \
    "-i -- ann@example.org bob"
id=$(as kilntest2 sbatch --parsable -W -a 1-5 --mail-type=END -t 5 -o out \
    --wrap 'exit $((SLURM_ARRAY_TASK_ID == 2))')
wait_for 20 has_mails "$id" 1
is "one mail for an array" "$(subjects "$id")" \
    "Array Summary Job_id=${id}_* Name=wrap Ended, FAILED, 4 of 5 tasks succeeded"
id=$(as kilntest2 sbatch --parsable --mail-type=TIME_LIMIT_50 -t 1 -J half -o out --wrap 'sleep 600')
admin update "$id" time=0:04 >/dev/null
wait_for 20 has_mails "$id" 1
is "half of the time limit" "$(subjects "$id")" "Job_id=$id Name=half Reached 50% of time limit"
# An address that the program refuses is not tried again: the mark says that it was tried.
id=$(as kilntest2 sbatch --parsable -W -J gone --mail-type=END --mail-user=nosuch -t 5 -o out --wrap true)
wait_for 20 is_marked "$id"
is "mail to an address that the program refuses is tried once" "$(cat "$cluster/refused")" "nosuch"
: >"$cluster/broken"
id=$(as kilntest2 sbatch --parsable -W -J later --mail-type=END -t 5 -o out --wrap true)
stop controller KILL
rm "$cluster/broken"
cluster_controller --config "$cluster/mail.yaml"
wait_for 20 has_mails "$id" 1
# Mails have no order: the last one may be sent before another.
many=$(for i in 1 2 3 4 5 6; do
    as kilntest2 sbatch --parsable -W -J "many$i" --mail-type=END -t 5 -o out --wrap true
done)
# shellcheck disable=SC2086 # a list
wait_for 20 is_marked $id $many || fail "the mails about the jobs $id $many are sent"
stop controller KILL
cluster_controller --config "$cluster/mail.yaml"
wait_for 20 admin get nodes
is "mail that was not sent is sent after a kill, and mail that was sent is not sent again" \
    "$(cat "$cluster"/mails/mail.* | grep -c "^Message-ID:") $(subjects "$id" | wc -l)" \
    "$(cat "$cluster"/mails/mail.* | sed -n 's/^Message-ID: //p' | sort -u | wc -l) 1"
flood=$(for i in 1 2 3 4 5 6 7 8 9; do
    as kilntest2 sbatch --parsable -W -J flood --mail-type=END -t 5 -o out --wrap true
done)
# shellcheck disable=SC2086 # a list; the last ones are marked at once, others when they are sent
wait_for 20 is_marked $flood || fail "the mails about the jobs $flood are sent"
is "a user gets only so many in an hour, and the last one says so" \
    "$(cat "$cluster"/mails/mail.* | grep -c 'Name=flood') $(grep -l 'Name=flood' "$cluster"/mails/mail.* |
        xargs grep -c 'further mail is left out' | grep -c ':1$')" "8 1" ||
    grep -h '^Subject:' "$cluster"/mails/mail.* | note

# --- QOS ----------------------------------------------------------------------

for class in low:-5 top:1000; do
    printf '{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: %s}, value: %s}' \
        "${class%:*}" "${class#*:}" | admin create -f - >/dev/null
done
id=$(as kilntest1 sbatch --parsable -q low -H --wrap true)
is "a QOS is a priority class" \
    "$(admin get job "$id" -o jsonpath='{.spec.template.spec.priorityClassName}')" low
like "one that the user may not use is refused in Slurm's words" "$(says sbatch -q top -H --wrap true)" \
    'sbatch: error: Batch job submission failed: Invalid qos specification\+\|1$'
like "one that does not exist has no effect, and a line says so" \
    "$(says sbatch -q nosuch -H --wrap true)" \
    "^Submitted batch job [0-9]+\\+\\|sbatch: warning: there is no priority class 'nosuch', so --qos has no effect\\+\\|0\$"
like "but of normal, which scripts have" "$(says sbatch -q normal -H --wrap true)" \
    '^Submitted batch job [0-9]+\+\|\|0$'

# --- scrontab -----------------------------------------------------------------

printf '%s\n' '# mine' "A=it's" '#SCRON -t 5 -J nightly' '0 3 * * 7 echo $A' '@daily $HOME/b.sh' >"$home/table"
names() { as kilntest1 kctl get cronjobs --no-headers -o name 2>/dev/null | sort; }
is "there is no table" "$(says scrontab -l)" "|no crontab for kilntest1+|1"
is "a file becomes the table" "$(says scrontab table)" "||0"
is "which is printed as it was" "$(as kilntest1 scrontab -l)" "$(cat "$home/table")"
like "its entries are CronJobs" "$(admin get cronjobs -o json | jq -r '.items[] |
    .metadata.name + " " + .spec.schedule + " " + (.spec.jobTemplate.spec.script.text // "")')" \
    'nightly-[a-z0-9]* 0 3 \* \* 0'
before=$(names)
sed 's/daily/weekly/' "$home/table" | sed 1i'*/5 * * * * true' >"$cluster/second"
is "another table replaces it" "$(says "scrontab - <'$cluster/second' && scrontab -l")" \
    "$(tr '\n' '+' <"$cluster/second")||0"
is "... and keeps the entries that are as before" \
    "$(names | grep nightly)" "$(echo "$before" | grep nightly)"
like "a table with a mistake changes nothing" \
    "$(says "printf '@daily a\\n#SCRON -p nosuch\\n@daily b\\n' | scrontab -")" \
    'scrontab: error: line 3: .*there is no partition .nosuch'
like "a table whose entries are all commented out is not lost" \
    "$(says "sed 's/^/#/' '$cluster/second' | scrontab -")" \
    '^\|scrontab: error: there is no entry, and comments alone are not kept; .*\|1$'
is "... as before" "$(as kilntest1 scrontab -l)" "$(cat "$cluster/second")"
printf '#!/bin/sh\nsed -i /true/d "$1"\n' >"$home/editor"
chmod 755 "$home/editor"
is "-e edits it" "$(says "EDITOR=$home/editor scrontab -e && scrontab -l | grep -c true")" "0+||1"
is "others have their own" "$(as kilntest2 scrontab -l 2>&1)" "no crontab for kilntest2"
is "-r removes it" "$(says "scrontab -r && scrontab -l")" "|no crontab for kilntest1+|1"
wait_for 20 test -z "$(names)"

# --- a controller that is away ------------------------------------------------

is "a controller that is away is told in Slurm's words" \
    "$(says KILN_SERVER=http://127.0.0.1:1 SLURM_CONF=/none/slurm.conf sbatch --wrap true)" \
    "|sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)+|1"
finish
