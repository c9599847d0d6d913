/* SPDX-License-Identifier: Apache-2.0 */
/* step_environment.h - the variables of each task of a step
 *
 * krun's own environment, and in it what says which task of which step this is:
 * KILN_PROCID, KILN_LOCALID and so on, and where the job has SLURM_JOB_ID the names that
 * srun sets. A task that has GPUs of its own sees only those in CUDA_VISIBLE_DEVICES,
 * ROCR_VISIBLE_DEVICES and ZE_AFFINITY_MASK; what the agent has set for OpenMP is set
 * for the CPUs of the task.
 *
 * Thread:  any; the result is borrowed from its arena.
 * Source:  the variables that srun 22.05 sets, read in its tasks.
 */
#pragma once

#include <sys/types.h>

struct arena;
struct bitset;
struct step_environment;
struct step_layout;
struct step_request;

/* `node`: the index in the layout. The arguments must live as long. */
struct step_environment *step_environment_new(struct arena *arena,
                                              const struct step_request *request,
                                              const struct step_layout *layout, unsigned node,
                                              const char *step_id);

/* The tasks find PMI (pmi_server.h) at that descriptor. */
void step_environment_set_pmi(struct step_environment *e, int fd);

/* The tasks get their rank in PMIx; the other variables of PMIx are set one by one. */
void step_environment_set_pmix(struct step_environment *e);

/* A variable of all tasks, in the place of krun's. */
void step_environment_set(struct step_environment *e, const char *name, const char *value);

/* The variables of the n-th task on the node, NULL-terminated. `cpus` NULL: the task
 * was not bound.
 */
char **step_environment_of_task(struct step_environment *e, unsigned local,
                                const struct bitset *cpus);

/* Writes the task's own process id into SLURM_TASK_PID, if that is set. Between fork
 * and exec, too: no memory is allocated.
 */
void step_environment_put_pid(char **variables, pid_t pid);
