/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_controller.h - Reservations begin, end, and have their nodes
 *
 * Keeps the status of each Reservation (reservation_status.h). A node of a
 * maintenance is cordoned while that is active, and uncordoned when it ends or
 * goes; one that an administrator has cordoned before stays as it is. A
 * Reservation that ended a day ago is deleted.
 *
 * Owns:    its queue and the calls under way.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct object_cache;
struct reservation_controller;

/* Life. The calls under way must be cancelled (client_abandon) before it is
 * freed.
 */
void reservation_controller_free(struct reservation_controller *c);
struct reservation_controller *
reservation_controller_new(struct loop *loop,
                           struct client *client,
                           struct object_cache *cache,
                           struct clock *clock)
    OWNED_BY(reservation_controller_free);
