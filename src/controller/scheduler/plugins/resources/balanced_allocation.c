/* SPDX-License-Identifier: Apache-2.0 */
/* NodeResourcesBalancedAllocation - prefers nodes whose resources would be used
 * in equal fractions
 *
 * Extension points:  score
 * Arguments:         resources
 */
#include <errno.h>
#include <math.h>

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/resources/resource_score.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/json/json.h"

static const struct field balanced_allocation_args_fields[] = {
    OPAQUE_OBJECTS("resources", resource_weight, 0),
};
static OPAQUE_RECORD(balanced_allocation_args, "NodeResourcesBalancedAllocationArgs");

static void
balanced_allocation_drop(void *arg)
{
    struct resource_score *self = arg;

    resource_score_fini(self);
    free(self);
}

static int
balanced_allocation_make(struct handle *handle, const struct json *args, void **ret_self,
                         struct error *err)
{
    struct resource_score *self = xnew(struct resource_score);
    int r = resource_score_init(self, handle->resources, json_get(args, "resources"), "resources",
                                true, err);

    if (r < 0) {
        free(self);
        return r;
    }
    for (unsigned i = 0; i < self->count; i++)
        if (self->weights[i].weight != 1) {
            r = error_set(err, -EINVAL,
                          "resources[%u].weight: %lld is not 1: all weights "
                          "must be equal here",
                          i, (long long)self->weights[i].weight);
            balanced_allocation_drop(self);
            return r;
        }
    *ret_self = self;
    return 0;
}

static bool
balanced_allocation_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    requests_sign(pod, out);
    return true;
}

/* The standard deviation of the fractions in use. For two resources, the usual
 * case, it needs no square root.
 */
static double
deviation(const double *parts, unsigned count, double sum)
{
    double mean, squares = 0;

    if (count < 2)
        return 0;
    if (count == 2)
        return fabs((parts[0] - parts[1]) / 2);
    mean = sum / count;
    for (unsigned i = 0; i < count; i++)
        squares += (parts[i] - mean) * (parts[i] - mean);
    return sqrt(squares / count);
}

static int64_t
balanced_allocation_score_one(void *self, const struct cycle *c, const struct node_view *node)
{
    const struct resource_score *me = self;
    int64_t requested[RESOURCE_SCORE_MAX], capacity[RESOURCE_SCORE_MAX];
    double parts[RESOURCE_SCORE_MAX], sum = 0;
    unsigned count = 0;

    resource_score_read(me, c->pod, node, requested, capacity);
    for (unsigned i = 0; i < me->count; i++) {
        if (capacity[i] == 0)
            continue;
        parts[count] = (double)requested[i] / (double)capacity[i];
        if (parts[count] > 1)
            parts[count] = 1;
        sum += parts[count++];
    }
    return (int64_t)((1 - deviation(parts, count, sum)) * SCORE_MAX);
}

/* The least difference between the fractions in use of the two resources, over
 * all nodes within the bounds.
 */
static double
least_gap(const struct resource_span *a, const struct resource_span *b)
{
    double a_from = (double)a->least_used / (double)a->most_there;
    double a_to = (double)a->most_used / (double)a->least_there;
    double b_from = (double)b->least_used / (double)b->most_there;
    double b_to = (double)b->most_used / (double)b->least_there;

    a_from = a_from > 1 ? 1 : a_from;
    a_to = a_to > 1 ? 1 : a_to;
    b_from = b_from > 1 ? 1 : b_from;
    b_to = b_to > 1 ? 1 : b_to;
    if (a_from > b_to)
        return a_from - b_to;
    return b_from > a_to ? b_from - a_to : 0;
}

static int64_t
balanced_allocation_best_score(void *self, const struct cycle *c, const struct bounds *bounds)
{
    const struct resource_score *me = self;
    struct resource_span spans[2];

    if (me->count != 2)
        return SCORE_MAX;
    for (unsigned i = 0; i < 2; i++)
        if (!resource_score_span(me, i, c->pod, bounds, &spans[i]) || spans[i].least_there <= 0)
            return SCORE_MAX;
    return (int64_t)((1 - least_gap(&spans[0], &spans[1]) / 2) * SCORE_MAX);
}

const struct plugin balanced_allocation_plugin = {
    .name = "NodeResourcesBalancedAllocation",
    .args = &balanced_allocation_args_record,
    .default_args = "{\"resources\":[{\"name\":\"cpu\",\"weight\":1},"
                    "{\"name\":\"memory\",\"weight\":1}]}",
    .make = balanced_allocation_make,
    .drop = balanced_allocation_drop,
    .sign = balanced_allocation_sign,
    .score_one = balanced_allocation_score_one,
    .best_score = balanced_allocation_best_score,
};
