/* SPDX-License-Identifier: Apache-2.0 */
/* script_hints.h - lines of a script that look like directives and are not read
 *
 * A job that silently gets one CPU and no time limit, because its directives
 * are misspelt, too late in the script or for another scheduler, is the harm
 * that this prevents.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct strbuf;
struct submission_input;

/* Adds a line to `out` for each kind of line that only looks like a directive
 * of this prefix ("#KSUB"): one after the first command, and one that is
 * written as a plain comment ("# KSUB -c 4"). Texts in quotes and here
 * documents of a shell script are not looked at. `name` is the script's.
 */
void script_hints_add(const char *script, size_t length, const char *prefix, const char *name,
                      struct strbuf *out);

/* The directives for another scheduler, before the first command. */
struct script_hints_foreign {
    const char *scheduler; /* "PBS" */
    const char *prefix;    /* "#PBS" */
    unsigned count;        /* lines; 0: there are none */
    unsigned first;        /* line */
    unsigned asking;       /* the first line that asks for CPUs, time, an array
                            * or another job's end; 0: none does */
    const char *option;    /* of that line: "-l nodes=1:ppn=8" */
    size_t option_length;
};
void script_hints_find_foreign(const char *script, size_t length, struct script_hints_foreign *ret);

/* Adds a line about them. `has_defaults`: nothing else says what the job gets. */
void script_hints_add_foreign(const struct script_hints_foreign *found, const char *name,
                              bool has_defaults, struct strbuf *out);

/* Prints to standard error what a user should know about how the script was
 * read; nothing with --quiet.
 */
void script_hints_print(const struct submission_input *input);
