/* SPDX-License-Identifier: Apache-2.0 */
/* node_reservation.h - nodes that are kept for some users, or for nobody, for a
 * time: kind Reservation
 *
 * A reservation has either nodes by name, or a number of nodes with some
 * labels, which the lifecycle thread chooses (status.nodes). A pod names a
 * reservation in spec.placement.reservation.
 *
 * A window is one interval in which the reservation has its nodes. A recurring
 * reservation has a window each day or week, at the same local hour. A flexible
 * reservation has its nodes from its start on; it begins when they are free of
 * others' pods, and lasts for its duration from then.
 *
 * Thread:  any; plain data.
 * See:     kiln-time(7).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/api/object/meta.h"

struct object;

#define RESERVATION_PLANNED "Planned"
#define RESERVATION_ACTIVE  "Active"
#define RESERVATION_ENDED   "Ended"

struct node_reservation_spec {
    LIST_OF(const char *) nodes;
    int64_t node_count; /* instead of names; 0: none */
    struct string_map node_selector;
    LIST_OF(const char *) users;
    LIST_OF(const char *) groups;
    LIST_OF(const char *) accounts; /* namespaces */
    int64_t start_us;
    int64_t end_us;         /* of the first window; 0: use duration */
    const char *duration;   /* partition_time_s; "": unlimited */
    const char *recurrence; /* "", Daily, Weekly */
    const char *time_zone;  /* "": UTC */
    bool is_maintenance;
    bool is_flexible;
    int64_t deadline_us; /* of a flexible one: latest beginning; or 0 */
    bool may_overlap;
    const char *reason;
};

struct node_reservation_status {
    const char *state;
    int64_t start_us, end_us; /* of the current or next window; 0: none */
    int64_t begun_us;         /* of a flexible one that has begun */
    LIST_OF(const char *) nodes;
    const char *message;
};

struct node_reservation {
    struct meta meta;
    struct node_reservation_spec spec;
    struct node_reservation_status status;
};

extern const struct record node_reservation_record;

const struct node_reservation *node_reservation_of(const struct object *object);

/* The nodes of the reservation: by name or as chosen. */
unsigned node_reservation_nodes(const struct node_reservation *r, const char *const **ret_names);

/* The first window that ends after at_us; false: there is none any more.
 * until_us is INT64_MAX if the window is unlimited, or flexible and not begun.
 */
struct reserved_window {
    int64_t from_us, until_us;
};
bool node_reservation_window(const struct node_reservation *r, int64_t at_us,
                             struct reserved_window *ret_window);

/* Whether a window overlaps this interval. */
bool node_reservation_meets(const struct node_reservation *r, int64_t from_us, int64_t until_us);

/* Whether windows of the two overlap within a year from at_us on. */
bool node_reservation_meets_other(const struct node_reservation *a,
                                  const struct node_reservation *b, int64_t at_us);
