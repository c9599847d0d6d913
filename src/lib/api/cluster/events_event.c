/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "lib/api/cluster/event.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/rights.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

/* clang-format off */
static const struct field events_event_series_fields[] = {
    OPAQUE(INT, "count", ALWAYS | REQUIRED,
        HELP("How often it occurred.")),
    OPAQUE(MICRO_TIME, "lastObservedTime", ALWAYS | REQUIRED,
        HELP("When it occurred last.")),
};
static OPAQUE_RECORD(events_event_series, "io.k8s.api.events.v1.EventSeries",
       MESSAGE("count lastObservedTime"),
       HELP("Repeated events, reported as one."));

static const struct field events_event_fields[] = {
    TYPE_META,
    BARE_METADATA,
    OPAQUE(MICRO_TIME, "eventTime", ALWAYS | REQUIRED,
        HELP("When it occurred first.")),
    OPAQUE_OBJECT("series", events_event_series, 0,
        HELP("Repetitions of the event.")),
    OPAQUE(STRING, "reportingController", 0,
        HELP("The component that reports it.")),
    OPAQUE(STRING, "reportingInstance", 0,
        HELP("The instance of that component.")),
    OPAQUE(STRING, "action", 0,
        HELP("What was done.")),
    OPAQUE(STRING, "reason", 0,
        HELP("One word on what happened.")),
    OPAQUE_OBJECT("regarding", object_reference, ALWAYS,
        HELP("The object it is about.")),
    OPAQUE(STRING, "note", 0,
        HELP("A sentence on what happened.")),
    OPAQUE(STRING, "type", 0,
        HELP("Normal or Warning.")),
    OPAQUE_OBJECT("deprecatedSource", event_source, ALWAYS,
        HELP("The component that reports it; the old field.")),
    OPAQUE(TIME, "deprecatedFirstTimestamp", ALWAYS,
        HELP("When it occurred first; the old field.")),
    OPAQUE(TIME, "deprecatedLastTimestamp", ALWAYS,
        HELP("When it occurred last; the old field.")),
    OPAQUE(INT, "deprecatedCount", 0,
        HELP("How often it occurred; the old field.")),
    OPAQUE_OBJECT("related", object_reference, 0,
        HELP("A related object.")),
};
static RECORD(events_event, meta, "io.k8s.api.events.v1.Event",
       MESSAGE("metadata eventTime series reportingController "
               "reportingInstance action reason regarding related note type "
               "deprecatedSource deprecatedFirstTimestamp "
               "deprecatedLastTimestamp deprecatedCount"),
       HELP("Something that happened to an object. Kept for a while, at "
            "best effort."));
/* clang-format on */

/* The two names of each field. */
static const struct {
    const char *here;
    const char *in_core;
} names[] = {
    {"regarding", "involvedObject"},
    {"note", "message"},
    {"reportingController", "reportingComponent"},
    {"deprecatedSource", "source"},
    {"deprecatedFirstTimestamp", "firstTimestamp"},
    {"deprecatedLastTimestamp", "lastTimestamp"},
    {"deprecatedCount", "count"},
};

static const char *
name_in_core(const char *here)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i].here, here) == 0)
            return names[i].in_core;
    return here;
}

static const char *
name_here(const char *in_core)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(names[i].in_core, in_core) == 0)
            return names[i].here;
    return in_core;
}

static struct json *
convert(struct arena *arena, const struct json *from, const char *api_version,
        const char *(*rename)(const char *name))
{
    struct json *to = json_object(arena);

    for (uint32_t i = 0; i < from->count; i++)
        json_set(arena, to, rename(from->members[i].name), from->members[i].value);
    json_set_string(arena, to, "apiVersion", api_version);
    return to;
}

static struct json *
to_stored(struct arena *arena, const struct json *event)
{
    return convert(arena, event, "v1", name_in_core);
}

static struct json *
from_stored(struct arena *arena, const struct json *event)
{
    return convert(arena, event, "events.k8s.io/v1", name_here);
}

static void
prepare(struct arena *arena, struct json *event, const struct json *old)
{
    meta_prepare(arena, event, old);
}

static void
check_unset(struct causes *c, const struct json *event, const char *name)
{
    const struct json *v = json_get(event, name);

    if (v != NULL && v->type != JSON_NULL && !(json_is(v, JSON_OBJECT) && v->count == 0)
        && json_get_int(event, name, 1) != 0)
        causes_add(c, CAUSE_INVALID, name, json_string(c->arena, ""), "needs to be unset");
}

static void
check_series(struct causes *c, const struct json *event)
{
    const struct json *series = json_get(event, "series");

    if (!json_is(series, JSON_OBJECT))
        return;
    if (json_get_int(series, "count", 0) < 2)
        causes_add(c, CAUSE_INVALID, "series.count", json_string(c->arena, ""),
                   "should be at least 2");
    if (!check_is_set(series, "lastObservedTime"))
        causes_add(c, CAUSE_REQUIRED, "series.lastObservedTime", NULL, "%s", "");
}

static void
check_new(struct causes *c, const struct json *event)
{
    const char *type = check_text(event, "type");

    check_series(c, event);
    check_present(c, event, "eventTime", "");
    if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0)
        causes_add(c, CAUSE_INVALID, "type", json_string(c->arena, ""), "has invalid value: %s",
                   type);
    check_unset(c, event, "firstTimestamp");
    check_unset(c, event, "lastTimestamp");
    check_unset(c, event, "count");
    check_unset(c, event, "source");
}

/* Checks that the member has not changed; the message uses upstream's name. */
static void
check_kept(struct causes *c, const struct json *event, const struct json *old, const char *name)
{
    const char *shown = strcmp(name, "reportingComponent") == 0 ? "reportingController" : name;
    struct json *is = json_object(c->arena), *was = json_object(c->arena);

    if (json_get(event, name) != NULL)
        json_set(c->arena, is, shown, json_get(event, name));
    if (json_get(old, name) != NULL)
        json_set(c->arena, was, shown, json_get(old, name));
    check_immutable(c, is, was, shown);
}

static void
check_changes(struct causes *c, const struct json *event, const struct json *old)
{
    static const char *const kept[] = {
        "involvedObject",    "reason",        "message", "source",
        "firstTimestamp",    "lastTimestamp", "count",   "type",
        "eventTime",         "action",        "related", "reportingComponent",
        "reportingInstance",
    };
    const struct json *series = json_get(event, "series");
    const struct json *was = json_get(old, "series");

    if (series != NULL && (was == NULL || !json_equals(series, was)))
        check_series(c, event);
    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        check_kept(c, event, old, kept[i]);
}

/* As in upstream, the checks use the event's field names in core. */
static void
validate(struct causes *c, const struct json *event, const struct json *old)
{
    const struct json *stored = to_stored(c->arena, event);

    event_check(c, stored, "reportingController");
    meta_check(c, &events_event_kind, NAME_DNS_SUBDOMAIN, event, old);
    if (old == NULL)
        check_new(c, stored);
    else
        check_changes(c, stored, to_stored(c->arena, old));
}

static const struct right rights[] = {
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_OWN},
};

const struct kind events_event_kind = {
    .group = "events.k8s.io",
    .version = "v1",
    .api_version = "events.k8s.io/v1",
    .name = "Event",
    .list_name = "EventList",
    .plural = "events",
    .singular = "event",
    .short_names = (const char *const[]){"ev", NULL},
    .flags = KIND_NAMESPACED | KIND_UNCONDITIONAL_UPDATE | KIND_CREATE_ON_UPDATE | KIND_TRANSIENT,
    .routine_verbs = MAY_WRITE,
    .record = &events_event_record,
    .prepare = prepare,
    .validate = validate,
    .selectable = event_regarding,
    .n_selectable = N_EVENT_REGARDING,
    .indexes = event_regarding_indexes,
    .n_indexes = N_EVENT_INDEXES,
    .stored_as = &event_kind,
    .to_stored = to_stored,
    .from_stored = from_stored,
    KIND_RIGHTS(rights),
};
