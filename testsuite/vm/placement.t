#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Placement on a machine with several NUMA nodes and cgroup v2: jobs, devices,
# CPUs that go offline. The built programs are copied into a virtual machine,
# where inside-placement tests them. units.t explains $KILN_NUMA_VM.

: "${top_srcdir:=.}" "${top_builddir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"

boot=${KILN_NUMA_VM:+$KILN_NUMA_VM/boot}
[ -n "$boot" ] ||
    skip_all "no virtual machine: \$KILN_NUMA_VM names no folder with one"
[ -x "$boot" ] || skip_all "no command $boot"
command -v qemu-system-x86_64 >/dev/null ||
    skip_all "qemu is missing (Debian package qemu-system-x86)"
programs="ksub kctl kiln-controller kiln-agent kiln-shepherd kiln-output"
for program in $programs; do
    [ -x "$top_builddir/$program" ] || skip_all "$program is not built"
done
carried=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$carried"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS # another make runs this test
make -s -C "$top_builddir" testsuite/bench/numa >&2 ||
    bail_out "the bench cannot be built"
mkdir -p "$carried/bin" "$carried/lib" "$carried/testsuite/lib"
for program in $programs testsuite/bench/numa; do
    cp "$top_builddir/$program" "$carried/bin/" || bail_out "cannot copy"
done
cp "$top_srcdir"/testsuite/lib/*.sh "$carried/testsuite/lib/"
cp "$top_srcdir/testsuite/vm/inside-placement" "$carried/"

# Libraries that the guest may lack. For a static program ldd lists none.
for program in "$carried"/bin/*; do
    ldd "$program" 2>/dev/null
done | awk '$3 ~ /^\// && !/libc\.so|libm\.so/ { print $3 }' | sort -u |
    xargs -I {} cp {} "$carried/lib/"
strip "$carried"/bin/* 2>/dev/null || true

"$boot" -c 8 -n 4 -S 2 -m 4096 -i direct -t 500 -d "$carried:/kiln" -- \
    /kiln/inside-placement
status=$?
case $status in
124) bail_out "the guest took more than 500 s" ;;
125) skip_all "the guest is not built, or does not boot" ;;
esac
exit "$status"
