/* SPDX-License-Identifier: Apache-2.0 */
/* node_hardware.h - what a node is expected to have, and whether it has it
 *
 * The annotation kiln.hpc/expected-hardware: "cpu=128 memory=263168000Ki
 * kiln.hpc/gpu=4", learnt from the capacity that the node's agent said first,
 * and raised when there is more. Taking it away accepts what there is; "any"
 * expects nothing.
 *
 * Thread:  any.
 */
#pragma once

#include <stdbool.h>

struct node;
struct strbuf;

#define ANNOTATION_EXPECTED_HARDWARE "kiln.hpc/expected-hardware"

/* Words: what is missing, appended. */
bool node_hardware_is_missing(const struct node *node, struct strbuf *words);

/* The annotation that is to be written, the caller's; NULL when it stands. */
char *node_hardware_learn(const struct node *node);
