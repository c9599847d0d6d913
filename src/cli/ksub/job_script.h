/* SPDX-License-Identifier: Apache-2.0 */
/* job_script.h - the text of a job script, and its directives
 *
 * Directives are lines that start with "#KSUB", and a blank or an option, before
 * the first line that is neither a comment nor blank; a comment may have blanks
 * before its '#'. They contain options; words are quoted as in a shell, and a
 * '#' at the start of a word starts a comment. In a "#SBATCH" line each '#'
 * that is not quoted does, a backslash counts within all quotes, and what follows need not be
 * a blank, as in Slurm.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;

#define JOB_SCRIPT_MAX (4u << 20)

/* Check: -EINVAL, with a text that says what to do, for a script that is empty,
 * does not start with "#!", contains NUL bytes or has line ends of DOS or old
 * Macs; -EFBIG above JOB_SCRIPT_MAX.
 */
int job_script_check(const char *text, size_t length, struct error *err);
int job_script_refuse_large(struct error *err); /* -EFBIG */

/* Reads the directives in turn. `prefix` is "#KSUB" or "#SBATCH". */
struct job_script_reader {
    const char *prefix;
    const char *at;
    const char *end;
    unsigned line; /* of the last directive, from 1 */
};
void job_script_read(struct job_script_reader *reader, const char *prefix, const char *text,
                     size_t length);

/* 1: the words of the next directive, in the arena, NULL-terminated; 0: there
 * are no more; -EINVAL: a quote is not closed.
 */
int job_script_next(struct job_script_reader *reader, struct arena *arena, char ***ret_words,
                    size_t *ret_count, struct error *err);

/* Whether the line, without its newline, is a directive wherever it is. */
bool job_script_is_directive(const char *prefix, const char *line, size_t length);

/* The number of bytes before the first command. */
size_t job_script_header_length(const char *text, size_t length);

/* Splits a text into words by the rules of directives; -EINVAL as
 * job_script_next.
 */
int job_script_split(const char *text, struct arena *arena, char ***ret_words, size_t *ret_count,
                     struct error *err);

/* Whether the text is valid in a JSON string without changes. */
bool job_script_is_utf8(const char *text, size_t length);
