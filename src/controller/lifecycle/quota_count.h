/* SPDX-License-Identifier: Apache-2.0 */
/* quota_count.h - what the objects of a namespace take of its ResourceQuotas
 *
 * Admission charges what is made; this keeps count of what is there, so that
 * what goes is given back.
 *
 * Owns:    its informers of quotas and of what they limit, but for pods and
 *          Jobs, which are in stock.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct loop;
struct quota_count;
struct stock;

/* Life. Made before stock_start. */
void quota_count_free(struct quota_count *q);
struct quota_count *
quota_count_new(struct loop *loop, struct client *client, struct stock *stock)
    OWNED_BY(quota_count_free);
DEFINE_CLEANUP(struct quota_count, quota_count_free)
