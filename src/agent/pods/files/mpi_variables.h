/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_variables.h - environment variables by which mpirun, unmodified, starts its
 * ranks on the nodes of the job
 *
 * For jobs of several nodes or tasks. Open MPI and MPICH (hydra) start a daemon on each
 * node with krsh in the place of ssh, so these run in steps of the job.
 *
 * Thread: any; pure.
 */
#pragma once

#include <stdbool.h>

/* Added to the path of the host file: that of MPICH. */
#define HOSTFILE_OF_MPICH ".mpich"

struct mpi_variables {
    const char *hostfile; /* of the job */
    const char *krsh;     /* the program */
    bool is_unbound;      /* the job's processes may run on other CPUs than its own */
};

/* Calls `set` for each; a variable that the user has set stays. */
void mpi_variables_visit(const struct mpi_variables *m,
                         void (*set)(const char *name, const char *value, void *context),
                         void *context);
