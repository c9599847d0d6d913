/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_variables.h - what a script written for Slurm looks for
 *
 * For pods that carry ANNOTATION_VARIABLES with the word "slurm" (ksub puts it
 * there for scripts with #SBATCH lines); others get none, since MPI libraries
 * and the like take them for the sign of a Slurm cluster. An agent that does
 * not know the annotation starts the job without them.
 *
 * Thread: any; pure.
 */
#pragma once

struct pod_order_input;
struct variables;

/* After Kiln's own, from which most of them are taken. */
void slurm_variables_add(struct variables *v, const struct pod_order_input *in);
