#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Three nodes with networks of their own: Open MPI's and MPICH's mpirun start their
# ranks on all of them, unmodified, and nothing is left when they are killed.

# shellcheck disable=SC2016,SC2154,SC2317 # cluster.sh; called by others

: "${top_srcdir:=.}"
. "$top_srcdir/testsuite/lib/tap.sh"
. "$top_srcdir/testsuite/lib/cluster.sh"
. "$top_srcdir/testsuite/lib/netns.sh"
. "$top_srcdir/testsuite/lib/api.sh"
cluster_begin
need munged kiln-controller kiln-agent kiln-step kiln-pmix krun krsh kctl ksub jq
need nsenter mpirun.openmpi mpicc.openmpi mpirun.mpich mpicc.mpich python3 setpriv
cluster_user kilntest1 || skip_all "only root can make users"
netns_begin
cluster_munge
cluster_controller --socket "$cluster/socket"
for number in 1 2 3; do
    netns_agent "n$number" "$number" --topology "package:1 core:4 pu:1"
done
ready() { root wait --for condition=Ready node n1 n2 n3 --timeout 1s; }
ok "three agents with networks of their own register" wait_for 40 ready ||
    bail_out "not all nodes register"
for number in 1 2 3; do
    for key in $(root get node "n$number" -o json | jq -r '.spec.taints[]?.key'); do
        root taint node "n$number" "$key-" >/dev/null
    done
done

home=$cluster/home/kilntest1
cat >"$home/ring.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A token goes around, each rank says where it is, and all agree on a sum. With an
 * argument, it stays for so many seconds.
 */
int
main(int argc, char **argv)
{
    int rank, size, token = 0, sum;
    char host[256];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(host, sizeof(host));
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token++;
    MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s, sum %d, %s\n", rank, size, host, sum,
           getenv("OWN") != NULL ? getenv("OWN") : "-");
    if (rank == 0)
        printf("the token is %d\n", token);
    fflush(stdout);
    if (argc > 1)
        sleep(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
C
for mpi in openmpi mpich; do
    "mpicc.$mpi" -o "$home/ring.$mpi" "$home/ring.c" 2>"$cluster/mpicc" ||
        bail_out "mpicc.$mpi: $(cat "$cluster/mpicc")"
done

expected="rank 0 of 6 on n1, sum 15, yes
rank 1 of 6 on n1, sum 15, yes
rank 2 of 6 on n2, sum 15, yes
rank 3 of 6 on n2, sum 15, yes
rank 4 of 6 on n3, sum 15, yes
rank 5 of 6 on n3, sum 15, yes
the token is 6"
for mpi in openmpi mpich; do
    cat >"$home/ring-$mpi.sh" <<S
#!/bin/sh
#KSUB -N 3 -n 6 -t 5 -o ring-$mpi.out
export OWN=yes
mpirun.$mpi ./ring.$mpi
S
    ok "mpirun of $mpi ends" as kilntest1 ksub -D "$home" --wait --quiet "$home/ring-$mpi.sh" ||
        note "$(cat "$home/ring-$mpi.out")"
    is "... and has started two ranks on each node" "$(LC_ALL=C sort "$home/ring-$mpi.out")" "$expected"
done

page() {
    python3 "$top_srcdir/testsuite/cluster/tutorial.py" "$top_srcdir/man/kiln-mpi.7" "$home" \
        kilntest1 >"$cluster/page" 2>&1
}
ok "the commands of kiln-mpi(7) print what it says" page || note "$(grep -A20 "^not ok" "$cluster/page")"

# Without mpirun: PMI-1, by way of krun.
cat >"$home/krun.sh" <<'S'
#!/bin/sh
#KSUB -N 3 -n 6 -t 5 -o krun.out
export OWN=yes
krun ./ring.mpich
krun -n 6 sh -c '[ "$KILN_PROCID" != 5 ] || exit 3; exec ./ring.mpich' >left 2>&1
echo "left $?"
S
ok "krun starts a program of MPICH on three nodes" as kilntest1 ksub -D "$home" --wait --quiet \
    "$home/krun.sh" || note "$(cat "$home/krun.out")"
is "... and the ranks find each other" "$(grep -v left "$home/krun.out" | LC_ALL=C sort)" "$expected"
is "a rank that ends before it is in the barrier ends the step, with its code" \
    "$(grep left "$home/krun.out")" "left 3"
# Tasks share a line if their ends come together.
like "... and the ranks of other nodes are told why" "$(cat "$home/left")" \
    'n1: tasks? [01].*: Killed, because task 5 has ended'

# Without mpirun: PMIx. A client of its own for what Open MPI does seldom or never.
cat >"$home/client.c" <<'C'
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t self;

static int
fence(bool collect)
{
    pmix_info_t info;

    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    return PMIx_Fence(NULL, 0, &info, 1);
}

static void
put(char *text)
{
    pmix_value_t v;

    PMIX_VALUE_CONSTRUCT(&v);
    v.type = PMIX_STRING;
    v.data.string = text;
    PMIx_Put(PMIX_GLOBAL, "key", &v);
    PMIx_Commit();
}

static void
get(unsigned rank)
{
    pmix_proc_t peer = self;
    pmix_value_t *v = NULL;
    int r;

    peer.rank = rank;
    r = PMIx_Get(&peer, "key", NULL, 0, &v);
    printf("%u of %u: %s\n", self.rank, rank, r == PMIX_SUCCESS ? v->data.string : "none");
}

int
main(int argc, char **argv)
{
    char text[32];

    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 9;
    if (strcmp(argv[1], "get") == 0) {
        snprintf(text, sizeof(text), "<%u>", self.rank);
        put(text);
        fence(false);
        get((self.rank + 4) % 8);
        fence(false);
    } else if (strcmp(argv[1], "gone") == 0) {
        if (self.rank == 0)
            get(7);
    } else if (strcmp(argv[1], "leave") == 0) {
        if (self.rank == 5)
            _exit(3);
        fence(false);
    } else {
        char *much = calloc(1, 9 << 20);

        memset(much, 'x', (9 << 20) - 1);
        put(much);
        fence(true);
    }
    PMIx_Finalize(NULL, 0);
    return 0;
}
C
cat >"$home/abort.c" <<'C'
#include <mpi.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 3)
        MPI_Abort(MPI_COMM_WORLD, 42);
    sleep(1000);
}
C
# shellcheck disable=SC2046 # several options
cc -o "$home/client" "$home/client.c" $(pkg-config --cflags --libs pmix) 2>"$cluster/mpicc" ||
    bail_out "no client of PMIx: $(cat "$cluster/mpicc")"
mpicc.openmpi -o "$home/abort" "$home/abort.c"
cat >"$home/pmix.sh" <<'S'
#!/bin/sh
#KSUB -N 3 -n 8 -t 5 -o pmix.out
run() {
    file=$1
    shift
    krun --mpi=pmix -n 8 "$@" >"pmix.$file" 2>&1
    echo "$file $?"
}
run three ./ring.openmpi
run one -N 1 --overcommit ./ring.openmpi
run unborn sh -c '[ "$KILN_PROCID" != 5 ] || exit 3; exec ./ring.openmpi'
run left ./client leave
run abort ./abort
run direct ./client get
run gone ./client gone
run much ./client much
if python3 -c 'import mpi4py' 2>/dev/null; then
    run python python3 -c 'from mpi4py import MPI; c = MPI.COMM_WORLD; print(c.allreduce(c.rank))'
else
    seq 8 | sed 's/.*/28/' >pmix.python
    echo "python 0"
fi
S
ok "krun --mpi=pmix runs" as kilntest1 ksub -D "$home" --wait --quiet "$home/pmix.sh"
is "... with the exit codes of programs, of a rank that ends early, and of MPI_Abort" \
    "$(cat "$home/pmix.out")" "three 0
one 0
unborn 3
left 3
abort 42
direct 0
gone 0
much 1
python 0" || note "left: $(cat "$home/pmix.left")"
ranks_of_8="rank 0 of 8 on n1, sum 28, -
rank 1 of 8 on n1, sum 28, -
rank 2 of 8 on n1, sum 28, -
rank 3 of 8 on n2, sum 28, -
rank 4 of 8 on n2, sum 28, -
rank 5 of 8 on n2, sum 28, -
rank 6 of 8 on n3, sum 28, -
rank 7 of 8 on n3, sum 28, -
the token is 8"
is "the ranks of Open MPI find each other on three nodes" \
    "$(LC_ALL=C sort "$home/pmix.three")" "$ranks_of_8"
# Which node it is depends on where the CPUs of the step before are free again.
is "... and on one" "$(LC_ALL=C sort "$home/pmix.one" | sed 's/ n[123],/ n?,/')" \
    "$(echo "$ranks_of_8" | sed 's/ n[123],/ n?,/')"
is "... which is one node" "$(grep -o ' n[123],' "$home/pmix.one" | sort -u | wc -l)" 1
is "... and those of Python" "$(sort -u "$home/pmix.python")" 28
like "a rank that ends before it speaks PMIx ends those that wait for it" \
    "$(cat "$home/pmix.unborn")" 'n1: tasks? [0-2].*: Killed, because task 5 has ended'
# Some may have had the error of their fence first, and have ended with 0.
like "so does one that ends while others are in a fence" "$(cat "$home/pmix.left")" \
    ': tasks? .*: Killed, because task 5 has ended and other tasks wait for it'
is "a task can ask for what one of another node has given" \
    "$(LC_ALL=C sort "$home/pmix.direct" | head -n 3)" "0 of 4: <4>
1 of 5: <5>
2 of 6: <6>"
is "... and is answered when that one ends" "$(cat "$home/pmix.gone")" "0 of 7: none"
like "a fence that is too large ends the step in words" "$(cat "$home/pmix.much")" \
    'Killed, because its tasks on n[123] gave [0-9]+ bytes to a fence of PMIx; [0-9]+ are allowed .64 MiB'

# step_files: what the steps with PMIx of this user have in memory. Others may run tests with
# the same user, so only files since then count.
step_files() { find /dev/shm -maxdepth 1 -user kilntest1 -newer "$home/pmix.sh" -name 'kiln-step.*' 2>/dev/null; }
server_of() {
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$cluster/bin/kiln-pmix" 2>/dev/null | tr -dc '0-9\n'
}
no_server() { [ -z "$(server_of)" ]; }
cat >"$home/server.sh" <<'S'
#!/bin/sh
#KSUB -N 3 -n 8 -t 5 -o server.out
krun --mpi=pmix -n 8 ./ring.openmpi 1000 2>&1
echo "server $?"
S
id=$(as kilntest1 ksub -D "$home" --parsable "$home/server.sh")
has_token() { grep -qs "the token is 8" "$home/server.out"; }
ok "a long step with PMIx runs" wait_for 40 has_token || note "$(cat "$home/server.out")"
rank_7() { # its process
    find /proc/[0-9]*/exe -maxdepth 0 -lname "$home/ring.openmpi" 2>/dev/null |
        while read -r exe; do
            tr '\0' '\n' <"${exe%/exe}/environ" | grep -qx PMIX_RANK=7 && echo "$exe"
        done | tr -dc '0-9\n'
}
rank=$(rank_7)
# client_as USER SED: as a rank of that step, with variables that sed has changed
client_as() {
    # shellcheck disable=SC2046 # variables without spaces
    nsenter --net --target "$rank" setpriv --reuid "$1" --regid "$1" --clear-groups env -i \
        $(tr '\0' '\n' <"/proc/$rank/environ" | grep '^PMIX_' | sed "$2") \
        "$home/client" gone >/dev/null 2>&1
    echo "code $?"
}
is "who knows the name of the step's namespace is served by its server of PMIx" \
    "$(client_as kilntest1 '')" "code 0"
guess=$(printf '%032d' 0)
is "... and who does not is refused" \
    "$(client_as kilntest1 "s/^\(PMIX_NAMESPACE=kiln\.[0-9]*\.\).*/\1$guess/")" "code 9"
kill -KILL "$(server_of | head -n 1)"
ended() { grep -qs "^server" "$home/server.out"; }
ok "the step ends soon after a kiln-pmix was killed" wait_for 10 ended
like "... with words" "$(cat "$home/server.out")" \
    'Killed, because kiln-pmix, its server of PMIx on n[123], has ended unexpectedly'
ok "... and no other is left" wait_for 10 no_server
left=$(step_files)
are_gone() {
    for file in $left; do
        [ ! -e "$file" ] || return 1
    done
}
ok "no file of these steps is left" wait_for 20 are_gone || note "$left"

# ranks: how many processes of MPI jobs there are, on all nodes. Others may run tests with
# the same user.
ranks() {
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$home" 2>/dev/null |
        while read -r link; do readlink "${link%cwd}exe" 2>/dev/null; done | grep -c -e /ring -e /orted -e hydra_pmi_proxy -e /krun
}
runs() { [ "$(ranks)" -ge 6 ] && grep -q "the token is 6" "$home/long.out"; }
nothing() { [ "$(ranks)" -eq 0 ]; }
for mpi in openmpi mpich; do
    rm -f "$home/long.out" "$home/pid"
    cat >"$home/long.sh" <<S
#!/bin/sh
#KSUB -N 3 -n 6 -t 5 -o long.out
mpirun.$mpi ./ring.$mpi 1000 &
echo \$! >pid
wait \$!
exec sleep 1000
S
    id=$(as kilntest1 ksub -D "$home" --parsable "$home/long.sh")
    ok "ranks of $mpi run" wait_for 40 runs || note "$(cat "$home/long.out")"
    kill -KILL "$(cat "$home/pid")"
    ok "nothing of them is left soon after mpirun was killed" wait_for 10 nothing ||
        note "$(ps -u kilntest1 -o pid,args)"
    as kilntest1 kctl cancel "$id" >/dev/null
done

finish
