/* SPDX-License-Identifier: Apache-2.0 */
/* step_ending.h - the end of all tasks of a step because of one of them, or of what serves
 * them
 *
 * The ranks of an MPI program wait for each other, so one that is gone ends the others.
 * Those that are killed for it have its exit code, and say why.
 *
 * Thread:  the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct step_ending;
struct step_exit;
struct step_frame;
struct step_link;

/* Kill kills the tasks of this node. With a link, krun ends those of other nodes, too; NULL: there
 * are none.
 */
struct step_ending *step_ending_new(struct step_link *link, void (*kill)(void *context),
                                    void *context);

/* "Killed, because task 3 has ended ..."; of STEP_ALL_TASKS, "Killed, because ...". The first
 * one counts.
 */
void step_ending_begin(struct step_ending *e, uint32_t because, uint32_t code, const char *reason);

/* An ABORT of krun, which has it from another node. -EBADMSG. */
int step_ending_receive(struct step_ending *e, const struct step_frame *f);

/* Whether it has begun, and on another node, and why. */
bool step_ending_has_begun(const struct step_ending *e);
bool step_ending_is_of_other_node(const struct step_ending *e);
const char *step_ending_reason(const struct step_ending *e);

/* Changes what is told about the end of a task if it was killed for another. */
void step_ending_set_exit(const struct step_ending *e, struct step_exit *end);
