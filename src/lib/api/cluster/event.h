/* SPDX-License-Identifier: Apache-2.0 */
/* event.h - a report that something happened to an object (core/v1 Event)
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object_reference.h"

struct object;

struct event {
    struct meta meta;
    struct object_reference involved;
    const char *reason;    /* "Scheduled" */
    const char *message;   /* for people */
    const char *type;      /* "Normal", "Warning" */
    const char *component; /* source.component */
    const char *host;      /* source.host */
    int64_t count;
    int64_t first_at_us;
    int64_t last_at_us;
    int64_t event_at_us;
    const char *reporting_component;
};

extern const struct record event_record;
extern const struct record event_source_record;

/* The selectable fields under the names of events.k8s.io. */
#define N_EVENT_REGARDING 10
extern const struct selectable_field event_regarding[N_EVENT_REGARDING];

enum event_index {
    EVENT_BY_OBJECT, /* name of the object concerned */
    N_EVENT_INDEXES,
};
extern const struct kind_index event_regarding_indexes[N_EVENT_INDEXES];

const struct event *event_of(const struct object *object);

/* Adds the mistakes in an event, under its field names in core. `controller` is
 * the request's name for the field of the reporting controller.
 */
struct causes;
struct json;
void event_check(struct causes *c, const struct json *event, const char *controller);
