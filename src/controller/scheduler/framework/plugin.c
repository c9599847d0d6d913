/* SPDX-License-Identifier: Apache-2.0 */
/* The extension points: their names, and which of them a plugin implements. */
#include "controller/scheduler/framework/plugin.h"

#include <stddef.h>

const char *
point_name(enum point point)
{
    static const char *const names[POINTS] = {
        [POINT_PRE_ENQUEUE] = "preEnqueue",
        [POINT_QUEUE_SORT] = "queueSort",
        [POINT_PREFILTER] = "preFilter",
        [POINT_FILTER] = "filter",
        [POINT_POSTFILTER] = "postFilter",
        [POINT_PRESCORE] = "preScore",
        [POINT_SCORE] = "score",
        [POINT_RESERVE] = "reserve",
        [POINT_PERMIT] = "permit",
        [POINT_PREBIND] = "preBind",
        [POINT_BIND] = "bind",
        [POINT_POSTBIND] = "postBind",
    };

    return names[point];
}

const char *
point_label(enum point point)
{
    static const char *const labels[POINTS] = {
        [POINT_PRE_ENQUEUE] = "PreEnqueue",
        [POINT_QUEUE_SORT] = "QueueSort",
        [POINT_PREFILTER] = "PreFilter",
        [POINT_FILTER] = "Filter",
        [POINT_POSTFILTER] = "PostFilter",
        [POINT_PRESCORE] = "PreScore",
        [POINT_SCORE] = "Score",
        [POINT_RESERVE] = "Reserve",
        [POINT_PERMIT] = "Permit",
        [POINT_PREBIND] = "PreBind",
        [POINT_BIND] = "Bind",
        [POINT_POSTBIND] = "PostBind",
    };

    return labels[point];
}

bool
plugin_has_point(const struct plugin *p, enum point point)
{
    switch (point) {
    case POINT_PRE_ENQUEUE:
        return p->pre_enqueue != NULL;
    case POINT_QUEUE_SORT:
        return p->less != NULL;
    case POINT_PREFILTER:
        return p->prefilter != NULL;
    case POINT_FILTER:
        return p->filter != NULL || p->filter_one != NULL;
    case POINT_POSTFILTER:
        return p->postfilter != NULL;
    case POINT_PRESCORE:
        return p->prescore != NULL;
    case POINT_SCORE:
        return p->score != NULL || p->score_one != NULL;
    case POINT_RESERVE:
        return p->reserve != NULL || p->unreserve != NULL;
    case POINT_PERMIT:
        return p->permit != NULL;
    case POINT_PREBIND:
        return p->prebind != NULL;
    case POINT_BIND:
        return p->bind != NULL;
    case POINT_POSTBIND:
        return p->postbind != NULL;
    }
    return false;
}
