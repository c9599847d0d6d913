/* SPDX-License-Identifier: Apache-2.0 */
/* pod_signal.h - signals that a user has sent to a running pod, as its annotation
 * kiln.hpc/signals has them
 *
 * "3:USR1:Children 4:TERM:All": a number that grows by one with each signal, so
 * that each is delivered at most once however often it is read; the signal; and
 * the processes that get it. The last few are kept, for an agent that could not
 * be reached. "5:USR1:Step:3:1764468000": to the tasks of a step; with the time, so that an
 * agent that was started again does not send it twice. "END": the step is to end. A word
 * "5:By:1001" behind it has the uid of who sent it; earlier releases skip it.
 *
 * Thread: any; pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;

enum pod_signal_target {
    POD_SIGNAL_CHILDREN, /* what the script has started, but not its shell */
    POD_SIGNAL_SCRIPT,   /* the first process */
    POD_SIGNAL_ALL,
    POD_SIGNAL_STEP, /* the tasks of one step */
};

struct pod_signal {
    int64_t sequence;
    int number;
    enum pod_signal_target target;
    int64_t step, at_s; /* of POD_SIGNAL_STEP, whose number is 0 for its end */
    bool has_sender;    /* of the same */
    int64_t sender;     /* a uid */
};

/* "USR1", "SIGUSR1" or "10"; 0: there is no such signal. Real-time signals have
 * no names, and cannot be sent.
 */
int pod_signal_number(const char *text);
const char *pod_signal_name(int number);

/* Of a step on several nodes krun passes a signal on. The end (0), and SIGKILL, which has no more
 * effect if it comes twice, each node is told too, because krun may be stopped.
 */
bool pod_signal_is_for_all_nodes(int number);

/* "Children", "Script", "All", "Step"; false: it is no such word. */
bool pod_signal_find_target(const char *word, enum pod_signal_target *ret_target);
const char *pod_signal_target_word(enum pod_signal_target target);

/* The list with one more signal, whose sequence is the next; `list` may be NULL. */
const char *pod_signals_add(const char *list, const struct pod_signal *signal, struct arena *arena);

/* Reads the next signal of the list, and advances it; false at its end. An
 * entry that cannot be read, because a later release has written it, is skipped.
 */
bool pod_signals_next(const char **list, struct pod_signal *ret_signal);
