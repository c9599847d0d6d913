#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configure reports what it found and what is off, and names the Debian package
# of each missing library.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
sources=$(cd "$top_srcdir" && pwd)
[ -x "$sources/configure" ] || skip_all "no configure here: run autoreconf -i"
real=$(command -v pkg-config) || skip_all "pkg-config is missing"
place=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$place"' EXIT
cd "$place" || bail_out "no temporary directory"
# autoconf does not support paths with spaces when it runs in another
# directory.
ln -s "$sources" sources || bail_out "no link to the sources"
configure=$place/sources/configure

# without MODULE: makes a pkg-config that does not find that module.
without() {
    cat >pkg-config <<SCRIPT
#!/bin/sh
case " \$* " in
*" $1 "*) exit 1 ;;
esac
exec $real "\$@"
SCRIPT
    chmod +x pkg-config
}

configured() {
    "$configure" -C PKG_CONFIG="$place/pkg-config" "$@" 2>&1
    echo "exit status $?"
}

without nothing
output=$(configured --without-systemd)
like "configure succeeds if everything is there" "$output" '^exit status 0$'
like "it lists what it found" "$output" '^ +MUNGE: munge$'
like "it lists what is turned off" "$output" '^ +sd_notify.*: off'
static=$(sed -n 's/^KSUB_STATIC = //p' Makefile)
echo 'int missing(void); int main(void) { return missing(); }' >missing.c
# shellcheck disable=SC2086 # several options
not_ok "the options for ksub's link do not hide that a part is missing" \
    "${CC:-gcc}" $static -o missing missing.c

rm -f config.cache
without munge
output=$(configured)
like "configure fails if a library is missing" "$output" '^exit status 1$'
like "it names the library's package" "$output" \
    '^ +apt-get install libmunge-dev$'

rm -f config.cache
without libsystemd
output=$(configured --without-pmix --without-pam)
like "configure succeeds without an optional library" \
    "$output" '^exit status 0$'
like "it says what is off, and which package would turn it on" "$output" \
    'sd_notify readiness: off \(Debian package libsystemd-dev\)'
like "it builds without PMIx if it is told to" "$output" \
    'PMIx, for krun --mpi=pmix: off \(Debian package libpmix-dev\)'
like "... and without PAM" "$output" 'pam_kiln: off \(Debian package libpam0g-dev\)'
output=$(configured --with-systemd)
like "it fails if that library was requested" \
    "$output" '^ +apt-get install libsystemd-dev$'

rm -f config.cache
without nothing
output=$(configured --enable-fuzz CC=gcc)
like "fuzzers without clang are refused with a hint" "$output" \
    'needs clang: CC=clang'
finish
