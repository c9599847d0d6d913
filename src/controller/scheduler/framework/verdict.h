/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.h - what a plugin answers, and why, as numbers
 *
 * A scheduling answer is not an error. The words are made only when somebody
 * reads them: a reason is the number of an interned text, or of several with
 * newlines between them ("Insufficient cpu\nToo many pods").
 *
 * Thread: any; plain data.
 * Source: kube-scheduler, framework.Status and its codes.
 */
#pragma once

#include <stdint.h>

#include "controller/scheduler/framework/string_ids.h"

enum verdict {
    VERDICT_OK,
    VERDICT_SKIP,    /* nothing to do for this pod, or not mine */
    VERDICT_REJECT,  /* Unschedulable: another pod leaving may help */
    VERDICT_NEVER,   /* UnschedulableAndUnresolvable: no preemption helps */
    VERDICT_WAIT,    /* Permit: not yet; PreBind and Bind: will call back */
    VERDICT_PENDING, /* waits for something outside; skips backoff */
    VERDICT_ERROR,   /* something broke; tried again after backoff */
};

#define PLUGIN_NONE UINT8_MAX

/* One plugin's answer about one node, or about the pod. */
struct answer {
    uint8_t verdict; /* enum verdict */
    uint8_t plugin;  /* its bit in sets, of the one that did not say OK */
    uint32_t reason; /* of handle->reasons; STRING_ID_NONE: none */
};

#define ANSWER_OK                 \
    ((struct answer){             \
        .verdict = VERDICT_OK,    \
        .plugin = PLUGIN_NONE,    \
        .reason = STRING_ID_NONE, \
    })

/* "Success", "Unschedulable", ...: upstream's name of the code. */
const char *verdict_name(enum verdict verdict);

/* The extenders together have a bit of their own, behind all plugins. */
#define PLUGIN_EXTENDERS 63

/* A set of plugins, by bit. */
typedef uint64_t plugin_set;
#define PLUGIN_BIT(plugin) (UINT64_C(1) << (plugin))
