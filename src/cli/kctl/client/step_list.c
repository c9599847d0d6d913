/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/client/step_list.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define PAGE     5000
#define PATIENCE 20 /* attempts while the server is overloaded */

struct step_list
step_list_make(struct arena *arena)
{
    return (struct step_list){
        .arena = arena, .items = json_array(arena), .omitted = json_array(arena)};
}

static int
ask(struct kctl *kctl, const char *target, struct arena *arena, struct json **ret_tree,
    struct error *err)
{
    const struct timespec moment = {.tv_nsec = 250000000};
    int r = inquiry_run(kctl->connection, HTTP_GET, target, NULL, arena, ret_tree, err);

    for (unsigned i = 1; r == -EAGAIN && i < PATIENCE; i++) {
        nanosleep(&moment, NULL);
        r = inquiry_run(kctl->connection, HTTP_GET, target, NULL, arena, ret_tree, err);
    }
    if (r == -ENOENT)
        return error_set(err, r, "this controller is of a release that does not know steps");
    return r;
}

static bool
is_wanted(const struct task_list *tasks, const struct json *step)
{
    const int64_t task = json_get_int(step, "task", json_get_int(step, "index", -1));

    return tasks == NULL || (task >= 0 && task_list_index(tasks, task) >= 0);
}

static void
take(struct step_list *list, const struct task_list *tasks, const struct json *from,
     struct json *to)
{
    for (uint32_t i = 0; i < json_count(from); i++)
        if (is_wanted(tasks, json_at(from, i)))
            json_append(list->arena, to, json_at(from, i));
}

static int
fetch(struct step_list *list, struct kctl *kctl, const char *jobs, const struct task_list *tasks,
      bool running, struct error *err)
{
    const char *next = "";
    int r = kctl_open(kctl, err);

    while (r == 0 && next != NULL) {
        struct json *tree = NULL;

        r = ask(kctl,
                arena_printf(list->arena, "/kiln/v1/steps?job=%s&limit=%d%s%s%s", jobs, PAGE,
                             running ? "&running=true" : "", next[0] != '\0' ? "&continue=" : "",
                             next),
                list->arena, &tree, err);
        if (r < 0)
            return r;
        take(list, tasks, json_get(tree, "items"), list->items);
        take(list, tasks, json_get(json_get(tree, "metadata"), "omitted"), list->omitted);
        next = json_path_text(tree, "metadata.continue");
    }
    return r;
}

int
step_list_add(struct step_list *list, struct kctl *kctl, int64_t id, const struct task_list *tasks,
              bool running, struct error *err)
{
    return fetch(list, kctl, arena_printf(list->arena, "%" PRId64, id), tasks, running, err);
}

int
step_list_add_jobs(struct step_list *list, struct kctl *kctl, const int64_t *ids, size_t count,
                   bool running, struct error *err)
{
    int r = 0;

    for (size_t at = 0; r == 0 && at < count;) {
        CLEANUP_STRBUF struct strbuf jobs = STRBUF_INIT;

        for (size_t k = 0; k < STEP_LIST_JOBS && at < count; k++, at++)
            strbuf_printf(&jobs, "%s%" PRId64, k > 0 ? "," : "", ids[at]);
        r = fetch(list, kctl, jobs.text, NULL, running, err);
    }
    return r;
}
