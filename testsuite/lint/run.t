#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# testsuite/run itself, in a small tree that is made for it: a signal ends the
# tests and the daemons of each.

top_srcdir=$(cd "${top_srcdir:-.}" && pwd)
export top_srcdir
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
# A make above this test hands down its variables, and among them its own TESTS.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
tree=$(mktemp -d) || bail_out "no temporary directory"
trap 'rm -rf "$tree"' EXIT

mkdir -p "$tree/a tree/testsuite/lint" "$tree/a tree/m4" "$tree/a tree/src" "$tree/bin"
cd "$tree/a tree" || bail_out "no directory"
cp "$top_srcdir/testsuite/run" testsuite/run
touch configure.ac Makefile.am Makefile.in testsuite/flaky

# The daemon of the small tree says that it lives, by its pid, and leaves when it
# is told to. It has a session of its own, as the daemons of jobs have.
cat >"$tree/bin/daemon" <<'EOF'
#!/bin/sh
trap 'rm -f "$1"; exit 0' TERM
echo "$$" >"$1.new" && mv "$1.new" "$1"
while :; do sleep 0.2; done
EOF
# A test as those of the kind cluster are, and one that has nothing to clean up.
cat >testsuite/lint/daemon.t <<EOF
#!/bin/sh
top_srcdir='$top_srcdir'
. "\$top_srcdir/testsuite/lib/tap.sh"
. "\$top_srcdir/testsuite/lib/cluster.sh"
cluster_begin
start daemon setsid '$tree/bin/daemon' '$tree/daemon'
pass "the daemon has started"
sleep 600
finish
EOF
cat >testsuite/lint/sleeper.t <<EOF
#!/bin/sh
echo "\$\$" >'$tree/sleeper.new' && mv '$tree/sleeper.new' '$tree/sleeper'
exec sleep 600
EOF
cat >testsuite/lint/short.t <<'EOF'
#!/bin/sh
echo "ok 1 - it is short"
echo "1..1"
EOF
chmod 755 "$tree/bin/daemon" testsuite/lint/*.t

# configure writes a Makefile with the targets that the run makes. The driver, as
# automake's, does not let a signal end it before the test.
cat >configure <<'EOF'
#!/bin/sh
cat >Makefile <<'END'
all check:
check-lint: $(TESTS:%=%.log)
	@echo made
%.log: FORCE
	@mkdir -p testsuite/lint; \
	(trap : 1 2 15; sh ../../$(@:.log=.t) >$@ 2>&1; echo $$?) >$(@:.log=.status); \
	sed 's,^ok.*,PASS: $(@:.log=) &,' $@ >$@.new; mv $@.new $@
FORCE:
END
EOF
chmod 755 configure

run() { TESTS=$tests testsuite/run --no-install -j 2 lint; }

tests='testsuite/lint/short'
ok "the small tree has its tests run" run
like "a test point is counted" "$(run)" '^1 passed, 0 failed, 0 skipped$'

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# interrupt NAME SIGNAL STATUS: sends the signal to a run that has a test with a
# daemon and a test without. A shell starts background processes with SIGINT ignored.
interrupt() {
    rm -f "$tree/daemon" "$tree/sleeper"
    TESTS='testsuite/lint/daemon testsuite/lint/sleeper' \
        env --default-signal="$2" testsuite/run --no-install -j 2 lint >"$tree/said" 2>&1 &
    runner=$!
    if ! wait_for 60 test -e "$tree/daemon" || ! wait_for 60 test -e "$tree/sleeper"; then
        fail "$1"
        note <"$tree/said"
        kill "$runner"
        return
    fi
    daemon=$(cat "$tree/daemon") sleeper=$(cat "$tree/sleeper")
    kill -s "$2" "$runner"
    status=0
    wait "$runner" || status=$?
    is "$1" "$status" "$3"
    ok "the daemon has ended when the run has ($2)" is_gone "$daemon"
    ok "the daemon could clean up ($2)" test ! -e "$tree/daemon"
    ok "the other test has ended ($2)" is_gone "$sleeper"
    like "the run says that it was interrupted ($2)" "$(cat "$tree/said")" 'interrupted; ends what runs'
}

interrupt "^C ends the run" INT 130
interrupt "SIGTERM ends the run" TERM 143
finish
