/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/object_events.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/print/grid.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const char *
time_of(const struct json *event)
{
    static const char *const names[] = {"lastTimestamp",
                                        "eventTime",
                                        "firstTimestamp"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *time = json_get_text(event, names[i]);

        if (time != NULL)
            return time;
    }
    return json_path_text(event, "metadata.creationTimestamp");
}

/* Events of one second are sorted as the server stored them. */
static int64_t
revision_of(const struct json *event)
{
    const char *text = json_path_text(event, "metadata.resourceVersion");

    return text != NULL ? strtoll(text, NULL, 10) : 0;
}

static int
compare(const void *a, const void *b)
{
    const struct json *left = *(const struct json *const *)a;
    const struct json *right = *(const struct json *const *)b;
    const char *x = time_of(left), *y = time_of(right);
    int64_t m = 0, n = 0;

    if (x != NULL)
        time_parse(x, &m);
    if (y != NULL)
        time_parse(y, &n);
    if (m == n) {
        m = revision_of(left);
        n = revision_of(right);
    }
    return (m > n) - (m < n);
}

/* ---- Collecting ---- */

static int
add_of(struct kctl *kctl,
       const struct kind *kind,
       const char *namespace,
       const char *name,
       struct arena *arena,
       struct json *all,
       struct error *err)
{
    /* The events of an object without a namespace are in the default one. */
    const struct target_object events = {
        .kind = &event_kind,
        .namespace = namespace != NULL ? namespace : "default",
    };
    struct json *items = NULL;
    int r = kctl_list(kctl,
                      &events,
                      NULL,
                      arena_printf(arena,
                                   "involvedObject.kind=%s,"
                                   "involvedObject.name=%s",
                                   kind->name,
                                   name),
                      arena,
                      &items,
                      err);

    for (uint32_t i = 0; r == 0 && i < json_count(items); i++)
        json_append(arena, all, json_at(items, i));
    return r;
}

static bool
is_among(const struct json *pods, const char *name)
{
    for (uint32_t i = 0; i < json_count(pods); i++)
        if (strcmp(json_path_text(json_at(pods, i), "metadata.name"), name)
            == 0)
            return true;
    return false;
}

/* Events of the existing pods, and of the last one that is deleted. */
static int
add_of_pods(struct kctl *kctl,
            const struct target_object *job,
            struct arena *arena,
            struct json *all,
            struct error *err)
{
    struct json *pods = NULL;
    struct json *tree = NULL;
    const char *last;
    int r = job_pods(kctl, job, arena, &pods, err);

    for (uint32_t i = 0; r == 0 && i < json_count(pods); i++)
        r = add_of(kctl,
                   &pod_kind,
                   job->namespace,
                   json_path_text(json_at(pods, i), "metadata.name"),
                   arena,
                   all,
                   err);
    if (r == 0)
        r = kctl_find(kctl, job, arena, &tree, err);
    last = tree != NULL ? json_path_text(tree, "status.lastRun.podName") : NULL;
    if (r == 0 && last != NULL && !is_among(pods, last))
        r = add_of(kctl, &pod_kind, job->namespace, last, arena, all, err);
    return r;
}

int
object_events_collect(struct kctl *kctl,
                      const struct target_object *object,
                      const char *namespace,
                      struct arena *arena,
                      struct json **ret_events,
                      struct error *err)
{
    const struct target_object events = {.kind = &event_kind,
                                         .namespace = namespace};
    struct json *all = json_array(arena);
    int r;

    if (object == NULL)
        r = kctl_list(kctl, &events, NULL, NULL, arena, &all, err);
    else
        r = add_of(kctl,
                   object->kind,
                   object->namespace,
                   object->name,
                   arena,
                   all,
                   err);
    if (r == 0 && object != NULL && object->kind == &job_kind)
        r = add_of_pods(kctl, object, arena, all, err);
    if (r < 0)
        return r;
    if (json_count(all) > 1)
        qsort(all->items, all->count, sizeof(*all->items), compare);
    *ret_events = all;
    return 0;
}

/* ---- Printing ---- */

void
object_events_add_columns(struct grid *grid,
                          const struct object_events_style *style)
{
    if (style->names_namespaces)
        grid_add_column(grid, "Namespace");
    grid_add_column(grid, "Age");
    grid_add_column(grid, "Type");
    grid_add_column(grid, "Reason");
    if (style->names_objects)
        grid_add_column(grid, "Object");
    if (style->names_sources)
        grid_add_column(grid, "From");
    grid_add_column(grid, "Message");
}

/* "pod/job-7-0" */
static const char *
object_of(struct arena *arena, const struct json *event)
{
    const char *kind = json_path_text(event, "involvedObject.kind");
    const char *name = json_path_text(event, "involvedObject.name");
    char *text = arena_printf(arena,
                              "%s/%s",
                              kind != NULL ? kind : "",
                              name != NULL ? name : "");

    for (char *c = text; *c != '\0' && *c != '/'; c++)
        *c = (char)tolower((unsigned char)*c);
    return text;
}

static const char *
source_of(const struct json *event)
{
    const char *from = json_path_text(event, "source.component");

    if (from != NULL && from[0] != '\0')
        return from;
    return json_get_text(event, "reportingComponent");
}

void
object_events_add_row(struct grid *grid,
                      const struct object_events_style *style,
                      const struct json *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const int64_t count = json_get_int(event, "count", 1);
    const char *age = describe_output_age(arena, time_of(event));
    const char *cells[7];
    size_t n = 0;

    if (count > 1)
        age = arena_printf(arena, "%s (x%lld)", age, (long long)count);
    if (style->names_namespaces)
        cells[n++] = json_path_text(event, "metadata.namespace");
    cells[n++] = age;
    cells[n++] = json_get_text(event, "type");
    cells[n++] = json_get_text(event, "reason");
    if (style->names_objects)
        cells[n++] = object_of(arena, event);
    if (style->names_sources)
        cells[n++] = source_of(event);
    cells[n++] = json_get_text(event, "message");
    grid_add_row(grid, cells);
}

int
object_events_describe(struct kctl *kctl,
                       const struct target_object *object,
                       unsigned limit,
                       struct strbuf *out,
                       struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    const struct object_events_style style = {
        .names_objects = object->kind == &job_kind,
        .names_sources = true,
    };
    struct json *events = NULL;
    uint32_t first = 0;
    int r = object_events_collect(kctl,
                                  object,
                                  object->namespace,
                                  arena,
                                  &events,
                                  err);

    if (r < 0)
        return r;
    if (json_count(events) == 0) {
        describe_output_add(out, 0, "Events", "<none>");
        return 0;
    }
    if (limit > 0 && json_count(events) > limit)
        first = json_count(events) - limit;
    object_events_add_columns(grid, &style);
    for (uint32_t i = first; i < json_count(events); i++)
        object_events_add_row(grid, &style, json_at(events, i));
    strbuf_add_text(out, "Events:\n");
    describe_output_add_grid(out, grid);
    return 0;
}
