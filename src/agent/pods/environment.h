/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h - the environment variables of a job
 *
 * In this order, later ones override earlier ones: the environment at the
 * submission, the container's env, and Kiln's own: KILN_JOB_ID, KILN_JOB_NAME,
 * KILN_NODE_NAME, KILN_CPUS, KILN_CPUS_ON_NODE, KILN_MEMORY_NODES, KILN_MEM_MB,
 * KILN_POD_NAME, KILN_JOB_ACCOUNT, KILN_JOB_USER, KILN_RESTART_COUNT;
 * OMP_NUM_THREADS with -c unless the user set it.
 *
 * See: ksub(1), ENVIRONMENT.
 * Thread: any; pure.
 */
#pragma once

/* The volume of this name becomes the job's TMPDIR. */
#define VOLUME_OF_TMPDIR "tmp"

struct arena;
struct error;
struct object;
struct order;
struct pod_order_input;

int environment_compose(const struct pod_order_input *input, struct arena *arena,
                        struct order *order, struct error *err);

/* The name that users gave the job: the annotation kiln.hpc/job-name, else the
 * name of the owning Job, else the pod's.
 */
const char *environment_job_name(const struct object *pod);

/* The account as its site spells it, else the namespace. */
const char *environment_account(const struct object *pod);
