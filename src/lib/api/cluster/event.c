/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/event.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/object/rights.h"
#include "lib/api/object/table.h"
#include "lib/api/value/rows.h"
#include "lib/base/arena.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <ctype.h>
#include <string.h>

/* clang-format off */
static const struct field event_series_fields[] = {
    OPAQUE(INT, "count", 0,
        HELP("How often it occurred.")),
    OPAQUE(MICRO_TIME, "lastObservedTime", ALWAYS,
        HELP("When it occurred last.")),
};
static OPAQUE_RECORD(event_series, "io.k8s.api.core.v1.EventSeries",
       MESSAGE("count lastObservedTime"),
       HELP("Repeated events, reported as one."));

static const struct field event_source_fields[] = {
    STRING("component", event, component, 0,
        HELP("The component of the system.")),
    STRING("host", event, host, 0,
        HELP("The node it is on.")),
};
RECORD(event_source, event, "io.k8s.api.core.v1.EventSource",
       MESSAGE("component host"),
       HELP("The component that reports it."));

static const struct field event_fields[] = {
    TYPE_META,
    METADATA(event),
    OBJECT("involvedObject", event, involved, object_reference,
        ALWAYS | REQUIRED, HELP("What the event is about.")),
    STRING("reason", event, reason, 0, HELP("One word for programs.")),
    STRING("message", event, message, 0, HELP("A sentence for people.")),
    WITHIN("source", event_source, ALWAYS,
        HELP("The component that reports it; the old field.")),
    TIME("firstTimestamp", event, first_at_us, ALWAYS,
        HELP("When it happened first.")),
    TIME("lastTimestamp", event, last_at_us, ALWAYS,
        HELP("When it happened last.")),
    INT("count", event, count, 0, HELP("How often it has happened.")),
    STRING("type", event, type, 0, HELP("Normal or Warning.")),
    MICRO_TIME("eventTime", event, event_at_us, ALWAYS,
        HELP("When it occurred first.")),
    OPAQUE(STRING, "action", 0,
        HELP("What was done.")),
    OPAQUE_OBJECT("series", event_series, 0,
        HELP("Repetitions of the event.")),
    STRING("reportingComponent", event, reporting_component, ALWAYS,
        HELP("The component that reports it: kiln/scheduler.")),
    OPAQUE(STRING, "reportingInstance", ALWAYS,
        HELP("The instance of that component.")),
    OPAQUE_OBJECT("related", object_reference, 0,
        HELP("A related object.")),
};
RECORD(event, event, "io.k8s.api.core.v1.Event",
       MESSAGE("metadata involvedObject reason message source firstTimestamp "
               "lastTimestamp count type eventTime series action related "
               "reportingComponent reportingInstance"),
       HELP("Something that happened to an object. Kept for a while, at "
            "best effort."));
/* clang-format on */

const struct event *
event_of(const struct object *object)
{
    return object->view;
}

/* Defines select_NAME(), which returns one member of the event as text. */
#define SELECT(name, member)                                                       \
    static const char *select_##name(const struct object *object, char buffer[64]) \
    {                                                                              \
        const char *text = event_of(object)->member;                               \
                                                                                   \
        (void)buffer;                                                              \
        return text != NULL ? text : "";                                           \
    }
SELECT(kind, involved.kind)
SELECT(namespace, involved.namespace)
SELECT(name, involved.name)
SELECT(uid, involved.uid)
SELECT(api_version, involved.api_version)
SELECT(resource_version, involved.resource_version)
SELECT(field_path, involved.field_path)
SELECT(reason, reason)
SELECT(reporting_component, reporting_component)
SELECT(source, component)
SELECT(type, type)

static const struct selectable_field selectable[] = {
    {"involvedObject.kind", select_kind},
    {"involvedObject.namespace", select_namespace},
    {"involvedObject.name", select_name},
    {"involvedObject.uid", select_uid},
    {"involvedObject.apiVersion", select_api_version},
    {"involvedObject.resourceVersion", select_resource_version},
    {"involvedObject.fieldPath", select_field_path},
    {"reason", select_reason},
    {"reportingComponent", select_reporting_component},
    {"source", select_source},
    {"type", select_type},
};

const struct selectable_field event_regarding[N_EVENT_REGARDING] = {
    {"regarding.kind", select_kind},
    {"regarding.namespace", select_namespace},
    {"regarding.name", select_name},
    {"regarding.uid", select_uid},
    {"regarding.apiVersion", select_api_version},
    {"regarding.resourceVersion", select_resource_version},
    {"regarding.fieldPath", select_field_path},
    {"reason", select_reason},
    {"reportingController", select_reporting_component},
    {"type", select_type},
};

static void
prepare(struct arena *arena, struct json *event, const struct json *old)
{
    meta_prepare(arena, event, old);
}

#define WORD_LENGTH_MAX 128
#define NOTE_LENGTH_MAX 1024

static void
check_length(struct causes *c, const struct json *event, const char *name, unsigned most)
{
    if (strlen(check_text(event, name)) > most)
        causes_add(c, CAUSE_INVALID, name, json_string(c->arena, ""),
                   "can have at most %u characters", most);
}

static void
check_word(struct causes *c, const struct json *event, const char *name)
{
    check_present(c, event, name, "");
    check_length(c, event, name, WORD_LENGTH_MAX);
}

/* Whether the event is in the right namespace. An event without eventTime has
 * the old form, which has a stricter rule.
 */
static bool
is_in_its_namespace(const struct json *event)
{
    const char *is = check_text(json_get(event, "metadata"), "namespace");
    const char *of = check_text(json_get(event, "involvedObject"), "namespace");
    bool is_default = strcmp(is, "default") == 0;

    if (!check_is_set(event, "eventTime"))
        return *of == '\0' ? is_default : strcmp(is, of) == 0;
    return *of != '\0' || is_default || strcmp(is, "kube-system") == 0;
}

void
event_check(struct causes *c, const struct json *event, const char *controller)
{
    const struct json *meta = json_get(event, "metadata");
    const char *told = check_text(event, "reportingComponent");

    if (!is_in_its_namespace(event))
        causes_add(
            c, CAUSE_INVALID, "involvedObject.namespace",
            json_string(c->arena, check_text(json_get(event, "involvedObject"), "namespace")),
            "does not match event.namespace");
    if (check_is_set(event, "eventTime")) {
        if (*told == '\0')
            causes_add(c, CAUSE_REQUIRED, controller, NULL, "%s", "");
        check_form(c, controller, NAME_QUALIFIED, told, json_string(c->arena, told));
        check_word(c, event, "reportingInstance");
        check_word(c, event, "action");
        check_word(c, event, "reason");
        check_length(c, event, "message", NOTE_LENGTH_MAX);
    }
    check_name(c, meta, "namespace", NAME_DNS_SUBDOMAIN);
}

static void
validate(struct causes *c, const struct json *event, const struct json *old)
{
    event_check(c, event, "reportingComponent");
    if (old != NULL || c->count == 0)
        meta_check(c, &event_kind, NAME_PATH_SEGMENT, event, old);
}

/* The values for the event's row. Newer clients write repetitions and their
 * source into fields that no struct has.
 */
struct event_summary {
    int64_t first_us, last_us;
    int64_t count;
    const char *instance;
};

static void
add_series(struct event_summary *s, const struct object *object, struct arena *arena)
{
    const struct json *tree, *series;
    const char *last, *text = object_text(object, arena);

    if (strstr(text, "\"series\":") == NULL && strstr(text, "\"reportingInstance\":") == NULL)
        return;
    tree = object_tree(object, arena);
    s->instance = json_get_text(tree, "reportingInstance");
    series = json_get(tree, "series");
    if (!json_is(series, JSON_OBJECT))
        return;
    s->count = json_get_int(series, "count", 0);
    s->last_us = 0;
    last = json_get_text(series, "lastObservedTime");
    if (last != NULL)
        time_parse(last, &s->last_us);
}

static const void *
summarize(struct table_row *row)
{
    const struct event *event = event_of(row->object);
    struct event_summary *s = arena_alloc(row->arena, sizeof(*s));

    s->first_us = event->first_at_us != 0 ? event->first_at_us : event->event_at_us;
    s->last_us = event->last_at_us != 0 ? event->last_at_us : s->first_us;
    s->count = event->count != 0 ? event->count : 1;
    add_series(s, row->object, row->arena);
    return s;
}

static void
add_last_seen(struct table_row *row)
{
    const struct event_summary *s = row->summary;

    table_cell_age(row, s->last_us);
}

static void
add_first_seen(struct table_row *row)
{
    const struct event_summary *s = row->summary;

    table_cell_age(row, s->first_us);
}

static void
add_count(struct table_row *row)
{
    const struct event_summary *s = row->summary;

    table_cell_int(row, s->count);
}

static void
add_type(struct table_row *row)
{
    table_cell(row, event_of(row->object)->type);
}

static void
add_reason(struct table_row *row)
{
    table_cell(row, event_of(row->object)->reason);
}

static void
add_object(struct table_row *row)
{
    const struct object_reference *about = &event_of(row->object)->involved;
    char *kind = arena_strdup(row->arena, about->kind != NULL ? about->kind : "");

    for (char *c = kind; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    table_cell(row, about->name == NULL || about->name[0] == '\0'
                        ? kind
                        : arena_printf(row->arena, "%s/%s", kind, about->name));
}

static void
add_subobject(struct table_row *row)
{
    table_cell(row, event_of(row->object)->involved.field_path);
}

static void
add_source(struct table_row *row)
{
    const struct event *event = event_of(row->object);
    const struct event_summary *s = row->summary;
    const char *component =
        text_is_set(event->component) ? event->component : event->reporting_component;
    const char *host = text_is_set(event->host) ? event->host : s->instance;

    table_cell(row, !text_is_set(host) ? component
                                       : arena_printf(row->arena, "%s, %s",
                                                      component != NULL ? component : "", host));
}

static void
add_message(struct table_row *row)
{
    const char *message = event_of(row->object)->message;
    size_t n;

    if (message == NULL) {
        table_cell(row, NULL);
        return;
    }
    message += strspn(message, " \t\r\n");
    n = strlen(message);
    while (n > 0 && strchr(" \t\r\n", message[n - 1]) != NULL)
        n--;
    table_cell(row, arena_strndup(row->arena, message, n));
}

/* clang-format off */
static const struct table_column columns[] = {
    COLUMN("Last Seen", add_last_seen, "When it happened last."),
    COLUMN("Type", add_type, "Normal or Warning."),
    COLUMN("Reason", add_reason, "Why, in one word for programs."),
    COLUMN("Object", add_object, "The object that it happened to."),
    COLUMN("Subobject", add_subobject, "The part of the object.", WIDE),
    COLUMN("Source", add_source, "The component that reports it, and its "
                                 "host.", WIDE),
    COLUMN("Message", add_message, "Why, in words for people."),
    COLUMN("First Seen", add_first_seen, "When it happened first.", WIDE),
    COLUMN("Count", add_count, "How often it has happened.", WIDE),
    COLUMN("Name", table_add_name, "The name of the event.",
        FORMAT("name"), WIDE),
};
static const struct table table = {
    TABLE_COLUMNS(columns),
    .summarize = summarize,
};
/* clang-format on */

static const struct kind_index indexes[N_EVENT_INDEXES] = {
    [EVENT_BY_OBJECT] = {"involvedObject.name", select_name},
};

const struct kind_index event_regarding_indexes[N_EVENT_INDEXES] = {
    [EVENT_BY_OBJECT] = {"regarding.name", select_name},
};

static const struct object_reference *
about(const struct object *object)
{
    return &event_of(object)->involved;
}

/* clang-format off */
static const struct right rights[] = {
    {BY_USERS, MAY_CREATE, SUBRESOURCE_NONE, SCOPE_MEMBERS},
    {BY_USERS, MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_OWN},
    {BY_AGENT, MAY_CREATE | MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
    {BY_SCHEDULER, MAY_CREATE | MAY_UPDATE, SUBRESOURCE_NONE, SCOPE_ALL},
};
/* clang-format on */

const struct kind event_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Event",
    .list_name = "EventList",
    .plural = "events",
    .singular = "event",
    .short_names = (const char *const[]){"ev", NULL},
    .flags = KIND_NAMESPACED | KIND_UNCONDITIONAL_UPDATE | KIND_CREATE_ON_UPDATE | KIND_TRANSIENT,
    .routine_verbs = MAY_WRITE,
    .record = &event_record,
    .prepare = prepare,
    .validate = validate,
    .about = about,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
    .table = &table,
    .indexes = indexes,
    .n_indexes = ARRAY_SIZE(indexes),
    KIND_RIGHTS(rights),
};
