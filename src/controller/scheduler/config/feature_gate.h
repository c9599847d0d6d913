/* SPDX-License-Identifier: Apache-2.0 */
/* feature_gate.h - what of the scheduler can be switched on and off, by the
 * names upstream has for it
 *
 * Plain data. A gate that is locked has one value and may be given that alone,
 * so that command lines written for kube-scheduler work.
 *
 * Thread: any; plain data.
 * Source: kube-scheduler, --feature-gates; k8s.io/component-base/featuregate.
 */
#pragma once

#include <stdbool.h>

struct error;

enum feature {
    FEATURE_ASYNC_API_CALLS,
    FEATURE_ASYNC_PREEMPTION,
    FEATURE_OPPORTUNISTIC_BATCHING, /* equal pods share results */
    FEATURE_QUEUEING_HINTS,
};
#define FEATURES 4

struct feature_gates {
    bool is_on[FEATURES];
};

void feature_gates_init(struct feature_gates *gates);

/* "NAME=true" or "NAME=false"; also AllAlpha and AllBeta. -EINVAL: no such
 * gate, no such value, or locked.
 */
int feature_gates_set(struct feature_gates *gates,
                      const char *pair,
                      struct error *err);
