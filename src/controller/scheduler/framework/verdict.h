/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - the answers of plugins, with reasons as numbers
 *
 * A scheduling answer is not an error. Text is made only when somebody reads
 * it: a reason is the number of an interned text, which may consist of several
 * reasons separated by newlines ("Insufficient cpu\nToo many pods").
 *
 * Thread: any; plain data.
 * Source: kube-scheduler, framework.Status and its codes.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/string_ids.h"

enum verdict {
    VERDICT_OK,
    VERDICT_SKIP,    /* nothing to do for this pod or this plugin */
    VERDICT_REJECT,  /* Unschedulable: preemption may help */
    VERDICT_NEVER,   /* UnschedulableAndUnresolvable: preemption cannot help */
    VERDICT_WAIT,    /* Permit: not yet; PreBind and Bind: will call back */
    VERDICT_PENDING, /* waits for something outside; skips backoff */
    VERDICT_ERROR,   /* unexpected failure; tried again after backoff */
};

#define PLUGIN_NONE UINT8_MAX

/* One plugin's answer for one node, or for the pod. */
struct answer {
    uint8_t verdict; /* enum verdict */
    uint8_t plugin;  /* index of the plugin that did not answer OK */
    uint32_t reason; /* of handle->reasons; STRING_ID_NONE: none */
};

#define ANSWER_OK                 \
    ((struct answer){             \
        .verdict = VERDICT_OK,    \
        .plugin = PLUGIN_NONE,    \
        .reason = STRING_ID_NONE, \
    })

/* Upstream's name of the code: "Success", "Unschedulable", ... */
const char *verdict_name(enum verdict verdict);

/* One bit stands for all extenders; it is above the bits of all plugins. */
#define PLUGIN_EXTENDERS 63

typedef uint64_t plugin_set;
#define PLUGIN_BIT(plugin) (UINT64_C(1) << (plugin))
