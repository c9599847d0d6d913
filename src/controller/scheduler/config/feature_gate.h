/* SPDX-License-Identifier: Apache-2.0 */
/* feature_gate.h - the scheduler's feature gates, by upstream's names
 *
 * A locked gate has one value, and only that value may be given, so that
 * command lines written for kube-scheduler work.
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

/* `pair` is "NAME=true" or "NAME=false"; NAME may also be AllAlpha or AllBeta.
 * -EINVAL: there is no such gate, the value is not valid, or the gate is
 * locked.
 */
int feature_gates_set(struct feature_gates *gates, const char *pair, struct error *err);
