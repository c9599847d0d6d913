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

struct step;
struct step_exit;
struct step_frame;

struct step_ending {
    bool has_begun;
    bool is_of_other_node; /* krun has passed it on */
    uint32_t code;
    char words[512];
};

/* "Killed, because task 3 has ended ..."; of STEP_ALL_TASKS, "Killed, because ...". The first
 * one counts. With tells_others, krun ends the tasks of other nodes, too.
 */
void step_ending_begin(struct step *s, uint32_t because, uint32_t code, const char *reason,
                       bool tells_others);

/* An ABORT of krun, which has it from another node. -EBADMSG. */
int step_ending_receive(struct step *s, const struct step_frame *f);

/* Why, after it has begun. */
const char *step_ending_reason(const struct step *s);

/* Changes what is told about the end of a task if it was killed for another. */
void step_ending_set_exit(const struct step *s, struct step_exit *end);
