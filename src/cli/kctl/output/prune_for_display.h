/* SPDX-License-Identifier: Apache-2.0 */
/* prune_for_display.h - removes from an object what only programs read
 *
 * "kctl get -o yaml" shows everything. A description leaves out defaults that
 * mean nothing on bare metal, the keys that tie a pod to its job, and what kctl
 * draws elsewhere.
 *
 * Thread: any.
 */
#pragma once

struct json;

/* Changes the tree in place; the tree stays valid. */
void prune_for_display(struct json *object);
