/* SPDX-License-Identifier: Apache-2.0 */
/* job_script.h - the text of a job script, and the directives in it
 *
 * Directives are comment lines that begin with "#KSUB" and a space, before
 * the first line that is neither a comment nor blank. They hold options, with
 * words quoted as in a shell; an unquoted '#' begins a comment.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct error;

#define JOB_SCRIPT_MAX (4u << 20)

/* Check: -EINVAL, in words that say what to do, for a text that is empty, does
 * not begin with "#!", holds NUL bytes or ends its lines as DOS does; -EFBIG
 * beyond JOB_SCRIPT_MAX.
 */
int job_script_check(const char *text, size_t length, struct error *err);

/* The directives, one after the other. `prefix` is "#KSUB" or "#SBATCH". */
struct job_script_reader {
    const char *prefix;
    const char *at;
    const char *end;
    unsigned line; /* of the directive read last, from 1 */
};
void job_script_read(struct job_script_reader *reader,
                     const char *prefix,
                     const char *text,
                     size_t length);

/* 1: the words of the next directive, in the arena, NULL-terminated; 0: there
 * is none; -EINVAL: a quote is not closed.
 */
int job_script_next(struct job_script_reader *reader,
                    struct arena *arena,
                    char ***ret_words,
                    size_t *ret_count,
                    struct error *err);

/* The words of a text that is written as a directive is; -EINVAL as there. */
int job_script_split(const char *text,
                     struct arena *arena,
                     char ***ret_words,
                     size_t *ret_count,
                     struct error *err);

/* Whether the text can be in a JSON string unchanged. */
bool job_script_is_utf8(const char *text, size_t length);
