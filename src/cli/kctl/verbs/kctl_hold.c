/* SPDX-License-Identifier: Apache-2.0 */
/* kctl hold, release, requeue, cancel - change the state of jobs
 *
 * All are small patches of the Job; the job controller does the rest.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/command.h"
#include "cli/kctl/verbs/requeue.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

struct hold_options {
    struct common_options common;
    const char *label_selector;
    const char *user;
    bool all;
};

#define PLACE(member) .offset = offsetof(struct hold_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all",
     .help = "all jobs of the namespace that have not ended",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "the jobs with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "user",
     .letter = 'u',
     .argument = "NAME",
     .help = "this user's jobs",
     .type = OPTION_TEXT,
     PLACE(user)},
};

/* Makes the patch of a job with those pods; NULL and 0: there is nothing to
 * do, and `done` says why.
 */
typedef int patch_fn(struct arena *arena,
                     const struct json *job,
                     const struct json *pods,
                     struct json **ret_patch,
                     const char **done,
                     struct error *err);

static bool
has_condition(const struct json *job, const char *wanted)
{
    const struct json *all = json_get_path(job, "status.conditions");

    for (uint32_t i = 0; i < json_count(all); i++) {
        const char *type = json_get_text(json_at(all, i), "type");
        const char *status = json_get_text(json_at(all, i), "status");

        if (type != NULL && status != NULL && strcmp(status, "True") == 0
            && strcmp(type, wanted) == 0)
            return true;
    }
    return false;
}

static bool
has_finished(const struct json *job)
{
    return has_condition(job, "Complete") || has_condition(job, "Failed");
}

static int
refuse_finished(struct error *err)
{
    return error_set(err, -EINVAL, "the job has ended already");
}

static void
set_annotation(struct arena *arena,
               struct json *patch,
               const char *name,
               const char *value)
{
    struct json *at = json_make_object(arena, patch, "metadata");

    at = json_make_object(arena, at, "annotations");
    json_set_string(arena, at, name, value);
}

static void
suspend(struct arena *arena, struct json *patch, bool suspended)
{
    json_set_bool(arena,
                  json_make_object(arena, patch, "spec"),
                  "suspend",
                  suspended);
}

static int
suspension_patch(struct arena *arena,
                 const struct json *job,
                 bool is_suspended,
                 struct json **ret_patch,
                 struct error *err)
{
    if (has_finished(job))
        return refuse_finished(err);
    *ret_patch = json_object(arena);
    suspend(arena, *ret_patch, is_suspended);
    return 0;
}

static int
hold_patch(struct arena *arena,
           const struct json *job,
           UNUSED const struct json *pods,
           struct json **ret_patch,
           const char **done,
           struct error *err)
{
    *done = "held";
    return suspension_patch(arena, job, true, ret_patch, err);
}

static int
release_patch(struct arena *arena,
              const struct json *job,
              UNUSED const struct json *pods,
              struct json **ret_patch,
              const char **done,
              struct error *err)
{
    *done = "released";
    return suspension_patch(arena, job, false, ret_patch, err);
}

static int
requeue_patch(struct arena *arena,
              const struct json *job,
              const struct json *pods,
              struct json **ret_patch,
              const char **done,
              struct error *err)
{
    struct json *patch = json_object(arena);

    if (has_finished(job))
        return refuse_finished(err);
    *done = "has not started yet";
    if (!requeue_add_to_patch(arena, patch, job, pods))
        return 0;
    *done = "requeued";
    *ret_patch = patch;
    return 0;
}

static int
cancel_patch(struct arena *arena,
             const struct json *job,
             const struct json *pods,
             struct json **ret_patch,
             const char **done,
             struct error *err)
{
    const struct passwd *user = getpwuid(getuid());

    (void)pods;
    (void)err;
    *done = "has ended already";
    if (has_finished(job))
        return 0;
    *done = "is ending already";
    if (has_condition(job, "FailureTarget"))
        return 0;
    *done = "cancelled";
    *ret_patch = json_object(arena);
    set_annotation(arena,
                   *ret_patch,
                   ANNOTATION_CANCEL,
                   user != NULL ? user->pw_name
                                : arena_printf(arena, "%u", getuid()));
    return 0;
}

/* "job 1042", or its name where it has no id. */
static const char *
job_words(struct arena *arena,
          const struct target_object *target,
          const struct json *job)
{
    const int64_t id = json_get_int(json_get(job, "status"), "id", 0);

    if (id > 0)
        return arena_printf(arena, "job/%lld", (long long)id);
    return kctl_label(target, arena);
}

/* `job` is the object as listed; NULL asks the server for it. */
static int
change(struct kctl *kctl,
       const struct target_object *target,
       const struct json *listed,
       patch_fn *make,
       struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *fetched = NULL;
    struct json *pods = NULL;
    struct json *patch = NULL;
    const struct json *job = listed;
    const char *done = NULL;
    int r = 0;

    if (listed == NULL) {
        r = kctl_get(kctl, target, arena, &fetched, err);
        job = fetched;
    }
    if (r == 0 && make == requeue_patch)
        r = job_pods(kctl, target, arena, &pods, err);
    if (r < 0)
        return r;
    r = make(arena, job, pods, &patch, &done, err);
    if (r == 0 && patch != NULL)
        r = kctl_patch(kctl, target, patch, arena, NULL, err);
    if (r < 0)
        return error_wrap(err, r, "%s", job_words(arena, target, job));
    printf("%s %s\n", job_words(arena, target, job), done);
    return 0;
}

/* -u is a label, as the server puts it on jobs. */
static const char *
selector_of(const struct hold_options *o, struct arena *arena)
{
    if (o->user == NULL)
        return o->label_selector;
    return arena_printf(arena,
                        "%s%s" LABEL_USER "=%s",
                        o->label_selector != NULL ? o->label_selector : "",
                        o->label_selector != NULL ? "," : "",
                        o->user);
}

/* A selector means only the jobs that can change, so the server leaves out
 * those that have ended. A server of an earlier release cannot do that.
 */
static int
select_jobs(struct kctl *kctl,
            const char *selector,
            struct arena *arena,
            struct json **ret_listed,
            struct resources *ret_jobs,
            struct error *err)
{
    const struct target_object place = {.kind = &job_kind,
                                        .namespace = kctl_namespace(kctl)};
    struct json *all = NULL;
    int r = kctl_list(kctl,
                      &place,
                      selector,
                      "status.finished=false",
                      arena,
                      &all,
                      err);

    if (r == -EINVAL)
        r = kctl_list(kctl, &place, selector, NULL, arena, &all, err);
    if (r < 0)
        return r;
    *ret_listed = json_array(arena);
    ret_jobs->count = 0;
    ret_jobs->items =
        arena_new_array(arena, struct target_object, json_count(all) + 1);
    for (uint32_t i = 0; i < json_count(all); i++) {
        struct json *job = json_at(all, i);
        struct target_object *target = &ret_jobs->items[ret_jobs->count];

        if (has_finished(job))
            continue;
        *target = place;
        target->name = json_path_text(job, "metadata.name");
        json_append(arena, *ret_listed, job);
        ret_jobs->count++;
    }
    return 0;
}

/* The others are changed even when the server refuses one. */
static int
change_all(struct kctl *kctl,
           const struct hold_options *o,
           int n_operands,
           char **operands,
           const char *verb,
           patch_fn *make,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *selector = selector_of(o, arena);
    struct json *listed = NULL;
    struct resources jobs;
    bool selects = n_operands == 0 && (selector != NULL || o->all);
    int result = selects
                     ? select_jobs(kctl, selector, arena, &listed, &jobs, err)
                     : resource_select(kctl,
                                       &job_kind,
                                       n_operands,
                                       operands,
                                       selector,
                                       o->all,
                                       arena,
                                       &jobs,
                                       err);

    if (result < 0)
        return result;
    for (size_t i = 0; i < jobs.count; i++) {
        struct error each = {0};
        int r = jobs.items[i].kind == &job_kind
                    ? change(kctl,
                             &jobs.items[i],
                             json_at(listed, (uint32_t)i),
                             make,
                             &each)
                    : error_set(&each,
                                -EINVAL,
                                "%s is not a job",
                                kctl_label(&jobs.items[i], arena));

        if (r < 0 && result < 0)
            fprintf(stderr, "kctl: %s: %s\n", verb, err->text);
        if (r < 0)
            result = error_set(err, r, "%s", each.text);
    }
    if (jobs.count == 0)
        fprintf(stderr, "No jobs that have not ended\n");
    return result;
}

/* The four verbs have the same form. */
#define JOB_VERB(verb, words, examples)                     \
    static const struct option_table verb##_table = {       \
        .name = "kctl " #verb,                              \
        .usage = "[OPTION]... JOB...\n"                     \
                 "[OPTION]... (-u NAME | -l LIST | --all)", \
        .summary = words,                                   \
        OPTION_ROWS(rows),                                  \
        .more = examples,                                   \
    };                                                      \
    static int verb##_run(struct kctl *kctl,                \
                          const void *options,              \
                          int n_operands,                   \
                          char **operands,                  \
                          struct error *err)                \
    {                                                       \
        return change_all(kctl,                             \
                          options,                          \
                          n_operands,                       \
                          operands,                         \
                          #verb,                            \
                          verb##_patch,                     \
                          err);                             \
    }                                                       \
    const struct command verb##_command = {                 \
        .name = #verb,                                      \
        .options = &verb##_table,                           \
        .options_size = sizeof(struct hold_options),        \
        .run = verb##_run,                                  \
    }

JOB_VERB(hold,
         "Keep jobs from starting; one that runs is stopped and starts anew "
         "when it is released.",
         "Example: kctl hold 1042");
JOB_VERB(release, "Let held jobs start.", "Example: kctl release 1042");
JOB_VERB(requeue,
         "Stop jobs and start them anew, from the beginning.",
         "Example: kctl requeue 1042");
JOB_VERB(cancel,
         "End jobs for good; what is known of them stays.",
         "Examples:\n"
         "  kctl cancel 1042 1043\n"
         "  kctl cancel -u alice");
