/* SPDX-License-Identifier: Apache-2.0 */
/* reservation_request.h - makes or changes a Reservation by options of a command
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct error;
struct kctl;

struct reservation_request {
    const char *name;
    const char *nodes; /* "n[1-3],n7"; NULL: by count and labels */
    int64_t count;
    const char *labels;   /* "a=b,c=d"; or NULL */
    const char *start;    /* NULL: now */
    const char *end;      /* or NULL */
    const char *duration; /* or NULL */
    const char *deadline; /* of a flexible reservation; or NULL */
    const char *users;    /* "a,b"; or NULL */
    const char *groups;
    const char *accounts;
    const char *recurrence; /* "Daily"; or NULL */
    const char *time_zone;  /* NULL: that of this user */
    const char *reason;
    const char *version; /* of the reservation that is changed; NULL: any */
    bool is_maintenance;
    bool is_flexible;
    bool may_overlap;
    bool is_dry_run; /* creates nothing */
};

/* Creates the Reservation and prints the result. Warnings of the server are
 * printed to standard error.
 */
int reservation_request_send(struct kctl *kctl, const struct reservation_request *request,
                             struct arena *arena, struct error *err);

/* Changes the fields that are not NULL (and not 0) of the Reservation with that name, and prints
 * nothing. -ENODATA: there are none. -ESTALE: it has another version. -ENOENT: there is no such Reservation.
 */
int reservation_request_change(struct kctl *kctl, const struct reservation_request *request,
                               struct arena *arena, struct error *err);
