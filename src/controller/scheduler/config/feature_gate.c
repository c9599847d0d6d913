/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/config/feature_gate.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"

static const struct gate {
    const char *name;
    const char *stage;
    bool is_default;
    bool is_locked;
} gates[FEATURES] = {
    [FEATURE_ASYNC_API_CALLS] = {"SchedulerAsyncAPICalls", "", true, true},
    [FEATURE_ASYNC_PREEMPTION] = {"SchedulerAsyncPreemption", "", true, true},
    [FEATURE_OPPORTUNISTIC_BATCHING] = {"OpportunisticBatching", "BETA", true, false},
    [FEATURE_QUEUEING_HINTS] = {"SchedulerQueueingHints", "", true, true},
};

void
feature_gates_init(struct feature_gates *g)
{
    for (unsigned i = 0; i < FEATURES; i++)
        g->is_on[i] = gates[i].is_default;
}

static bool
is_named(const char *pair, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(pair, name, length) == 0;
}

static int
unknown_gate(const char *pair, size_t length, struct error *err)
{
    const char *names[FEATURES], *meant;
    char name[128];

    for (unsigned i = 0; i < FEATURES; i++)
        names[i] = gates[i].name;
    if (length >= sizeof(name))
        length = sizeof(name) - 1;
    memcpy(name, pair, length);
    name[length] = '\0';
    meant = spelling_nearest(name, names, FEATURES);
    return error_set(err, -EINVAL, "there is no feature gate '%s'%s%s%s", name,
                     meant != NULL ? " (did you mean '" : "", meant != NULL ? meant : "",
                     meant != NULL ? "'?)" : "");
}

static void
set_stage(struct feature_gates *g, const char *stage, bool is_on)
{
    for (unsigned i = 0; i < FEATURES; i++)
        if (strcmp(gates[i].stage, stage) == 0 && !gates[i].is_locked)
            g->is_on[i] = is_on;
}

int
feature_gates_set(struct feature_gates *g, const char *pair, struct error *err)
{
    size_t length = strcspn(pair, "=");
    const char *value = pair + length + (pair[length] == '=');
    bool is_on = strcmp(value, "true") == 0;

    if (!is_on && strcmp(value, "false") != 0)
        return error_set(err, -EINVAL, "'%s': a feature gate must be NAME=true or NAME=false",
                         pair);
    if (is_named(pair, length, "AllAlpha")) {
        set_stage(g, "ALPHA", is_on);
        return 0;
    }
    if (is_named(pair, length, "AllBeta")) {
        set_stage(g, "BETA", is_on);
        return 0;
    }
    for (unsigned i = 0; i < FEATURES; i++) {
        if (!is_named(pair, length, gates[i].name))
            continue;
        if (gates[i].is_locked && is_on != gates[i].is_default)
            return error_set(err, -EINVAL, "the feature gate '%s' is always %s", gates[i].name,
                             gates[i].is_default ? "on" : "off");
        g->is_on[i] = is_on;
        return 0;
    }
    return unknown_gate(pair, length, err);
}
