/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_variables.h - environment variables that scripts for Slurm expect
 *
 * For pods whose ANNOTATION_VARIABLES is "slurm" (ksub sets it for scripts with
 * #SBATCH lines). Other pods get none, because MPI libraries take the variables
 * as the sign of a Slurm cluster. An agent that does not know the annotation
 * starts the job without the variables.
 *
 * Thread: any; pure.
 */
#pragma once

struct pod_order_input;
struct variables;

/* Call it after Kiln's own variables are set, because most values come from
 * these.
 */
void slurm_variables_add(struct variables *v, const struct pod_order_input *in);
