/* SPDX-License-Identifier: Apache-2.0 */
/* drmaa_program.h - runs ksub, kctl, squeue and sacct of Kiln, without a shell
 *
 * The child gets no descriptor of the host program but 0 to 2, and no signal
 * is blocked or ignored in it. A host that ignores SIGCHLD, or reaps children of
 * others, takes the exit code away: then exit_code is -1, and what the program
 * printed decides.
 *
 * Thread: any.
 */
#pragma once

#include <stddef.h>

struct drmaa_words;

struct program_result {
    int exit_code; /* 128 and the signal if one killed it; -1: nobody knows */
    char *output;  /* never NULL after a success */
    char *errors;  /* without the last newline */
};

/* Which folder the programs are in: their own, or $KILN_DRMAA_BINDIR. name is also argv[0] ("squeue" is
 * kiln-slurm). environment: additional NAME=value, or NULL. input may be NULL. A DRMAA code. */
int program_run(const char *name, const struct drmaa_words *arguments,
                const struct drmaa_words *environment, const char *input,
                struct program_result *result, char *diagnosis, size_t size);
void program_result_clear(struct program_result *result);

/* The code and text for a program that failed. */
int program_failure(const char *name, const struct program_result *result, char *diagnosis,
                    size_t size);

/* 0, or DRMAA_ERRNO_DRMS_INIT_FAILED if a program is not there. */
int program_check(char *diagnosis, size_t size);
