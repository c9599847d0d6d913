/* SPDX-License-Identifier: Apache-2.0 */
/* sbatch_settle.h - what options that depend on each other mean together
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct submission;

/* After the options of one source: the script, or the command line. -EINVAL: some exclude each other.
 */
int sbatch_settle_source(struct submission *submission, struct error *err);

/* Call this after all options are read: options that depend on each other (per
 * node, per socket, per GPU) become tasks, CPUs, GPUs and memory. -EINVAL if they
 * contradict each other.
 */
int sbatch_settle(struct submission *s, struct error *err);
