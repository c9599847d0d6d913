/* SPDX-License-Identifier: Apache-2.0 */
/* krun_settings.h - what the options, and the variables that stand for options, ask of
 * one krun
 *
 * Thread:  the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/step/step_request.h"

#define KRUN_NOTES_MOST 48
#define KRUN_UNSET      (-1)

struct krun_settings {
    const char *program; /* "krun", or "srun", as it was started */
    struct step_request request;
    const char *submit_line; /* the words of its command line */

    /* Options that become something else of the request. */
    const char *job; /* --jobid */
    const char *directory, *exported, *input, *output, *error;
    int64_t gpus; /* of the step; KRUN_UNSET */
    bool takes_whole_nodes, has_several_programs, appends_if_set;
    bool has_no_gpus;
    const char *limits; /* --propagate */

    /* How krun itself behaves. */
    bool labels, is_unbuffered, is_quiet, ends_at_first_interrupt, quits_at_interrupt;
    bool shows_version, lists_mpi;
    int64_t verbosity;
    int64_t kills_on_bad_exit; /* KRUN_UNSET, 0 or 1 */
    int64_t wait_s;            /* after the first task's end; KRUN_UNSET, 0: for ever */
    int64_t patience_s;        /* --immediate: to wait for CPUs; KRUN_UNSET */
    int64_t time_limit_s;      /* 0: the job's */
    int64_t signal, signal_before_s;
    const char *prolog, *epilog; /* run by krun itself */
    int lost;                    /* the pipe of KRUN_LOST (krun.h), or -1 */

    /* Whether the command line has the number, which counts more than the job's own in the
     * environment.
     */
    bool has_tasks, has_nodes, has_tasks_per_node;

    const char *notes[KRUN_NOTES_MOST]; /* options that have no effect in a step */
    unsigned n_notes;
};
