/* SPDX-License-Identifier: Apache-2.0 */
/* prune_for_display.h - an object without what only programs look at
 *
 * "kctl get -o yaml" shows everything; a person who reads a description is
 * not helped by defaults that mean nothing on bare metal, by the keys that tie
 * a pod to its job, nor by what has a picture of its own.
 */
#pragma once

struct json;

/* Takes it out of the tree, which stays valid. */
void prune_for_display(struct json *object);
