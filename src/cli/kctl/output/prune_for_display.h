/* SPDX-License-Identifier: Apache-2.0 */
/* prune_for_display.h - removes the parts of an object that only programs need
 *
 * "kctl get -o yaml" shows everything. A description leaves out defaults that
 * mean nothing on bare metal, the keys that link a pod to its job, and parts
 * that other verbs of kctl draw.
 *
 * Thread: any.
 */
#pragma once

struct json;

/* Changes the tree in place; the result is a valid tree. */
void prune_for_display(struct json *object);
