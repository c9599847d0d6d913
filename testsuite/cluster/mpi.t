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
need munged kiln-controller kiln-agent kiln-step krun krsh kctl ksub jq
need mpirun.openmpi mpicc.openmpi mpirun.mpich mpicc.mpich python3 setpriv
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
like "... and the ranks of other nodes are told why" "$(cat "$home/left")" \
    'n1: tasks 0-1: Killed, because task 5 has ended'

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
