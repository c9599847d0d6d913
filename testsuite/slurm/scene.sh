# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables of the command lines, and of cluster.sh
# scene.sh - jobs in every state, made by Slurm's commands, whoever answers them
#
# Sourced by record and by golden.t. `scene` submits the jobs; the id of each is
# in a variable of its name, which the lines of `commands` use. The partitions
# all (n1 to n4), gpu (n3, n4), one (n1) and two (n2) exist, and n4 is drained.

scene_jobs='run arr wide dep held later next last fail done limit cancelled never quote newline
    unicode course missing again frozen pair steps holds'

submit() {
    submit_name=$1
    shift
    submit_id=$(as kilntest1 sbatch --parsable "$@" 2>"$cluster/submit.err") ||
        bail_out "sbatch of '$submit_name': $(cat "$cluster/submit.err")"
    eval "$submit_name=\$submit_id"
}

is_in_state() {
    [ "$(as kilntest1 squeue -h -t all -j "$1" -o %t | sort -u | tr '\n' ' ')" = "$2 " ]
}

# await STATES NAME...: the jobs' compact states, each of them once.
await() {
    await_state=$1
    shift
    for await_name; do
        eval "await_id=\$$await_name"
        wait_for 150 is_in_state "$await_id" "$await_state" ||
            bail_out "job '$await_name' is not '$await_state': $(as kilntest1 squeue -h -t all -j "$await_id")"
    done
}

scene() {
    work=$cluster/home/kilntest1
    cat >"$cluster/a.sh" <<'S'
#!/bin/sh
sleep 600
S
    chmod 755 "$cluster/a.sh"
    operator scontrol update NodeName=n4 State=DRAIN Reason='bad disk, see ticket' || bail_out "no drain"
    operator scontrol create reservation ReservationName=course Nodes=n3 StartTime=now+3hours \
        Duration=60 Users=kilntest1 >/dev/null || bail_out "no reservation"
    submit run -p one -J 'a b|c' -c 4 --mem 200 -t 10 --comment 'my note' "$cluster/a.sh" x 'y z'
    submit arr -p two -J arr -a 1-9:2%2 -t 1:00:00 "$cluster/a.sh"
    submit wide -p all -N 3 -n 3 --ntasks-per-node 1 -t 30 -J wide -w 'n[1-3]' "$cluster/a.sh"
    submit fail -p two -J fail -t 20 -o out.%j --wrap 'exit 3'
    submit 'done' -p two -J "done" -t 20 --wrap true
    submit pair -p two -J pair -t 20 -a 1-2 --wrap true
    submit limit -p two -J limit -t 0:01 --wrap 'exec sleep 300'
    submit cancelled -p two -J cancelled -t 20 "$cluster/a.sh"
    submit again -p two -J again -t 20 --requeue "$cluster/a.sh"
    submit frozen -p two -J frozen -t 20 "$cluster/a.sh"
    await R run wide cancelled again frozen
    await CD 'done' pair
    await F fail
    as kilntest1 scancel "$cancelled"
    as kilntest1 scontrol requeuehold "$again"
    operator scontrol suspend "$frozen"
    submit steps -p gpu -J steps -n 4 -t 20 --wrap 'srun -n 4 --exact -J four true
srun -n 1 --exact -J sig sh -c "kill -9 \$\$"
srun -n 2 --exact -J bad false
srun -n 1 --exact -J long sleep 600
srun -n 1 --exact sleep 600'
    holds=$(as kilntest1 salloc --no-shell -p gpu -n 2 -t 20 2>&1 |
        sed -n 's/.*Granted job allocation //p')
    submit dep -J dep -d "afterok:$run" -t 15 "$cluster/a.sh"
    held=$(as kilntest2 sbatch --parsable -J held -H -t 1-2:03:04 "$cluster/a.sh")
    submit later -J later -b now+1hour -t 15 "$cluster/a.sh"
    submit next -p one -J next -c 8 -t 40 "$cluster/a.sh"
    submit last -p one -J last -c 8 -t 40 "$cluster/a.sh"
    submit never -J never -t 20 -H "$cluster/a.sh"
    submit quote -J "it's \"so\"" -t 20 -H "$cluster/a.sh"
    submit newline -J "$(printf 'x\n999 R')" -t 20 -H "$cluster/a.sh"
    submit unicode -J 'größe €' -t 20 -H --comment 'Ä|Ö' "$cluster/a.sh"
    submit course -J course --reservation course -t 20 "$cluster/a.sh"
    submit missing -J missing -w n4 -p gpu -t 20 "$cluster/a.sh"
    as kilntest1 scancel "$never"
    await CA cancelled never
    await 'PD R' arr
    await PD again next last course missing
    await S frozen
    await R steps holds
    wait_for 60 has_step "$steps.3" || bail_out "no step: $(as kilntest1 squeue -s -j "$steps")"
    await TO limit
    for scene_job in next last; do
        eval "scene_id=\$$scene_job"
        wait_for 150 has_forecast "$scene_id" ||
            bail_out "no forecast for '$scene_job': $(as kilntest1 squeue -o '%i %j %t %S %e %N %r')"
    done
}

# Agents of Kiln tell of steps some seconds later.
has_step() {
    as kilntest1 squeue -h -s -j "${1%.*}" -o %i | grep -qx "$1"
}

has_forecast() {
    as kilntest1 squeue -h -j "$1" -o %e | grep -q '^[0-9]'
}

# Writes the ids where the lines of commands find them.
scene_ids() {
    for scene_job in $scene_jobs; do
        eval "echo \"$scene_job=\$$scene_job\""
    done
}

# scene_play DIRECTORY FILE: runs the command lines of the directory, and writes
# the answers to the file.
scene_play() {
    {
        scene_ids
        echo "many=$run,$arr,$wide,$dep,$held,$later,$next,$last,$fail,$limit,$cancelled,$frozen,$missing,$course"
        echo "some=$run,$arr,$wide,$dep,$held,$fail,$cancelled,$frozen"
        echo "most=$run,$arr,$wide,$dep,$held,$fail,$done,$limit,$cancelled,$never,$frozen"
        for scene_user in kilntest1 kilntest2; do
            echo "uid_$scene_user=$(id -u "$scene_user")"
        done
    } >>"$cluster/ids"
    cp "$1/play" "$1/commands" "$1/changes" "$cluster/"
    # Lines that change nothing are played by two players at once, if asked.
    awk -v parts="${scene_players:-1}" -v file="$cluster/commands" '
        /^# ---- what changes something/ { last = 1 }
        { print >(file "." (last ? "last" : NR % parts)) }' "$cluster/commands"
    scene_player=0
    scene_pids=
    while [ "$scene_player" -lt "${scene_players:-1}" ]; do
        as kilntest1 "$cluster/play" "$cluster/commands.$scene_player" "$cluster/ids" \
            >"$cluster/played.$scene_player" &
        scene_pids="$scene_pids $!"
        scene_player=$((scene_player + 1))
    done
    # shellcheck disable=SC2086 # a list
    wait $scene_pids
    cat "$cluster"/played.* >"$cluster/played"
    as kilntest1 "$cluster/play" "$cluster/commands.last" "$cluster/ids" >>"$cluster/played"
    operator env HOME=/root "$cluster/play" "$cluster/changes" "$cluster/ids" >>"$cluster/played"
    python3 "$1/compare.py" normalize "$cluster/ids" "$cluster" <"$cluster/played" >"$2"
}

# scene_away DIRECTORY FILE DAEMON: stops the controller and appends what the
# commands of `away` answer then.
scene_away() {
    stop "$3" KILL
    awk -v file="$cluster/away" '/^[^#]/ { print >(file "." ++n) }' "$1/away"
    scene_pids=
    for scene_line in "$cluster"/away.*; do
        as kilntest1 "$cluster/play" "$scene_line" "$cluster/ids" >"$scene_line.played" &
        scene_pids="$scene_pids $!"
    done
    # shellcheck disable=SC2086 # a list
    wait $scene_pids
    find "$cluster" -maxdepth 1 -name 'away.*.played' | sort -t . -k 3n | xargs cat |
        python3 "$1/compare.py" normalize "$cluster/ids" "$cluster" | sed 's/^\$ /$ away: /' >>"$2"
}
