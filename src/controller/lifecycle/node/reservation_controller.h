/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_controller.h - begins and ends Reservations and chooses their
 * nodes
 *
 * The loop keeps the status of each Reservation (reservation_status.h). It
 * cordons the nodes of a maintenance while that is active, and uncordons them
 * when the maintenance ends or is deleted; a node that an administrator
 * cordoned before stays cordoned. A Reservation that ended a day ago is
 * deleted.
 *
 * Owns:    its queue and its event recorder.
 * Thread:  the lifecycle loop's.
 */
#pragma once

#include "lib/base/macro.h"

struct client;
struct clock;
struct loop;
struct object_cache;
struct reservation_controller;

/* Life. Pending calls must be cancelled (client_abandon) before the controller
 * is freed.
 */
void reservation_controller_free(struct reservation_controller *c);
struct reservation_controller *reservation_controller_new(struct loop *loop, struct client *client,
                                                          struct object_cache *cache,
                                                          struct clock *clock)
    OWNED_BY(reservation_controller_free);
