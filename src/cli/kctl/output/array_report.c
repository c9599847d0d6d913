/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/array_report.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/history_pages.h"
#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/history_columns.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_GROUPS 6
#define MOST_ROWS   10000 /* of history */
#define MOST_TEXT   60    /* bytes of a list of tasks */

/* Tasks with the same result. */
struct task_group {
    const char *words; /* "Failed, exit code 7" */
    struct task_range *ids;
    size_t count, capacity;
};

struct failures {
    struct arena *arena;
    struct task_group groups[MOST_GROUPS];
    size_t n_groups, n_rows;
    bool is_cut; /* there are more rows or groups */
};

/* ---- Counts ---- */

static int64_t
count_held(const struct json *job)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *text = json_path_text(job, "spec.array.held");
    struct task_list held;

    return text != NULL && task_list_parse(arena, text, &held, NULL) == 0 ? held.total : 0;
}

static bool
is_finished(const struct json *status)
{
    const struct json *conditions = json_get(status, "conditions");

    for (uint32_t i = 0; i < json_count(conditions); i++) {
        const struct json *c = json_at(conditions, i);
        const char *type = json_get_text(c, "type");
        const char *is = json_get_text(c, "status");

        if (type != NULL && is != NULL && strcmp(is, "True") == 0
            && (strcmp(type, "Complete") == 0 || strcmp(type, "Failed") == 0))
            return true;
    }
    return false;
}

static void
add_counts(const struct json *job, struct strbuf *out)
{
    const struct json *status = json_get(job, "status");
    const int64_t all = json_get_int(json_get(job, "spec"), "completions", 0);
    const int64_t succeeded = json_get_int(status, "succeeded", 0);
    const int64_t cancelled = json_get_int(json_get(status, "array"), "cancelled", 0);
    const int64_t failed = json_get_int(status, "failed", 0);
    const int64_t held = count_held(job);
    const int64_t running = json_get_int(status, "ready", 0);
    const bool has_ended = is_finished(status);
    const int64_t waiting = all - succeeded - failed - cancelled - running;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct {
        int64_t count;
        const char *words;
    } parts[] = {
        {waiting, has_ended ? "never ran" : "waiting"},
        {running, "running"},
        {succeeded, "succeeded"},
        {failed, "failed"},
        {cancelled, "cancelled"},
    };

    strbuf_printf(&text, "%" PRId64 ": ", all);
    for (size_t i = 0, n = 0; i < ARRAY_SIZE(parts); i++) {
        if (parts[i].count <= 0)
            continue;
        strbuf_printf(&text, "%s%" PRId64 " %s", n++ > 0 ? ", " : "", parts[i].count,
                      parts[i].words);
        if (i == 0 && held > 0 && !has_ended)
            strbuf_printf(&text, " (%" PRId64 " of them held)", held);
    }
    describe_output_add(out, 2, "Tasks", "%s", text.text);
}

/* ---- Failures ---- */

static struct task_group *
find_group(struct failures *f, const char *words)
{
    for (size_t i = 0; i < f->n_groups; i++)
        if (strcmp(f->groups[i].words, words) == 0)
            return &f->groups[i];
    if (f->n_groups == MOST_GROUPS)
        return NULL;
    f->groups[f->n_groups].words = arena_strdup(f->arena, words);
    return &f->groups[f->n_groups++];
}

static void
add_id(struct failures *f, struct task_group *g, int64_t id)
{
    if (g->count == g->capacity) {
        const size_t capacity = g->capacity > 0 ? 2 * g->capacity : 64;
        struct task_range *ids = arena_new_array(f->arena, struct task_range, capacity);

        if (g->count > 0)
            memcpy(ids, g->ids, g->count * sizeof(*ids));
        g->ids = ids;
        g->capacity = capacity;
    }
    g->ids[g->count++] = (struct task_range){.first = id, .last = id, .step = 1};
}

static bool
take_row(const struct json *row, void *context)
{
    struct failures *f = context;
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    const int64_t signal = json_get_int(row, "signal", 0);
    struct task_group *group;

    if (f->n_rows++ >= MOST_ROWS) {
        f->is_cut = true;
        return false;
    }
    if (json_get(row, "task") == NULL)
        return true;
    history_columns_text("state", row, &words);
    if (signal > 0)
        strbuf_printf(&words, ", signal %" PRId64, signal);
    else if (json_get_int(row, "exitCode", 0) != 0)
        strbuf_printf(&words, ", exit code %" PRId64, json_get_int(row, "exitCode", 0));
    group = find_group(f, words.text);
    if (group != NULL)
        add_id(f, group, json_get_int(row, "task", 0));
    else
        f->is_cut = true;
    return true;
}

static int
compare(const void *a, const void *b)
{
    const struct task_range *x = a;
    const struct task_range *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Adds "4: 3,12,21-30"; a task that failed several times counts once. */
static void
add_group(struct failures *f, struct task_group *g, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;
    size_t n = 0, length;

    qsort(g->ids, g->count, sizeof(*g->ids), compare);
    for (size_t i = 0; i < g->count; i++)
        if (n == 0 || g->ids[i].first > g->ids[n - 1].first)
            g->ids[n++] = g->ids[i];
    if (task_list_of_ranges(f->arena, g->ids, n, &list, NULL) < 0)
        return;
    task_list_format(&list, &text);
    length = text.length;
    if (length > MOST_TEXT)
        for (length = MOST_TEXT; length > 1 && text.text[length] != ',';)
            length--;
    describe_output_add(out, 2, "Ended", "%" PRId64 " %s: %.*s%s", list.total, g->words,
                        (int)length, text.text, length < text.length ? ",..." : "");
}

static void
add_failures(struct kctl *kctl, const struct json *job, struct strbuf *out)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf query = STRBUF_INIT;
    struct failures f = {.arena = arena};

    history_query_add(
        &query, "job",
        arena_printf(arena, "%" PRId64, json_get_int(json_get(job, "status"), "id", 0)));
    history_query_add(&query, "state", "Failed,TimedOut,OutOfMemory,NodeFailed,Deadline");
    history_query_add(&query, "limit", "5000");
    if (history_pages_visit(kctl, query.text, take_row, &f, NULL) < 0)
        return;
    for (size_t i = 0; i < f.n_groups; i++)
        add_group(&f, &f.groups[i], out);
    if (f.is_cut)
        describe_output_add(out, 2, "", "and more; kctl history shows all of them");
}

void
array_report_add(struct kctl *kctl, const struct json *job, struct strbuf *out)
{
    add_counts(job, out);
    if (json_get_int(json_get(job, "status"), "failed", 0) > 0)
        add_failures(kctl, job, out);
}
