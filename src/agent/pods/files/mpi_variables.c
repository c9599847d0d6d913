/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pods/files/mpi_variables.h"

#include "lib/base/alloc.h"

/* The job's id makes Open MPI's launcher for Slurm call srun, so the other one is named.
 * Its daemons bind ranks to the CPUs of the machine, unless these processes may use
 * only the job's: without that, ranks of several jobs would be bound to the same CPUs.
 *
 * For MPICH, ranks get the environment that krsh passes on. That of mpirun would give all
 * of them the devices and the TMPDIR of the first node.
 */
void
mpi_variables_visit(const struct mpi_variables *m,
                    void (*set)(const char *name, const char *value, void *context), void *context)
{
    CLEANUP_FREE char *of_mpich = xasprintf("%s" HOSTFILE_OF_MPICH, m->hostfile);

    set("OMPI_MCA_plm", "rsh", context);
    set("OMPI_MCA_plm_rsh_agent", m->krsh, context);
    set("OMPI_MCA_orte_default_hostfile", m->hostfile, context);
    if (m->is_unbound)
        set("OMPI_MCA_hwloc_base_binding_policy", "none", context);
    set("HYDRA_LAUNCHER", "ssh", context);
    set("HYDRA_LAUNCHER_EXEC", m->krsh, context);
    set("HYDRA_HOST_FILE", of_mpich, context);
    set("HYDRA_ENV", "none", context);
}
