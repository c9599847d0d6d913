/* SPDX-License-Identifier: Apache-2.0 */
/* kalloc_options.h - the options of kalloc: those of ksub (as salloc, those of sbatch) that ask
 * for an allocation, and what becomes of it
 *
 * Thread:  the main one.
 * Source:  salloc(1) of Slurm 22.05.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/ksub/submission.h"

struct error;
struct strbuf;

struct kalloc_options {
    struct submission s; /* first: its options have their offsets */
    struct submission asked;
    bool is_slurms; /* salloc, or srun */
    bool is_srun;
    bool is_interactive; /* ksub --interactive: the command runs on the first node */
    bool is_detached;    /* --detach, --no-shell */
    bool has_patience;
    int64_t patience_s; /* of --immediate */
    int kill_signal;    /* for the command when the job ends; 0: SIGHUP or SIGTERM */
    bool rings_bell;
};

/* The variables, then the command line up to the command, which starts at *ret_operands. Returns
 * an option_answer (lib/program/option.h), or a negative errno with what is wrong.
 */
int kalloc_options_read(const char *name, int argc, char **argv, struct kalloc_options *ret_options,
                        int *ret_operands, struct error *err);
/* Whether srun's job may have it. */
bool kalloc_options_has(const char *option);
void kalloc_options_help(const char *name, struct strbuf *out);
