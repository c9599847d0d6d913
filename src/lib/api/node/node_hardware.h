/* SPDX-License-Identifier: Apache-2.0 */
/* node_hardware.h - the hardware that a node is expected to have
 *
 * The annotation kiln.hpc/expected-hardware: "cpu=128 memory=263168000Ki
 * kiln.hpc/gpu=4". It is learnt from the first capacity that the node's agent
 * reports, and raised when the capacity grows. Removing the annotation accepts
 * the hardware that is there; "any" expects nothing.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

struct node;
struct strbuf;

#define ANNOTATION_EXPECTED_HARDWARE "kiln.hpc/expected-hardware"

/* Appends what is missing to `words`. */
bool node_hardware_is_missing(const struct node *node, struct strbuf *words);

/* The new value of the annotation, owned by the caller; NULL: it does not
 * change.
 */
char *node_hardware_learn(const struct node *node);
