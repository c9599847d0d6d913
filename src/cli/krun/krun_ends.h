/* SPDX-License-Identifier: Apache-2.0 */
/* krun_ends.h - which tasks of a step run and which have ended, in srun's words
 *
 * Ends that arrive together and are equal share a line: "n1: tasks 0-2,5: Exited with
 * exit code 2".
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct krun_ends;
struct step_exit;
struct step_layout;
struct strbuf;

/* Life. The layout is borrowed for the call. */
void krun_ends_free(struct krun_ends *e);
struct krun_ends *krun_ends_new(const struct step_layout *layout, const char *program);

/* Add notes an end; a second end of a task is ignored. Add_node: of all tasks on that
 * node of the layout that have not ended. Print writes the lines of
 * the ends that were added since.
 */
void krun_ends_add(struct krun_ends *e, uint32_t task, const struct step_exit *end);
void krun_ends_add_node(struct krun_ends *e, unsigned node, const struct step_exit *end);
void krun_ends_print(struct krun_ends *e);

/* The exit status so far: the highest of all tasks. */
int krun_ends_code(const struct krun_ends *e);
unsigned krun_ends_count(const struct krun_ends *e);

/* Adds "tasks 0-1: running", and as another line what has ended: as after Ctrl-C. Each
 * line begins with `begin`.
 */
void krun_ends_describe(const struct krun_ends *e, const char *begin, struct strbuf *out);
