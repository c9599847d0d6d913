/* SPDX-License-Identifier: Apache-2.0 */
/* step_reporter.h - sends the records of steps to the controller
 *
 * One request at a time for all jobs of the node, at most every ten seconds; sooner only
 * when a job has ended. Records that are not acknowledged are sent again.
 *
 * Thread:  the loop's.
 */
#pragma once

#include <stdbool.h>

#include "lib/base/macro.h"

struct agent_context;
struct step_records;
struct step_reporter;

/* Life. The records must live longer. `observe` brings the records of running steps up to
 * date before a report; it returns whether there are any.
 */
typedef bool step_reporter_observe_fn(void *context);
void step_reporter_free(struct step_reporter *reporter);
struct step_reporter *step_reporter_new(const struct agent_context *agent,
                                        struct step_records *records,
                                        step_reporter_observe_fn *observe, void *context)
    OWNED_BY(step_reporter_free);

/* A record has changed; with `is_end`, the last one of a job. */
void step_reporter_note(struct step_reporter *reporter, bool is_end);
