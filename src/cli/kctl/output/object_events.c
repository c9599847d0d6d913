/* SPDX-License-Identifier: Apache-2.0 */
/* An event names its object, and a job that was submitted again has the name of the one
 * before. So events are chosen by uid, and by time where the uid is not known. A job of a
 * thousand pods says the same thing a thousand times; events that differ only in the pod are
 * one line.
 */
#include "cli/kctl/output/object_events.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/print/grid.h"
#include "cli/print/terminal_colour.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/status.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define MAX_PODS 16 /* the newest pods of a job whose events are read */

static const char *
time_of(const struct json *event)
{
    static const char *const names[] = {"lastTimestamp", "eventTime", "firstTimestamp"};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const char *time = json_get_text(event, names[i]);

        if (time != NULL)
            return time;
    }
    return json_path_text(event, "metadata.creationTimestamp");
}

/* Events of the same second are sorted in the order in which the server stored
 * them.
 */
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

/* Selects the events of an object, not those of an earlier object with the same
 * name: by uid, or if that is NULL, by time, from `from_us` on.
 */
struct event_choice {
    const struct kind *kind;
    const char *namespace;
    const char *name;
    const char *uid;
    int64_t from_us;
};

static int64_t
read_time(const char *text)
{
    int64_t us = 0;

    if (text != NULL)
        time_parse(text, &us);
    return us;
}

static bool
is_about(const struct event_choice *a, const struct json *event)
{
    const char *uid = json_path_text(event, "involvedObject.uid");

    if (a->uid != NULL)
        return uid == NULL || uid[0] == '\0' || strcmp(uid, a->uid) == 0;
    return read_time(time_of(event)) >= a->from_us;
}

static int
add_of(struct kctl *kctl, const struct event_choice *about, struct arena *arena, struct json *all,
       struct error *err)
{
    /* The events of an object without a namespace are in the default one. */
    const struct target_object events = {
        .kind = &event_kind,
        .namespace = about->namespace != NULL ? about->namespace : "default",
    };
    struct json *items = NULL;
    int r = kctl_list(kctl, &events, NULL,
                      arena_printf(arena,
                                   "involvedObject.kind=%s,"
                                   "involvedObject.name=%s",
                                   about->kind->name, about->name),
                      arena, &items, err);

    for (uint32_t i = 0; r == 0 && i < json_count(items); i++)
        if (is_about(about, json_at(items, i)))
            json_append(arena, all, json_at(items, i));
    return r;
}

static bool
is_among(const struct json *pods, const char *name)
{
    for (uint32_t i = 0; i < json_count(pods); i++)
        if (strcmp(json_path_text(json_at(pods, i), "metadata.name"), name) == 0)
            return true;
    return false;
}

/* Adds events of the newest existing pods, and of the last deleted one. */
static int
add_of_pods(struct kctl *kctl, const struct target_object *job, const struct json *tree,
            struct arena *arena, struct json *all, struct error *err)
{
    const char *last = json_path_text(tree, "status.lastRun.podName");
    struct json *pods = NULL;
    int r = job_pods(kctl, job, arena, &pods, err);
    uint32_t count = json_count(pods);

    for (uint32_t i = count > MAX_PODS ? count - MAX_PODS : 0; r == 0 && i < count; i++) {
        const struct json *pod = json_at(pods, i);

        r = add_of(kctl,
                   &(struct event_choice){.kind = &pod_kind,
                                          .namespace = job->namespace,
                                          .name = json_path_text(pod, "metadata.name"),
                                          .uid = json_path_text(pod, "metadata.uid")},
                   arena, all, err);
    }
    if (r == 0 && last != NULL && !is_among(pods, last))
        r = add_of(kctl,
                   &(struct event_choice){
                       .kind = &pod_kind,
                       .namespace = job->namespace,
                       .name = last,
                       .from_us = read_time(json_path_text(tree, "metadata.creationTimestamp"))},
                   arena, all, err);
    return r;
}

/* ---- Events of a task ---- */

struct task_words {
    const char *task; /* "1042_7" */
    const char *pod;  /* "job-1042-6": the name of its first attempt */
};

static size_t
word_length(const char *text)
{
    size_t n = 0;

    while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '-')
        n++;
    return n;
}

static bool
is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && strncmp(text, word, length) == 0;
}

/* Whether the text is the name of an attempt: "job-1042-6-r2". */
static bool
is_attempt(const char *text, size_t length, const char *pod)
{
    const size_t first = strlen(pod);

    if (length <= first + 2 || strncmp(text, pod, first) != 0
        || strncmp(text + first, "-r", 2) != 0)
        return false;
    return strspn(text + first + 2, "0123456789") == length - first - 2;
}

/* Whether an event of the array mentions that task. */
static bool
names_task(const struct json *event, const struct task_words *words)
{
    const char *number = strchr(words->task, '_') + 1;
    const char *text = json_get_text(event, "message");
    bool is_after_task = false;

    for (const char *p = text != NULL ? text : ""; *p != '\0';) {
        const size_t length = word_length(p);

        if (length == 0) {
            p++;
            continue;
        }
        if (is_word(p, length, words->task) || is_word(p, length, words->pod)
            || is_attempt(p, length, words->pod) || (is_after_task && is_word(p, length, number)))
            return true;
        is_after_task = is_word(p, length, "task");
        p += length;
    }
    return false;
}

/* Finds the array of a task; `object` is the task's pod or the Job. */
static int
find_array(struct kctl *kctl, const struct target_object *object, struct arena *arena,
           struct target_object *ret_job, struct error *err)
{
    struct json *pod = NULL;
    int r;

    *ret_job = *object;
    ret_job->task = NULL;
    if (object->kind == &job_kind)
        return 0;
    r = kctl_get(kctl, object, arena, &pod, err);
    if (r < 0)
        return r;
    ret_job->kind = &job_kind;
    ret_job->name = json_get_text(json_get_path(pod, "metadata.labels"), LABEL_JOB_NAME);
    return 0;
}

/* Collects the events of the task's pods, whose names are known even if they
 * are gone, and the array's events about the task.
 */
static int
collect_of_task(struct kctl *kctl, const struct target_object *object, struct arena *arena,
                struct json *all, struct error *err)
{
    struct task_words words = {.task = object->task};
    struct json *of_job = json_array(arena);
    struct json *job = NULL, *items = NULL;
    struct target_object array;
    struct event_choice about = {.kind = &job_kind, .namespace = object->namespace};
    int64_t attempt, last;
    int r = find_array(kctl, object, arena, &array, err);

    if (r == 0)
        r = kctl_get(kctl, &array, arena, &job, err);
    if (r == 0)
        r = job_tasks_fetch(kctl, object->task, arena, &items, err);
    if (r < 0)
        return r;
    words.pod =
        arena_printf(arena, "%s-%" PRId64, array.name, json_get_int(json_at(items, 0), "index", 0));
    about.name = array.name;
    about.uid = json_path_text(job, "metadata.uid");
    r = add_of(kctl, &about, arena, of_job, err);
    for (uint32_t i = 0; r == 0 && i < json_count(of_job); i++)
        if (names_task(json_at(of_job, i), &words))
            json_append(arena, all, json_at(of_job, i));
    about.kind = &pod_kind;
    about.uid = NULL;
    about.from_us = read_time(json_path_text(job, "metadata.creationTimestamp"));
    /* The next pod may exist before the end of the last one is recorded. */
    last = json_get_int(json_at(items, 0), "attempt", 0) + 1;
    for (attempt = last > MAX_PODS ? last - MAX_PODS + 1 : 1; r == 0 && attempt <= last;
         attempt++) {
        about.name =
            attempt == 1 ? words.pod : arena_printf(arena, "%s-r%" PRId64, words.pod, attempt - 1);
        r = add_of(kctl, &about, arena, all, err);
    }
    return r;
}

static int
collect_of(struct kctl *kctl, const struct target_object *object, struct arena *arena,
           struct json *all, struct error *err)
{
    const bool is_job = object->kind == &job_kind;
    struct json *tree = NULL;
    int r = 0;

    if (object->task != NULL)
        return collect_of_task(kctl, object, arena, all, err);
    /* Events of other objects, such as nodes, have their name as uid. */
    if (is_job || object->kind == &pod_kind)
        r = kctl_find(kctl, object, arena, &tree, err);
    if (r == 0)
        r = add_of(kctl,
                   &(struct event_choice){.kind = object->kind,
                                          .namespace = object->namespace,
                                          .name = object->name,
                                          .uid = json_path_text(tree, "metadata.uid")},
                   arena, all, err);
    if (r == 0 && is_job)
        r = add_of_pods(kctl, object, tree, arena, all, err);
    return r;
}

int
object_events_collect(struct kctl *kctl, const struct target_object *object, const char *namespace,
                      struct arena *arena, struct json **ret_events, struct error *err)
{
    const struct target_object events = {.kind = &event_kind, .namespace = namespace};
    struct json *all = json_array(arena);
    int r;

    if (object == NULL)
        r = kctl_list(kctl, &events, NULL, NULL, arena, &all, err);
    else
        r = collect_of(kctl, object, arena, all, err);
    if (r < 0)
        return r;
    if (json_count(all) > 1)
        qsort(all->items, all->count, sizeof(*all->items), compare);
    *ret_events = all;
    return 0;
}

/* ---- Printing ---- */

void
object_events_add_columns(struct grid *grid, const struct object_events_style *style)
{
    if (style->names_namespaces)
        grid_add_column(grid, "Namespace");
    grid_add_column(grid, "Age");
    if (!style->is_brief)
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
    char *text = arena_printf(arena, "%s/%s", kind != NULL ? kind : "", name != NULL ? name : "");

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
object_events_add_row(struct grid *grid, const struct object_events_style *style,
                      const struct json *event)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const int64_t count = json_get_int(event, "count", 1);
    const char *age = describe_output_age(arena, time_of(event));
    const char *message = json_get_text(event, "message");
    CLEANUP_STRBUF struct strbuf plain = STRBUF_INIT;
    const char *cells[7];
    size_t n = 0;

    if (count > 1)
        age = arena_printf(arena, "%s (x%lld)", age, (long long)count);
    if (style->names_namespaces)
        cells[n++] = json_path_text(event, "metadata.namespace");
    cells[n++] = age;
    if (!style->is_brief)
        cells[n++] = json_get_text(event, "type");
    cells[n++] = json_get_text(event, "reason");
    if (style->names_objects)
        cells[n++] = object_of(arena, event);
    if (style->names_sources)
        cells[n++] = source_of(event);
    if (message != NULL)
        status_add_plain_message(message, &plain);
    cells[n++] = plain.text;
    grid_add_row(grid, cells);
}

/* ---- Merging similar events ---- */

/* The message without the words that name the object or one of its pods. */
static const char *
message_but_names(struct arena *arena, const struct json *event, const char *name)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const char *text = json_get_text(event, "message");

    for (const char *p = text != NULL ? text : ""; *p != '\0';) {
        const size_t length = strcspn(p, " ") + (strchr(p, ' ') != NULL);

        if (memmem(p, length, name, strlen(name)) == NULL)
            strbuf_add(&out, p, length);
        p += length;
    }
    return arena_strdup(arena, out.text);
}

static bool
says_the_same(struct arena *arena, const struct json *a, const struct json *b, const char *name)
{
    const char *x = json_get_text(a, "reason"), *y = json_get_text(b, "reason");

    return strcmp(x != NULL ? x : "", y != NULL ? y : "") == 0
           && strcmp(message_but_names(arena, a, name), message_but_names(arena, b, name)) == 0;
}

/* Merges events of a job's pods that differ only in the pod into one line with
 * the count and the last event. Newest first.
 */
static struct json *
collapse(struct arena *arena, const struct json *events, const char *name)
{
    struct json *lines = json_array(arena);

    for (uint32_t i = json_count(events); i-- > 0;) {
        struct json *event = json_at(events, i);
        struct json *line = NULL;

        for (uint32_t j = 0; line == NULL && j < json_count(lines); j++)
            if (says_the_same(arena, json_at(lines, j), event, name))
                line = json_at(lines, j);
        if (line == NULL) {
            json_append(arena, lines, json_dup(arena, event));
            continue;
        }
        json_set_int(arena, line, "count",
                     json_get_int(line, "count", 1) + json_get_int(event, "count", 1));
    }
    return lines;
}

void
object_events_add_brief(const struct json *events, const char *name, unsigned limit,
                        struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(grid_freep)
    struct grid *grid = grid_new(terminal_colour_is_wanted());
    const struct object_events_style style = {.is_brief = true};
    const struct json *lines = collapse(arena, events, name);
    uint32_t count = json_count(lines);

    if (count == 0)
        return;
    object_events_add_columns(grid, &style);
    for (uint32_t i = count < limit ? count : limit; i-- > 0;)
        object_events_add_row(grid, &style, json_at(lines, i));
    strbuf_add_text(out, "Events:\n");
    describe_output_add_grid(out, grid);
}

int
object_events_describe(struct kctl *kctl, const struct target_object *object, struct strbuf *out,
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
    int r = object_events_collect(kctl, object, object->namespace, arena, &events, err);

    if (r < 0)
        return r;
    if (json_count(events) == 0) {
        describe_output_add(out, 0, "Events", "<none>");
        return 0;
    }
    object_events_add_columns(grid, &style);
    for (uint32_t i = 0; i < json_count(events); i++)
        object_events_add_row(grid, &style, json_at(events, i));
    strbuf_add_text(out, "Events:\n");
    describe_output_add_grid(out, grid);
    return 0;
}
