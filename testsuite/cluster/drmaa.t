#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# drmaa.t - libdrmaa: the calls of the specification, and python3-drmaa

# shellcheck disable=SC2119 # cluster_controller takes options that it may do without

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"

cluster_begin
[ -x "$top_builddir/testsuite/cluster/drmaa_calls" ] || bail_out "drmaa_calls is not built"
cluster_user kilntest1
cluster_munge
cluster_controller
cluster_agent n1 --topology 'package:1 core:4 pu:1'
admin() { kctl --server "http+unix://$cluster/state/socket" "$@"; }
wait_for 20 admin wait --for condition=Ready node n1 >/dev/null
for key in $(admin get node n1 -o json | jq -r '.spec.taints[]?.key'); do
    admin taint node n1 "$key-" >/dev/null
done

# Next to the programs, as the library finds them in one folder.
cp "$top_builddir/kiln-slurm" "$top_builddir/libdrmaa.so.1" \
    "$top_builddir/testsuite/cluster/drmaa_calls" "$cluster/bin/"
home=$cluster/home/kilntest1
as kilntest1 mkdir -p "$home/work"
user() { # a host program, which loads the library from $cluster/bin
    as kilntest1 env KILN_DRMAA_BINDIR="$cluster/bin" LD_LIBRARY_PATH="$cluster/bin" \
        DRMAA_LIBRARY_PATH="$cluster/bin/libdrmaa.so.1" timeout 200 "$@" 2>&1
}

empty "the calls of the specification do what it says" \
    "$(user "$cluster/bin/drmaa_calls")"

# python3-drmaa loads the library as Galaxy and snakemake do.
cat >"$cluster/session.py" <<'END'
import drmaa
with drmaa.Session() as s:
    jt = s.createJobTemplate()
    jt.remoteCommand = 'sh'
    jt.args = ['-c', 'exit 4']
    jt.nativeSpecification = '-t 5'
    jt.outputPath = ':/dev/null'
    jt.joinFiles = True
    jt.jobEnvironment = {'A': 'b'}
    job = s.runJob(jt)
    info = s.wait(job, 120)
    print(info.hasExited, info.exitStatus, info.wasAborted, s.jobStatus(job))
    print('cpu' in info.resourceUsage)
    jobs = s.runBulkJobs(jt, 1, 3, 1)
    s.synchronize([drmaa.Session.JOB_IDS_SESSION_ALL], 120, True)
    print(len(jobs), s.jobStatus(jobs[2]))
    try:
        s.wait(jobs[0], 0)
    except drmaa.InvalidJobException as error:
        print('reaped')
    s.deleteJobTemplate(jt)
END
chmod 644 "$cluster/session.py"
if python3 -c 'import importlib.util; exit(not importlib.util.find_spec("drmaa"))' 2>/dev/null &&
    ! grep -q -a __asan_init "$cluster/bin/libdrmaa.so.1" &&
    ! grep -q -a __tsan_init "$cluster/bin/libdrmaa.so.1"; then
    is "python3-drmaa submits, waits and looks" \
        "$(user python3 "$cluster/session.py")" \
        "True 4 False failed
True
3 failed
reaped"
else
    skip "python3-drmaa submits, waits and looks" "python3-drmaa is missing, or sanitizers are in"
fi
finish
