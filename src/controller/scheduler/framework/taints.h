/* SPDX-License-Identifier: Apache-2.0 */
/* taints.h - which taints of a node a pod tolerates
 *
 * Thread: any; pure functions.
 * Source: k8s.io/component-helpers/scheduling/corev1, toleration matching.
 */
#pragma once

#include <stdbool.h>

struct node_spec;
struct pod_spec;
struct strbuf;
struct taint;

bool taint_is_tolerated(const struct taint *taint, const struct pod_spec *pod);

/* The first NoSchedule or NoExecute taint that the pod does not tolerate, or
 * NULL.
 */
const struct taint *taints_find_untolerated(const struct node_spec *node,
                                            const struct pod_spec *pod);

bool taints_equal(const struct node_spec *a, const struct node_spec *b);

/* Appends the pod's tolerations to a signature. */
void tolerations_sign(const struct pod_spec *pod, struct strbuf *out);
