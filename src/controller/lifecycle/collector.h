/* SPDX-License-Identifier: Apache-2.0 */
/* collector.h - what depends on objects that go: deleted with them, before
 * them, or left alone
 *
 * Background: an object whose owners are all gone is deleted. Foreground and
 * Orphan are finalizers of the owner: its dependents are deleted first, or
 * forget it. Pods of Jobs that are gone are the garbage loop's, which looks
 * them up by Job.
 *
 * Owns:    an informer of every kind that the stock has not.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct collector;
struct loop;
struct stock;

/* Life. Made before stock_start. */
void collector_free(struct collector *c);
struct collector *collector_new(struct loop *loop,
                                struct client *client,
                                struct stock *stock) OWNED_BY(collector_free);
DEFINE_CLEANUP(struct collector, collector_free)
