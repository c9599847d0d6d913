/* SPDX-License-Identifier: Apache-2.0 */
/* submission_input.h - reads a submission and its script from a command line
 *
 * The script's text is read once, here. Options come from the environment, then
 * from the directives of the script, then from the command line; a later one
 * replaces an earlier one. #SBATCH lines are read with --sbatch, and if a
 * script has no #KSUB lines: such a script is one for Slurm.
 *
 * Thread: the main one.
 */
#pragma once

#include "cli/ksub/submission.h"
#include "lib/base/strbuf.h"

struct arena;
struct error;

struct submission_input {
    const char *program; /* of messages: "ksub", "sbatch" */
    struct submission submission;
    struct submission asked; /* before amounts for all nodes became those of one */
    struct arena *arena;     /* memory of the submission's texts */
    struct strbuf script;
    unsigned n_foreign;     /* #SBATCH lines */
    bool reads_foreign;     /* they were read */
    struct strbuf problems; /* of the script, one per line */
    unsigned n_problems;
    struct strbuf hints; /* lines that look like directives and are not read */
    bool is_misused;     /* an option is wrong, not the script */
    int operands;        /* index in argv, for --chain and --pipeline */
};

void submission_input_fini(struct submission_input *input);
#define CLEANUP_SUBMISSION_INPUT CLEANUP(submission_input_fini)

/* Exits after --help, --version or a wrong option on the command line. The
 * error names the script and the line of the first problem; `problems` has all
 * of them. With --chain and --pipeline only the options are read, and no
 * script; with --interactive nothing but this.
 */
int submission_input_read(struct submission_input *input, int argc, char **argv, struct error *err);

/* The same for one of several jobs, from the words of the command line and its
 * own. It returns after wrong options, too.
 */
int submission_input_read_stage(struct submission_input *input, int argc, char **argv,
                                struct error *err);

/* The command line of sbatch: all options of sbatch_options.h, but not ksub's own that submit
 * several jobs. #SBATCH lines are read in any case; `words`, the options of the environment, replace
 * what they say, and the command line replaces both. A script that is not in the directory is
 * looked for in PATH. Returns OPTION_HELP after --help and OPTION_VERSION after --version. After a
 * negative errno `is_misused` is set if the mistake is in an option.
 */
int submission_input_read_sbatch(struct submission_input *input, char **words, size_t n_words,
                                 int argc, char **argv, struct error *err);
