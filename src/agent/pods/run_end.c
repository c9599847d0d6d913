/* SPDX-License-Identifier: Apache-2.0 */
/* run_end.c - decides why a pod ended, where its exit code does not say it
 *
 * Whoever ordered the end first is the reason, and has set it: a refusal, a restart of the node, a
 * failure of the start. After that the shepherd's record counts, for it was there. Only an
 * end without a record has no witness: the shepherd was killed, which is not the job's fault.
 * A limit is last, because a pod that was fenced or shut down was late, too, if it took long to
 * die.
 */
#include "agent/pods/run_end.h"

#include <stdlib.h>

#include "agent/shepherd/files/exit_record.h"
#include "lib/api/object/condition_reasons.h"
#include "lib/base/alloc.h"

void
run_end_fini(struct run_end *e)
{
    exit_record_free(e->record);
    free(e->reason);
    free(e->message);
}

void
run_end_set(struct run_end *e, const char *reason, const char *message)
{
    free(e->reason);
    free(e->message);
    e->reason = reason != NULL ? xstrdup(reason) : NULL;
    e->message = message != NULL ? xstrdup(message) : NULL;
}

static void
disrupt(struct run_end *e, const char *reason, const char *message)
{
    run_end_set(e, reason, message);
    e->is_disruption = true;
}

void
run_end_explain(struct run_end *e, bool was_late)
{
    if (e->reason != NULL)
        return;
    if (e->record == NULL)
        disrupt(e, REASON_SHEPHERD_LOST,
                "the process that supervised this pod was killed, so there is no "
                "record of how the pod ended");
    else if (e->record->was_fenced)
        disrupt(e, REASON_NODE_LOST,
                "its node was cut off from the controller for longer than "
                "fenceAfterSeconds, and the node ended it");
    else if (e->record->was_shut_down)
        disrupt(e, REASON_NODE_SHUTDOWN, "it was ended because its node was being shut down");
    else if (was_late || e->record->was_late)
        run_end_set(e, REASON_DEADLINE_EXCEEDED,
                    "Pod was active on the node longer than the specified "
                    "deadline");
}

char *
run_end_format_checkpoint(const struct run_end *end, bool *ret_is_good)
{
    const struct exit_record *e = end->record;
    const double seconds = (double)e->checkpoint_us / 1000000;

    *ret_is_good = false;
    if (e->checkpoint_failure != NULL)
        return xasprintf("the checkpoint command could not be started: %s", e->checkpoint_failure);
    if (e->was_checkpoint_cut)
        return xasprintf("the checkpoint command had not ended after %.1f s, "
                         "when its part of the grace period was over, and "
                         "was killed",
                         seconds);
    *ret_is_good = e->checkpoint_code == 0;
    return xasprintf("the checkpoint command ended with exit code %d "
                     "after %.1f s",
                     (int)e->checkpoint_code, seconds);
}
