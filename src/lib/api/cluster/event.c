/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/cluster/event.h"
#include "lib/api/object/check.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/value/rows.h"
#include "lib/json/json.h"

#include <string.h>

/* clang-format off */
static const struct field event_series_fields[] = {
    OPAQUE(INT, "count", 0,
        HELP("How often it was seen.")),
    OPAQUE(MICRO_TIME, "lastObservedTime", ALWAYS,
        HELP("When it was seen last.")),
};
static OPAQUE_RECORD(event_series, "io.k8s.api.core.v1.EventSeries",
       HELP("Events of the same kind, told as one."));

static const struct field event_source_fields[] = {
    STRING("component", event, component, 0,
        HELP("Which part of the system.")),
    STRING("host", event, host, 0,
        HELP("The node it is on.")),
};
RECORD(event_source, event, "io.k8s.api.core.v1.EventSource",
       HELP("Who tells of it."));

static const struct field event_fields[] = {
    TYPE_META,
    METADATA(event),
    OBJECT("involvedObject", event, involved, object_reference,
        ALWAYS | REQUIRED, HELP("What the event is about.")),
    STRING("reason", event, reason, 0, HELP("One word for programs.")),
    STRING("message", event, message, 0, HELP("A sentence for people.")),
    WITHIN("source", event_source, ALWAYS,
        HELP("Who tells of it; the old way.")),
    TIME("firstTimestamp", event, first_at_us, ALWAYS,
        HELP("When it happened first.")),
    TIME("lastTimestamp", event, last_at_us, ALWAYS,
        HELP("When it happened last.")),
    INT("count", event, count, 0, HELP("How often it has happened.")),
    STRING("type", event, type, 0, HELP("Normal or Warning.")),
    MICRO_TIME("eventTime", event, event_at_us, ALWAYS,
        HELP("When it was seen first.")),
    OPAQUE(STRING, "action", 0,
        HELP("What was done.")),
    OPAQUE_OBJECT("series", event_series, 0,
        HELP("How it repeats.")),
    STRING("reportingComponent", event, reporting_component, ALWAYS,
        HELP("Who tells of it: kiln/scheduler.")),
    OPAQUE(STRING, "reportingInstance", ALWAYS,
        HELP("Which one of those.")),
    OPAQUE_OBJECT("related", object_reference, 0,
        HELP("Another object that has to do with it.")),
};
RECORD(event, event, "io.k8s.api.core.v1.Event",
       HELP("Something that happened to an object. Kept for a while, at "
            "best effort."));
/* clang-format on */

const struct event *
event_of(const struct object *object)
{
    return object->view;
}

/* Defines select_NAME(): one member of the event as text. */
#define SELECT(name, member)                                      \
    static const char *select_##name(const struct object *object, \
                                     char buffer[64])             \
    {                                                             \
        const char *text = event_of(object)->member;              \
                                                                  \
        (void)buffer;                                             \
        return text != NULL ? text : "";                          \
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
    meta_prepare(&event_kind, arena, event, old);
}

#define WORD_LENGTH_MAX 128
#define NOTE_LENGTH_MAX 1024

static void
check_length(struct causes *c,
             const struct json *event,
             const char *name,
             unsigned most)
{
    if (strlen(check_text(event, name)) > most)
        causes_add(c,
                   CAUSE_INVALID,
                   name,
                   json_string(c->arena, ""),
                   "can have at most %u characters",
                   most);
}

static void
check_word(struct causes *c, const struct json *event, const char *name)
{
    check_present(c, event, name, "");
    check_length(c, event, name, WORD_LENGTH_MAX);
}

/* An event without a time of its own is in the old form. */
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
        causes_add(c,
                   CAUSE_INVALID,
                   "involvedObject.namespace",
                   json_string(c->arena,
                               check_text(json_get(event, "involvedObject"),
                                          "namespace")),
                   "does not match event.namespace");
    if (check_is_set(event, "eventTime")) {
        if (*told == '\0')
            causes_add(c, CAUSE_REQUIRED, controller, NULL, "%s", "");
        check_form(c,
                   controller,
                   NAME_QUALIFIED,
                   told,
                   json_string(c->arena, told));
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

const struct kind event_kind = {
    .group = "",
    .version = "v1",
    .api_version = "v1",
    .name = "Event",
    .list_name = "EventList",
    .plural = "events",
    .singular = "event",
    .short_names = (const char *const[]){"ev", NULL},
    .flags = KIND_NAMESPACED | KIND_UNCONDITIONAL_UPDATE | KIND_CREATE_ON_UPDATE
             | KIND_TRANSIENT,
    .record = &event_record,
    .prepare = prepare,
    .validate = validate,
    .selectable = selectable,
    .n_selectable = ARRAY_SIZE(selectable),
};
