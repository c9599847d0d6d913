/* SPDX-License-Identifier: Apache-2.0 */
/* quota_count.h - what the objects of a namespace take of its ResourceQuotas
 *
 * Admission charges what is made; this counts anew what is there, when a quota
 * or a pod changed, so that what goes is given back.
 *
 * Owns:    its informer of quotas.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct quota_count;
struct stock;

/* Life. Made before stock_start. */
void quota_count_free(struct quota_count *q);
struct quota_count *quota_count_new(struct loop *loop,
                                    struct client *client,
                                    struct stock *stock,
                                    struct clock *clock)
    OWNED_BY(quota_count_free);
DEFINE_CLEANUP(struct quota_count, quota_count_free)
