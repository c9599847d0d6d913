/* SPDX-License-Identifier: Apache-2.0 */
/* intake.h - reads a submission and its script from a command line
 *
 * The script's text is read once, here. Options come from the environment,
 * then from the directives of the script, then from the command line; a later
 * one replaces an earlier one.
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/ksub/submission.h"
#include "lib/base/strbuf.h"

struct arena;
struct error;

struct intake {
    struct submission submission;
    struct arena *arena; /* what the submission borrows from */
    struct strbuf script;
    unsigned n_foreign; /* #SBATCH lines that were not read */
};

void intake_fini(struct intake *intake);
#define CLEANUP_INTAKE CLEANUP(intake_fini)

/* Read: does not return after --help, --version or an option that is wrong on
 * the command line. Errors name the script and the line.
 */
int
intake_read(struct intake *intake, int argc, char **argv, struct error *err);

/* The script's name as errors show it. */
const char *intake_script_name(const struct submission *submission);
