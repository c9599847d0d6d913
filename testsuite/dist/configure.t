#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# configure says what it found, what is off, and which Debian package holds
# what it misses.

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
sources=$(cd "$top_srcdir" && pwd)
[ -x "$sources/configure" ] || skip_all "no configure here: run autoreconf -i"
real=$(command -v pkg-config) || skip_all "pkg-config is missing"
place=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$place"' EXIT
cd "$place" || bail_out "no temporary directory"
# From another directory autoconf takes no path with blanks.
ln -s "$sources" sources || bail_out "no link to the sources"
configure=$place/sources/configure

# without MODULE: a pkg-config that does not know it.
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
like "with everything there, it succeeds" "$output" '^exit status 0$'
like "what was found is listed" "$output" '^ +MUNGE: munge$'
like "what was turned off is listed" "$output" '^ +sd_notify.*: off'

rm -f config.cache
without munge
output=$(configured)
like "a missing library ends it" "$output" '^exit status 1$'
like "and is named with its package" "$output" \
    '^ +apt-get install libmunge-dev$'

rm -f config.cache
without libsystemd
output=$(configured)
like "without an optional library it succeeds" "$output" '^exit status 0$'
like "and says what is off, and what would turn it on" "$output" \
    'sd_notify readiness: off \(Debian package libsystemd-dev\)'
output=$(configured --with-systemd)
like "unless it was asked for" "$output" '^ +apt-get install libsystemd-dev$'

rm -f config.cache
without nothing
output=$(configured --enable-fuzz CC=gcc)
like "fuzzers without clang are refused with what to do" "$output" \
    'needs clang: CC=clang'
finish
