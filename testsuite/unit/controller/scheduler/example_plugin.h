/* SPDX-License-Identifier: Apache-2.0 */
/* example_plugin.h - everything that is needed to add a plugin: one file, and
 * one line in a profile
 *
 * QuietHours: pods labelled "loud" may not run on nodes labelled "quiet", quiet
 *             nodes get lower scores for other pods, and a loud pod waits in
 *             permit until the test allows it. doc/scheduling.md walks through
 *             it.
 *
 * Extension points:  prefilter, filter, score, permit, prebind
 * Cycle state:       whether the pod is loud
 * Woken by:          a node joining, or its labels changing
 */
#pragma once

#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"

/* How often each point ran, and the answers of the background ones. */
struct quiet_hours {
    struct handle *handle;
    uint32_t is_quiet; /* id of the reason */
    enum verdict permit_answer;
    enum verdict prebind_answer;
    unsigned prebinds, reserves, unreserves;
    struct assignment *waiting; /* in prebind */
    struct pod_view *permitted; /* in permit, the last */
    struct cycle *permitted_in;
};

static const char quiet_key;
static struct quiet_hours quiet_hours;

static int
quiet_make(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    (void)args, (void)err;
    quiet_hours.handle = handle;
    quiet_hours.is_quiet = handle_reason(handle, "node(s) are quiet now");
    *ret_self = &quiet_hours;
    return 0;
}

static bool
has_label(const struct meta *meta, const char *label)
{
    return string_map_find(&meta->labels, label) != NULL;
}

static enum verdict
quiet_prefilter(void *self, struct cycle *c, struct prefilter_result *ret_result,
                uint32_t *ret_reason)
{
    (void)self, (void)ret_result, (void)ret_reason;
    if (!has_label(&c->pod->pod->meta, "loud"))
        return VERDICT_SKIP;
    cycle_put(c, &quiet_key, c->pod, NULL, NULL);
    return VERDICT_OK;
}

static enum verdict
quiet_filter(void *self, const struct cycle *c, const struct node_view *node, uint32_t *ret_reason)
{
    const struct quiet_hours *me = self;

    if (cycle_get(c, &quiet_key) == NULL || !has_label(&node->node->meta, "quiet"))
        return VERDICT_OK;
    *ret_reason = me->is_quiet;
    return VERDICT_REJECT;
}

static int64_t
quiet_score(void *self, const struct cycle *c, const struct node_view *node)
{
    (void)self, (void)c;
    return has_label(&node->node->meta, "quiet") ? 0 : SCORE_MAX;
}

static bool
quiet_sign(void *self, const struct pod_view *pod, struct strbuf *out)
{
    (void)self;
    strbuf_add_text(out, has_label(&pod->pod->meta, "loud") ? "loud" : "");
    return true;
}

static enum verdict
quiet_reserve(void *self, struct cycle *c, const struct node_view *node, uint32_t *ret_reason)
{
    struct quiet_hours *me = self;

    (void)c, (void)node, (void)ret_reason;
    me->reserves++;
    return VERDICT_OK;
}

static void
quiet_unreserve(void *self, struct cycle *c, const struct node_view *node)
{
    struct quiet_hours *me = self;

    (void)c, (void)node;
    me->unreserves++;
}

static enum verdict
quiet_permit(void *self, struct cycle *c, const struct node_view *node, int64_t *ret_timeout_us,
             uint32_t *ret_reason)
{
    struct quiet_hours *me = self;

    (void)node;
    me->permitted = c->pod;
    me->permitted_in = c;
    *ret_timeout_us = 5000000;
    *ret_reason = handle_reason(me->handle, "not now");
    return me->permit_answer;
}

static enum verdict
quiet_prebind(void *self, struct assignment *a, uint32_t *ret_reason)
{
    struct quiet_hours *me = self;

    (void)ret_reason;
    me->prebinds++;
    me->waiting = a;
    return me->prebind_answer;
}

static const struct wake quiet_wakes[] = {
    {EVENT_NODE, ACTION_ADD | ACTION_UPDATE_NODE_LABEL, NULL},
    WAKE_NEW_NODES,
};

static const struct plugin quiet_plugin = {
    .name = "QuietHours",
    .make = quiet_make,
    .wakes = quiet_wakes,
    .n_wakes = 2,
    .sign = quiet_sign,
    .prefilter = quiet_prefilter,
    .filter_one = quiet_filter,
    .score_one = quiet_score,
    .reserve = quiet_reserve,
    .unreserve = quiet_unreserve,
    .permit = quiet_permit,
    .prebind = quiet_prebind,
};
