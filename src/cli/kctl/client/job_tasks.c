/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/job_tasks.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/id_ranges.h"
#include "lib/api/value/job_elements.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST 10000 /* tasks shown or waited for at once */

static bool
is_jobs(const char *type, size_t length)
{
    char name[32];

    if (length >= sizeof(name))
        return false;
    memcpy(name, type, length);
    name[length] = '\0';
    return kind_find_any_name(name) == &job_kind;
}

bool
job_tasks_is_type(const char *operand)
{
    return is_jobs(operand, strlen(operand));
}

static const char *
skip_type(const char *operand)
{
    const char *slash = strchr(operand, '/');

    return slash != NULL && is_jobs(operand, (size_t)(slash - operand)) ? slash + 1 : operand;
}

/* Whether a list of ids names only tasks. A malformed list that begins like one
 * of tasks is refused later, as one of tasks.
 */
static bool
are_tasks(const char *text)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct id_ranges ids = {0};

    if (!id_ranges_looks_like(text))
        return false;
    if (id_ranges_add(&ids, text, arena, NULL) < 0)
        return job_elements_looks_like(text);
    return ids.count == 0;
}

bool
job_tasks_are_meant(int n_operands, char *const *operands)
{
    int i = n_operands > 1 && job_tasks_is_type(operands[0]) ? 1 : 0;

    if (i >= n_operands)
        return false;
    for (; i < n_operands; i++)
        if (!are_tasks(skip_type(operands[i])))
            return false;
    return true;
}

static int
find_job(struct kctl *kctl, int64_t id, struct arena *arena, struct target_object *ret_job,
         struct error *err)
{
    const struct target_object everywhere = {.kind = &job_kind};
    struct json *jobs = NULL;
    const char *fields = arena_printf(arena, "status.id=%" PRId64, id);
    int r = kctl_list(kctl, &everywhere, NULL, fields, arena, &jobs, err);

    if (r < 0)
        return r;
    if (json_count(jobs) == 0)
        return error_set(err, -ENOENT,
                         "there is no job %" PRId64 "; 'kctl history "
                         "%" PRId64 "' shows whether it ended and was deleted",
                         id, id);
    *ret_job = (struct target_object){
        .kind = &job_kind,
        .namespace = json_path_text(json_at(jobs, 0), "metadata.namespace"),
        .name = json_path_text(json_at(jobs, 0), "metadata.name"),
    };
    return 0;
}

static int
fetch_pages(struct kctl *kctl, const struct target_object *job, const char *tasks,
            struct arena *arena, struct json *items, struct error *err)
{
    const char *next = "";
    int r = 0;

    while (r == 0 && next != NULL) {
        const struct client_request request = {
            .verb = CLIENT_GET,
            .kind = &job_kind,
            .namespace = job->namespace,
            .name = job->name,
            .subresource = "elements",
            .query = arena_printf(arena, "tasks=%s&limit=1000%s%s", tasks,
                                  next[0] != '\0' ? "&continue=" : "", next),
            .raw = true,
        };
        struct json *page = NULL;

        r = kctl_call(kctl, &request, arena, &page, err);
        for (uint32_t i = 0; i < json_count(json_get(page, "items")); i++)
            json_append(arena, items, json_at(json_get(page, "items"), i));
        next = json_get_text(page, "continue");
    }
    return r;
}

/* Appends the tasks of one array. */
static int
fetch_tasks(struct kctl *kctl, const struct job_elements *meant, const char *operand,
            struct arena *arena, struct json *all, struct error *err)
{
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    struct json *items = json_array(arena);
    struct target_object job = {0};
    int r = 0;

    if (meant->tasks.total > MOST)
        r = error_set(err, -EINVAL,
                      "'%s' means %" PRId64 " tasks; at most %d are allowed "
                      "at once",
                      operand, meant->tasks.total, MOST);
    if (r == 0)
        r = find_job(kctl, meant->job, arena, &job, err);
    if (r < 0)
        return r;
    task_list_format(&meant->tasks, &tasks);
    r = fetch_pages(kctl, &job, tasks.text, arena, items, err);
    if (r == 0 && json_count(items) < meant->tasks.total)
        r = error_set(err, -ENOENT,
                      "'%s': the array has %s of these tasks; 'kctl describe "
                      "job %" PRId64 "' lists its tasks",
                      operand, json_count(items) == 0 ? "none" : "not all", meant->job);
    for (uint32_t i = 0; i < json_count(items); i++) {
        json_set_int(arena, json_at(items, i), "job", meant->job);
        json_append(arena, all, json_at(items, i));
    }
    return r;
}

int
job_tasks_fetch(struct kctl *kctl, const char *operand, struct arena *arena,
                struct json **ret_items, struct error *err)
{
    struct json *all = json_array(arena);
    struct id_ranges meant = {0};
    int r = id_ranges_add(&meant, skip_type(operand), arena, err);

    if (r == 0 && meant.count > 0)
        r = error_set(err, -EINVAL, "'%s' names whole jobs, too, not only tasks", operand);
    for (size_t i = 0; i < meant.n_elements && r == 0; i++)
        r = fetch_tasks(kctl, &meant.elements[i], operand, arena, all, err);
    *ret_items = all;
    return r;
}
