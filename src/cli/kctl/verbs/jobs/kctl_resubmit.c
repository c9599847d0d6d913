/* SPDX-License-Identifier: Apache-2.0 */
/* kctl resubmit - submits a job again, with the script and the environment that
 * it was submitted with
 *
 * What it waited for is left out: its dependencies, its begin time and its
 * deadline are those of the first time.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_content.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/verbs/jobs/job_owner.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/auth/digest.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/client/sync_call.h"
#include "lib/json/json.h"

#define MOST_JOBS 1000

struct resubmit_options {
    struct common_options common;
    bool hold;
    bool parsable;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "hold",
     .letter = 'H',
     .help = "hold the new job, so that it can be changed before its release",
     .type = OPTION_FLAG,
     .offset = offsetof(struct resubmit_options, hold)},
    {.name = "parsable",
     .help = "print only the id of the new job",
     .type = OPTION_FLAG,
     .offset = offsetof(struct resubmit_options, parsable)},
};

static const struct option_table table = {
    .name = "kctl resubmit",
    .usage = "[OPTION]... JOB...",
    .summary = "Submit jobs again, as they were submitted; of an array, all "
               "tasks or those that are named. Dependencies, begin time and "
               "deadline are not repeated.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl resubmit 1042\n"
            "  kctl resubmit '1043_[3,7-9]'\n"
            "  kctl resubmit --hold 1042",
};

/* The owner subtracts it from the number of the class; 0: nothing. An operator's negative one
 * was for that job.
 */
static int64_t
nice_of(const struct json *job)
{
    const char *nice = json_get_text(json_get_path(job, "metadata.annotations"), ANNOTATION_NICE);

    return nice != NULL ? strtoll(nice, NULL, 10) : 0;
}

/* Annotations that the user chose; the server made all others. */
static struct json *
annotations_of(const struct json *job, bool is_held, struct arena *arena)
{
    static const char *const kept[] = {
        ANNOTATION_JOB_NAME,  ANNOTATION_COMMENT,     ANNOTATION_MAIL_TYPE,
        ANNOTATION_MAIL_USER, ANNOTATION_SCRIPT_PATH, ANNOTATION_TIME_LIMIT,
    };
    const struct json *old = json_get_path(job, "metadata.annotations");
    struct json *annotations = json_object(arena);

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        const char *text = json_get_text(old, kept[i]);

        if (text != NULL)
            json_set_string(arena, annotations, kept[i], text);
    }
    if (nice_of(job) > 0)
        json_set_string(arena, annotations, ANNOTATION_NICE,
                        arena_printf(arena, "%" PRId64, nice_of(job)));
    if (is_held)
        json_set_string(arena, annotations, ANNOTATION_HOLD, "true");
    return annotations;
}

/* The server sets these labels anew. */
static void
remove_own_labels(struct json *template_)
{
    static const char *const own[] = {
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-name",
        "controller-uid",
        "job-name",
    };
    struct json *labels = json_get_path(template_, "metadata.labels");

    for (size_t i = 0; labels != NULL && i < ARRAY_SIZE(own); i++)
        json_remove(labels, own[i]);
}

static bool
is_class_of(const struct json *class, const char *name)
{
    return name != NULL ? strcmp(json_path_text(class, "metadata.name"), name) == 0
                        : json_is_true(json_get(class, "globalDefault"));
}

/* A number above that of the class is an operator's, who gave it to that job alone. The server
 * makes the number of a job with a nice value, from that of the class as it is now.
 */
static int
settle_priority(struct kctl *kctl, const struct json *job, struct json *spec, struct arena *arena,
                struct error *err)
{
    const struct target_object all = {.kind = &priority_class_kind};
    struct json *pod = json_get_path(spec, "template.spec"), *classes = NULL;
    int64_t most = 0;
    int r;

    if (json_get(pod, "priority") == NULL)
        return 0;
    r = kctl_list(kctl, &all, NULL, NULL, arena, &classes, err);
    for (uint32_t i = 0; r == 0 && i < json_count(classes); i++)
        if (is_class_of(json_at(classes, i), json_get_text(pod, "priorityClassName")))
            most = json_get_int(json_at(classes, i), "value", 0);
    if (nice_of(job) != 0 || json_get_int(pod, "priority", 0) > most)
        json_remove(pod, "priority");
    return r;
}

static int
add_content(struct kctl *kctl, const struct target_object *job, const char *what, struct json *spec,
            struct arena *arena, struct error *err)
{
    CLEANUP_SYNC_CALL struct sync_call content = {0};
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r;

    if (json_get(spec, what) == NULL)
        return 0;
    r = job_content_fetch(kctl, job, what, &content, err);
    if (r < 0)
        return r;
    base64_encode(&text, content.text, content.length);
    json_remove(spec, what);
    json_set(arena, json_make_object(arena, spec, what), "data",
             json_string_n(arena, text.text, text.length));
    return 0;
}

/* Only the named tasks; NULL: all. */
static int
choose_tasks(struct json *spec, const struct job_elements *tasks, struct arena *arena,
             struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct json *array = json_get(spec, "array");
    struct task_list all;
    int r;

    if (tasks == NULL)
        return 0;
    if (array == NULL)
        return error_set(err, -EINVAL, "job %" PRId64 " is not a job array", tasks->job);
    r = task_list_parse(arena, json_get_text(array, "tasks"), &all, err);
    for (int64_t i = 0; r == 0 && i < tasks->tasks.total; i++)
        if (task_list_index(&all, task_list_at(&tasks->tasks, i)) < 0)
            r = error_set(err, -ENOENT, "job %" PRId64 " has no task %" PRId64 "; it has %.80s",
                          tasks->job, task_list_at(&tasks->tasks, i),
                          json_get_text(array, "tasks"));
    if (r < 0)
        return r;
    task_list_format(&tasks->tasks, &text);
    json_set_string(arena, array, "tasks", text.text);
    return 0;
}

/* Makes the new Job's spec from the old one's: without what the server has
 * added, and without what the job waited for.
 */
static int
make_spec(struct kctl *kctl, const struct target_object *target, const struct json *job,
          const struct job_elements *tasks, struct arena *arena, struct json **ret_spec,
          struct error *err)
{
    static const char *const dropped[] = {"selector",     "manualSelector", "suspend",
                                          "dependencies", "beginTime",      "deadline"};
    struct json *spec = json_dup(arena, json_get(job, "spec"));
    int r;

    for (size_t i = 0; i < ARRAY_SIZE(dropped); i++)
        json_remove(spec, dropped[i]);
    if (json_get(spec, "array") != NULL) {
        /* The server derives these from the tasks. */
        json_remove(spec, "completions");
        json_remove(spec, "parallelism");
        json_remove(spec, "backoffLimit");
    }
    remove_own_labels(json_get(spec, "template"));
    r = choose_tasks(spec, tasks, arena, err);
    if (r == 0)
        r = settle_priority(kctl, job, spec, arena, err);
    if (r == 0)
        r = add_content(kctl, target, "script", spec, arena, err);
    if (r == 0)
        r = add_content(kctl, target, "environment", spec, arena, err);
    *ret_spec = spec;
    return r;
}

/* "job 4", "task 4_2" or "tasks 4_[2,5]" */
static const char *
words_of(int64_t id, const struct job_elements *tasks, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (tasks == NULL)
        return arena_printf(arena, "job %" PRId64, id);
    task_list_format(&tasks->tasks, &text);
    return tasks->tasks.total == 1
               ? arena_printf(arena, "task %" PRId64 "_%s", id, text.text)
               : arena_printf(arena, "tasks %" PRId64 "_[%.200s]", id, text.text);
}

static int
resubmit(struct kctl *kctl, const struct resubmit_options *o, const struct target_object *target,
         const struct job_elements *tasks, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *job = NULL, *spec = NULL, *made = NULL;
    struct json *body = json_object(arena), *meta;
    int r = kctl_get(kctl, target, arena, &job, err);
    int64_t id;

    if (r == 0)
        r = make_spec(kctl, target, job, tasks, arena, &spec, err);
    if (r < 0)
        return r;
    json_set_string(arena, body, "apiVersion", "batch/v1");
    json_set_string(arena, body, "kind", "Job");
    meta = json_make_object(arena, body, "metadata");
    json_set_string(arena, meta, "generateName", "job-");
    json_set_string(arena, meta, "namespace", target->namespace);
    json_set(arena, meta, "annotations", annotations_of(job, o->hold, arena));
    json_set(arena, body, "spec", spec);
    r = kctl_call(kctl,
                  &(struct client_request){
                      .verb = CLIENT_CREATE,
                      .kind = &job_kind,
                      .namespace = target->namespace,
                      .body = body,
                      .query = "fieldValidation=Strict",
                  },
                  arena, &made, err);
    if (r < 0 && !job_owner_is_self(job))
        return error_set(err, r,
                         "%s belongs to %s; only its owner and administrators can submit it again",
                         kctl_job_words(target, arena), job_owner_name(job));
    if (r < 0)
        return error_wrap(err, r, "%s", kctl_job_words(target, arena));
    id = json_get_int(json_get(made, "status"), "id", 0);
    if (o->parsable)
        printf("%" PRId64 "\n", id);
    else
        printf("Submitted job %" PRId64 ", a copy of %s\n", id,
               words_of(json_get_int(json_get(job, "status"), "id", 0), tasks, arena));
    fflush(stdout);
    return 0;
}

static int
resubmit_named(struct kctl *kctl, const struct resubmit_options *o, char *operand,
               const struct job_elements *tasks, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources jobs;
    int r = resource_parse(kctl, &job_kind, 1, &operand, arena, &jobs, err);

    for (size_t i = 0; r == 0 && i < jobs.count; i++)
        r = resubmit(kctl, o, &jobs.items[i], tasks, err);
    return r;
}

static int
resubmit_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
             struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf whole = STRBUF_INIT;
    struct job_operands jobs;
    struct job_operands part;
    int r;

    if (n_operands == 0)
        return error_set(err, -EINVAL, "which job?");
    r = job_operands_read(n_operands, operands, arena, &jobs, err);
    if (r == 0 && jobs.ids.total > MOST_JOBS)
        r = error_set(err, -EINVAL, "these are more than %d jobs", MOST_JOBS);
    if (r < 0)
        return r;
    part = jobs;
    part.ids.n_elements = 0;
    id_ranges_format(&part.ids, &whole);
    if (whole.length > 0)
        r = resubmit_named(kctl, options, whole.text, NULL, err);
    for (size_t i = 0; r == 0 && i < jobs.ids.n_elements; i++)
        r = resubmit_named(kctl, options, arena_printf(arena, "%" PRId64, jobs.ids.elements[i].job),
                           &jobs.ids.elements[i], err);
    for (size_t i = 0; r == 0 && i < jobs.n_names; i++)
        r = resubmit_named(kctl, options, arena_strdup(arena, jobs.names[i]), NULL, err);
    return r;
}

const struct command resubmit_command = {
    .name = "resubmit",
    .options = &table,
    .options_size = sizeof(struct resubmit_options),
    .run = resubmit_run,
};
