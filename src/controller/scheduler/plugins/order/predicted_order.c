/* SPDX-License-Identifier: Apache-2.0 */
/* PredictedOrder - the highest priority first, then jobs that are predicted to
 * be short, unless one has waited too long
 *
 * Kiln's own. It orders by predictions from a user's earlier jobs, or only by
 * time limits (pod_ranks.h has both). Jobs that have waited too long go before
 * all others of their priority. Among themselves they, and jobs of equal rank,
 * keep the order of submission.
 *
 * Extension points:  queue sort
 * Arguments:         PredictedOrderArgs: by ("prediction", "limit")
 */
#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

#define BY_PREDICTION "prediction"
#define BY_LIMIT      "limit"

extern const struct plugin submission_order_plugin;

struct predicted_order {
    bool by_limit;
};

static const struct field predicted_order_args_fields[] = {
    OPAQUE(STRING, "by", KEPT),
};
static OPAQUE_RECORD(predicted_order_args, "PredictedOrderArgs");

static int
predicted_order_make(struct handle *handle, const struct json *args, void **ret_self,
                     struct error *err)
{
    const char *by = json_get_text(args, "by");
    struct predicted_order *self;

    (void)handle;
    if (by != NULL && strcmp(by, BY_PREDICTION) != 0 && strcmp(by, BY_LIMIT) != 0)
        return error_set(err, -EINVAL, "by: '%s' is neither '" BY_PREDICTION "' nor '" BY_LIMIT "'",
                         by);
    self = xnew(struct predicted_order);
    self->by_limit = by != NULL && strcmp(by, BY_LIMIT) == 0;
    *ret_self = self;
    return 0;
}

/* A job without a limit counts as the longest. */
static int64_t
limit_s(const struct queued_pod *queued)
{
    const int64_t *limit = queued->pod->pod->spec.active_deadline_seconds;

    return limit != NULL ? *limit : INT64_MAX;
}

static bool
predicted_order_less(void *self, const struct queued_pod *a, const struct queued_pod *b)
{
    const struct predicted_order *order = self;
    const struct queue_rank *ra = &a->rank, *rb = &b->rank;

    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    if (a->queued_group != NULL && a->queued_group == b->queued_group)
        return submission_order_plugin.less(NULL, a, b); /* same rank */
    if (ra->number == rb->number)                        /* same rank, whenever it was computed */
        return submission_order_plugin.less(NULL, a, b);
    if (ra->is_guarded != rb->is_guarded)
        return ra->is_guarded;
    if (!ra->is_guarded && order->by_limit && limit_s(a) != limit_s(b))
        return limit_s(a) < limit_s(b);
    if (!ra->is_guarded && !order->by_limit && (ra->key < rb->key || ra->key > rb->key))
        return ra->key < rb->key;
    return submission_order_plugin.less(NULL, a, b);
}

const struct plugin predicted_order_plugin = {
    .name = "PredictedOrder",
    .args = &predicted_order_args_record,
    .default_args = "{\"by\":\"" BY_PREDICTION "\"}",
    .make = predicted_order_make,
    .drop = free,
    .is_ranked = true,
    .less = predicted_order_less,
};
