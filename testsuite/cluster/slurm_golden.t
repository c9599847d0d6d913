#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What Kiln's commands answer, and what Debian's Slurm 22.05 answered (golden); the
# calls that tools make, as they read the answers (replays.py)

# shellcheck disable=SC2119,SC2154 # cluster.sh

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/slurm/kiln.sh"
. "$top_srcdir/testsuite/slurm/scene.sh"

cluster_begin
need jq python3
cluster_user kilntest1 || skip_all "needs root"
cluster_user kilntest2
cluster_munge
kiln_slurm
scene
scene_players=3
here=$top_srcdir/testsuite/slurm
scene_play "$here" "$cluster/answers"

# As tools ask and read.
cp "$here/replays.py" "$cluster/"
as kilntest1 python3 "$cluster/replays.py" >"$cluster/replays"
while IFS= read -r line; do
    case $line in
    ok\ *) pass "${line#ok }" ;;
    not\ ok\ *) fail "${line#not ok }" ;;
    *) note "$line" ;;
    esac
done <"$cluster/replays"
[ -s "$cluster/replays" ] || fail "the calls of tools were replayed"

scene_away "$here" "$cluster/answers" controller
[ -z "${KILN_SLURM_ANSWERS:-}" ] || cp "$cluster/answers" "$KILN_SLURM_ANSWERS"
python3 "$here/compare.py" judge "$here/golden" "$cluster/answers" "$here/differences" \
    >"$cluster/verdicts"
# A command line has no newline; what differs is in the lines below it, which begin with a blank.
while IFS= read -r line; do
    case $line in
    same\ * | listed\ *) pass "${line#* }" ;;
    differs\ *) fail "${line#differs }" ;;
    unused\ *) fail "differences: no difference needs this entry: ${line#unused }" ;;
    *) note "$line" ;;
    esac
done <"$cluster/verdicts"
finish
