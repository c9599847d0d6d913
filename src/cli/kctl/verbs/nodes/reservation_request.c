/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/nodes/reservation_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/kctl.h"
#include "cli/print/local_time.h"
#include "cli/values/time_expression.h"
#include "lib/api/object/kind.h"
#include "lib/api/policy/local_zone.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

/* Sets a field to the list of the names in "a,b". */
static void
set_list(struct arena *arena, struct json *spec, const char *field, const char *names)
{
    struct json *list;
    char *rest, *name;

    if (names == NULL || names[0] == '\0')
        return;
    list = json_array(arena);
    rest = arena_strdup(arena, names);
    while ((name = strsep(&rest, ", ")) != NULL)
        if (name[0] != '\0')
            json_append(arena, list, json_string(arena, name));
    json_set(arena, spec, field, list);
}

static int
set_labels(struct arena *arena, struct json *spec, const char *labels, struct error *err)
{
    struct json *selector;
    char *rest, *label;

    if (labels == NULL)
        return 0;
    selector = json_make_object(arena, spec, "nodeSelector");
    rest = arena_strdup(arena, labels);
    while ((label = strsep(&rest, ",")) != NULL) {
        char *equals = strchr(label, '=');

        if (equals == NULL || equals == label)
            return error_set(err, -EINVAL, "--selector: '%s' is not KEY=VALUE", label);
        *equals = '\0';
        json_set_string(arena, selector, label, equals + 1);
    }
    return 0;
}

static int
set_nodes(struct arena *arena, struct json *spec, const struct reservation_request *r,
          struct error *err)
{
    const char **names = NULL;
    struct json *list;
    size_t count = 0;
    int e;

    if (r->nodes == NULL) {
        json_set_int(arena, spec, "nodeCount", r->count);
        return set_labels(arena, spec, r->labels, err);
    }
    e = hostlist_expand(arena, r->nodes, &names, &count, err);
    if (e < 0)
        return e;
    list = json_array(arena);
    for (size_t i = 0; i < count; i++)
        json_append(arena, list, json_string(arena, names[i]));
    json_set(arena, spec, "nodes", list);
    return 0;
}

static void
set_time(struct arena *arena, struct json *spec, const char *field, int64_t us)
{
    char time[TIME_TEXT_SIZE];

    time_format(us, false, time);
    json_set_string(arena, spec, field, time);
}

static int
set_times(struct arena *arena, struct json *spec, const struct reservation_request *r,
          struct error *err)
{
    const struct {
        const char *field, *text;
    } ends[] = {{"end", r->end}, {"deadline", r->deadline}};
    const int64_t now_us = clock_real_us(&clock_system);
    int64_t start_us, us;
    int e = time_expression_parse(r->start != NULL ? r->start : "now", TIME_AHEAD, now_us,
                                  &start_us, err);

    if (e < 0)
        return e;
    set_time(arena, spec, "start", start_us);
    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        if (ends[i].text == NULL)
            continue;
        e = time_expression_parse_after(ends[i].text, now_us, start_us, &us, err);
        if (e < 0)
            return e;
        set_time(arena, spec, ends[i].field, us);
    }
    return 0;
}

/* The user's time zone; "UTC" if it is unknown. */
static const char *
own_zone(struct arena *arena)
{
    static const char folder[] = "/zoneinfo/";
    const char *zone = getenv("TZ");
    const struct time_zone *there;
    char path[256];
    ssize_t length;
    char *at;

    if (zone != NULL && zone[0] == ':')
        zone++;
    if (zone != NULL && strncmp(zone, "UTC", 3) == 0)
        return "UTC";
    if (zone != NULL && zone[0] != '\0')
        return local_zone_find(zone, &there) ? zone : "UTC";
    length = readlink("/etc/localtime", path, sizeof(path) - 1);
    if (length <= 0)
        return "UTC";
    path[length] = '\0';
    at = strstr(path, folder);
    if (at == NULL || !local_zone_find(at + strlen(folder), &there))
        return "UTC";
    return arena_strdup(arena, at + strlen(folder));
}

static void
set_flag(struct arena *arena, struct json *spec, const char *field, bool is_set)
{
    if (is_set)
        json_set_bool(arena, spec, field, true);
}

static int
make_spec(struct arena *arena, struct json *spec, const struct reservation_request *r,
          struct error *err)
{
    int e = set_nodes(arena, spec, r, err);

    if (e == 0)
        e = set_times(arena, spec, r, err);
    if (e < 0)
        return e;
    if (r->duration != NULL)
        json_set_string(arena, spec, "duration", r->duration);
    set_list(arena, spec, "users", r->users);
    set_list(arena, spec, "groups", r->groups);
    set_list(arena, spec, "accounts", r->accounts);
    if (r->recurrence != NULL) {
        json_set_string(arena, spec, "recurrence", r->recurrence);
        json_set_string(arena, spec, "timeZone",
                        r->time_zone != NULL ? r->time_zone : own_zone(arena));
    }
    set_flag(arena, spec, "maintenance", r->is_maintenance);
    set_flag(arena, spec, "flexible", r->is_flexible);
    set_flag(arena, spec, "overlap", r->may_overlap);
    if (r->reason != NULL)
        json_set_string(arena, spec, "reason", r->reason);
    return 0;
}

/* Prints "reservation/night made, from Nov 24 18:00". */
static void
print_made(const struct reservation_request *r, const struct json *spec)
{
    const char *start = json_get_text(spec, "start");
    char time[LOCAL_TIME_SIZE] = "";
    int64_t us;

    if (start != NULL && time_parse(start, &us) == 0)
        local_time_format(us, time);
    printf("reservation/%s %s, from %s on\n", r->name,
           r->is_dry_run ? "would be created (dry run)" : "made", time);
}

int
reservation_request_send(struct kctl *kctl, const struct reservation_request *r,
                         struct arena *arena, struct error *err)
{
    struct json *body = json_object(arena);
    struct client_request request = {
        .verb = CLIENT_CREATE,
        .kind = &reservation_kind,
        .body = body,
        .query = r->is_dry_run ? "dryRun=All" : NULL,
    };
    struct json *spec;
    int e;

    json_set_string(arena, body, "apiVersion", reservation_kind.api_version);
    json_set_string(arena, body, "kind", reservation_kind.name);
    json_set_string(arena, json_make_object(arena, body, "metadata"), "name", r->name);
    spec = json_make_object(arena, body, "spec");
    e = make_spec(arena, spec, r, err);
    if (e == 0)
        e = kctl_call(kctl, &request, arena, NULL, err);
    if (e == 0 && !kctl->is_silent)
        print_made(r, spec);
    return e;
}

/* The fields of a patch that the request names. Of an end and a duration, and of names and a number
 * of nodes, the one that is set replaces the other.
 */
static int
make_changes(struct arena *arena, struct json *spec, const struct reservation_request *r,
             struct error *err)
{
    const int64_t now_us = clock_real_us(&clock_system);
    int64_t start_us = now_us, us;
    int e = 0;

    if (r->nodes != NULL || r->count > 0) {
        json_set(arena, spec, r->nodes != NULL ? "nodeCount" : "nodes", json_null(arena));
        e = set_nodes(arena, spec, r, err);
    }
    if (e == 0 && r->start != NULL)
        e = time_expression_parse(r->start, TIME_AHEAD, now_us, &start_us, err);
    if (e == 0 && r->start != NULL)
        set_time(arena, spec, "start", start_us);
    if (e == 0 && r->end != NULL) {
        e = time_expression_parse_after(r->end, now_us, start_us, &us, err);
        if (e == 0)
            set_time(arena, spec, "end", us);
        json_set(arena, spec, "duration", json_null(arena));
    }
    if (e < 0)
        return e;
    if (r->duration != NULL) {
        json_set_string(arena, spec, "duration", r->duration);
        json_set(arena, spec, "end", json_null(arena));
    }
    set_list(arena, spec, "users", r->users);
    set_list(arena, spec, "groups", r->groups);
    set_list(arena, spec, "accounts", r->accounts);
    set_flag(arena, spec, "maintenance", r->is_maintenance);
    set_flag(arena, spec, "overlap", r->may_overlap);
    if (r->reason != NULL)
        json_set_string(arena, spec, "reason", r->reason);
    return 0;
}

int
reservation_request_change(struct kctl *kctl, const struct reservation_request *r,
                           struct arena *arena, struct error *err)
{
    const struct target_object target = {.kind = &reservation_kind, .name = r->name};
    struct json *patch = json_object(arena);
    struct json *spec = json_make_object(arena, patch, "spec");
    int e = make_changes(arena, spec, r, err);

    if (e == 0 && json_count(spec) == 0)
        return error_set(err, -ENODATA, "no field of the reservation is to be changed");
    if (r->version != NULL)
        json_set_string(arena, json_make_object(arena, patch, "metadata"), "resourceVersion",
                        r->version);
    return e < 0 ? e : kctl_patch(kctl, &target, patch, arena, NULL, err);
}
