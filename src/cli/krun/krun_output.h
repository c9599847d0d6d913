/* SPDX-License-Identifier: Apache-2.0 */
/* krun_output.h - the output of many tasks as one: whole lines, with the task's number if
 * it was asked for
 *
 * A line that is not complete waits for its end, so that lines of several tasks do not
 * mix, but only so long: PART bytes of one line, and HELD bytes of all. A step of one
 * task without labels is passed on as it comes.
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct krun_output;
struct strbuf;

#define KRUN_OUTPUT_PART 4096u
#define KRUN_OUTPUT_HELD (128u << 10)

/* Life. One for each stream. */
void krun_output_free(struct krun_output *o);
struct krun_output *krun_output_new(unsigned n_tasks, bool labels, bool is_unbuffered);

/* Adds to `out` what can be written now. Length 0: the end of the task's stream. */
void krun_output_add(struct krun_output *o, uint32_t task, const char *bytes, size_t length,
                     struct strbuf *out);

/* Adds all lines that wait: krun is about to end. */
void krun_output_flush(struct krun_output *o, struct strbuf *out);
