/* SPDX-License-Identifier: Apache-2.0 */
/* kctl priority - changes the priority of jobs
 *
 * A job's template may be given another priority while the job is held; so one
 * that waits is held and changed by one patch, which is refused as a whole, and
 * then released. Its pod is asked to go by number: the job controller may never
 * see that the job was held.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/command.h"
#include "cli/kctl/verbs/requeue.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct priority_options {
    struct common_options common;
};

static const struct option_spec rows[] = {COMMON_OPTIONS};

static const struct option_table priority_table = {
    .name = "kctl priority",
    .usage = "[OPTION]... NUMBER|CLASS JOB...",
    .summary = "Let waiting jobs go before others, or behind; by a priority "
               "class, or a\nnumber (operators).",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl get priorityclasses\n"
            "  kctl priority urgent 1042\n"
            "  kctl priority -- -100 1043 1044",
};

/* The patch of the template sets a number, or a class and no number. */
static struct json *
template_patch(struct arena *arena, const char *value)
{
    struct json *patch = json_object(arena);
    struct json *at = json_make_object(arena, patch, "spec");
    char *end;
    long long number;

    at = json_make_object(arena, at, "template");
    at = json_make_object(arena, at, "spec");
    errno = 0;
    number = strtoll(value, &end, 10);
    if (errno == 0 && end != value && *end == '\0') {
        json_set_int(arena, at, "priority", number);
    } else {
        json_set(arena, at, "priority", json_null(arena));
        json_set_string(arena, at, "priorityClassName", value);
    }
    return patch;
}

static void
set_suspended(struct arena *arena, struct json *patch, bool is_suspended)
{
    json_set_bool(arena,
                  json_make_object(arena, patch, "spec"),
                  "suspend",
                  is_suspended);
}

static int
release(struct kctl *kctl,
        const struct target_object *job,
        struct arena *arena,
        struct error *err)
{
    struct json *patch = json_object(arena);

    set_suspended(arena, patch, false);
    return kctl_patch(kctl, job, patch, arena, NULL, err);
}

static bool
is_bound(const struct json *pods)
{
    for (uint32_t i = 0; i < json_count(pods); i++)
        if (json_path_text(json_at(pods, i), "spec.nodeName") != NULL)
            return true;
    return false;
}

static int
change(struct kctl *kctl,
       const struct target_object *target,
       const char *value,
       struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct error other = {0};
    struct json *job = NULL;
    struct json *pods = NULL;
    struct json *patch;
    bool was_held;
    int r = kctl_get(kctl, target, arena, &job, err);

    if (r == 0)
        r = job_pods(kctl, target, arena, &pods, err);
    if (r < 0)
        return r;
    was_held = json_is_true(json_get_path(job, "spec.suspend"));
    if (!was_held && is_bound(pods))
        return error_set(err,
                         -EBUSY,
                         "it has a node already; priority decides which of "
                         "the waiting jobs is next");
    patch = template_patch(arena, value);
    if (!was_held) {
        set_suspended(arena, patch, true);
        requeue_add_to_patch(arena, patch, job, pods);
    }
    r = kctl_patch(kctl, target, patch, arena, NULL, err);
    if (r == 0 && !was_held && release(kctl, target, arena, &other) < 0)
        return error_set(err,
                         -EIO,
                         "it is held now and could not be released: %s; try "
                         "'kctl release'",
                         other.text);
    return r;
}

static int
run(struct kctl *kctl,
    UNUSED const void *options,
    int n_operands,
    char **operands,
    struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct resources jobs;
    int result;

    if (n_operands < 2 || operands[0][0] == '\0')
        return error_set(err,
                         -EINVAL,
                         "say the priority and the jobs: kctl priority urgent "
                         "1042");
    result = resource_select(kctl,
                             &job_kind,
                             n_operands - 1,
                             operands + 1,
                             NULL,
                             false,
                             arena,
                             &jobs,
                             err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < jobs.count; i++) {
        const char *name = kctl_label(&jobs.items[i], arena);
        struct error each = {0};
        int r = jobs.items[i].kind == &job_kind
                    ? change(kctl, &jobs.items[i], operands[0], &each)
                    : error_set(&each, -EINVAL, "it is not a job");

        if (r < 0 && result < 0)
            fprintf(stderr, "kctl: priority: %s\n", err->text);
        if (r < 0)
            result = error_set(err, r, "%s: %s", name, each.text);
        else
            printf("%s has priority %s\n", name, operands[0]);
    }
    return result;
}

const struct command priority_command = {
    .name = "priority",
    .options = &priority_table,
    .options_size = sizeof(struct priority_options),
    .run = run,
};
