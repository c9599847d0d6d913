/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/job_outcomes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/sanitize_text.h"
#include "lib/api/object/status.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FEW       20 /* jobs printed on separate lines */
#define MAX_NAMES 60 /* bytes of the names of many */

enum reported_outcome {
    OUTCOME_DONE,
    OUTCOME_NOTHING,
    OUTCOME_NOT_FOUND,
    OUTCOME_TASK_NOT_FOUND, /* the array has none of the tasks */
    OUTCOME_REFUSED,
};

struct reported_job {
    enum reported_outcome outcome;
    int64_t id;
    const char *name;
    const char *tasks; /* of an array; NULL: all */
    const char *message;
};

struct job_outcomes {
    struct arena *arena;
    struct reported_job *jobs;
    size_t count, capacity;
};

void
job_outcomes_free(struct job_outcomes *o)
{
    if (o == NULL)
        return;
    free(o->jobs);
    free(o);
}

struct job_outcomes *
job_outcomes_new(struct arena *arena)
{
    struct job_outcomes *o = xnew(struct job_outcomes);

    o->arena = arena;
    return o;
}

static enum reported_outcome
outcome_of(const char *word)
{
    if (word != NULL && strcmp(word, "Done") == 0)
        return OUTCOME_DONE;
    if (word != NULL && strcmp(word, "Nothing") == 0)
        return OUTCOME_NOTHING;
    if (word != NULL && strcmp(word, "TaskNotFound") == 0)
        return OUTCOME_TASK_NOT_FOUND;
    return word != NULL && strcmp(word, "NotFound") == 0 ? OUTCOME_NOT_FOUND : OUTCOME_REFUSED;
}

void
job_outcomes_add(struct job_outcomes *o, const struct json *answer)
{
    const struct json *jobs = json_get(answer, "jobs");

    for (uint32_t i = 0; i < json_count(jobs); i++) {
        const struct json *job = json_at(jobs, i);
        const char *message = json_get_text(job, "message");
        CLEANUP_STRBUF struct strbuf plain = STRBUF_INIT;

        status_add_plain_message(message != NULL ? message : "", &plain);
        xgrow(o->jobs, o->count, o->capacity);
        o->jobs[o->count++] = (struct reported_job){
            .outcome = outcome_of(json_get_text(job, "outcome")),
            .id = json_get_int(job, "id", 0),
            .name = json_get_text(job, "name"),
            .tasks = json_get_text(job, "tasks"),
            .message = arena_strdup(o->arena, plain.text),
        };
    }
}

static const char *
words_of(const struct job_outcomes *o, const struct reported_job *job)
{
    if (job->tasks != NULL)
        return arena_printf(o->arena,
                            strspn(job->tasks, "0123456789") == strlen(job->tasks)
                                ? "job/%" PRId64 "_%.60s"
                                : "job/%" PRId64 "_[%.60s]",
                            job->id, job->tasks);
    return job->id > 0 ? arena_printf(o->arena, "job/%" PRId64, job->id)
                       : arena_printf(o->arena, "job/%s", job->name != NULL ? job->name : "");
}

/* Sorts by outcome and message, so that jobs with the same result are adjacent,
 * then by id.
 */
static int
compare(const void *a, const void *b)
{
    const struct reported_job *x = a;
    const struct reported_job *y = b;
    int order;

    if (x->outcome != y->outcome)
        return x->outcome < y->outcome ? -1 : 1;
    order = strcmp(x->message, y->message);
    if (order != 0)
        return order;
    return (x->id > y->id) - (x->id < y->id);
}

/* "jobs 5,7-9" while that is short. */
static const char *
names_of(const struct job_outcomes *o, const struct reported_job *jobs, size_t count)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct id_range item = {0};
    size_t n = 0;

    for (size_t i = 0; i < count && text.length < MAX_NAMES; i += n) {
        item.first = item.last = jobs[i].id;
        for (n = 1; i + n < count && jobs[i + n].id == item.last + 1; n++)
            item.last++;
        if (jobs[i].id == 0)
            strbuf_printf(&text, "%s%s", i > 0 ? "," : "",
                          jobs[i].name != NULL ? jobs[i].name : "");
        else if (item.last > item.first)
            strbuf_printf(&text, "%s%" PRId64 "-%" PRId64, i > 0 ? "," : "", item.first, item.last);
        else
            strbuf_printf(&text, "%s%" PRId64, i > 0 ? "," : "", item.first);
        if (i + n < count && text.length >= MAX_NAMES)
            strbuf_add_text(&text, ",...");
    }
    return arena_printf(o->arena, "%zu jobs (%s)", count, text.text);
}

static const char *
line_of(const struct job_outcomes *o, const struct reported_job *jobs, size_t count)
{
    CLEANUP_FREE char *message = sanitize_text_dup(jobs[0].message);

    if (jobs[0].outcome == OUTCOME_NOT_FOUND && count == 1 && jobs[0].id > 0)
        return arena_printf(o->arena,
                            "job %" PRId64 " not found; 'kctl history %" PRId64
                            "' shows whether it ended and was deleted",
                            jobs[0].id, jobs[0].id);
    if (jobs[0].outcome == OUTCOME_NOT_FOUND && count == 1)
        return arena_printf(o->arena, "job \"%s\" not found",
                            jobs[0].name != NULL ? jobs[0].name : "");
    if (count > 1)
        return arena_printf(o->arena, "%s: %s", names_of(o, jobs, count), message);
    return arena_printf(o->arena, jobs[0].outcome >= OUTCOME_TASK_NOT_FOUND ? "%s: %s" : "%s %s",
                        words_of(o, &jobs[0]), message);
}

static bool
is_failure(const struct job_outcomes *o, const struct reported_job *job, bool is_range)
{
    if (job->outcome == OUTCOME_NOT_FOUND)
        return !is_range || o->jobs[0].outcome == OUTCOME_NOT_FOUND;
    return job->outcome >= OUTCOME_TASK_NOT_FOUND;
}

bool
job_outcomes_is_empty(const struct job_outcomes *o)
{
    return o->count == 0;
}

int
job_outcomes_print(struct job_outcomes *o, bool is_range, const char *selected, struct error *err)
{
    const char *failure = NULL;
    int result = 0;

    if (o->count == 0)
        fprintf(stderr, "No active jobs%s%s that you may change\n", selected[0] != '\0' ? " " : "",
                selected);
    if (o->count > 1)
        qsort(o->jobs, o->count, sizeof(*o->jobs), compare);
    for (size_t i = 0, n; i < o->count; i += n) {
        const struct reported_job *job = &o->jobs[i];

        for (n = 1; i + n < o->count && o->jobs[i + n].outcome == job->outcome
                    && strcmp(o->jobs[i + n].message, job->message) == 0;)
            n++;
        if (n <= FEW && job->outcome != OUTCOME_NOT_FOUND)
            n = 1;
        if (job->outcome == OUTCOME_NOT_FOUND && job->id == 0)
            n = 1;
        if (!is_failure(o, job, is_range)) {
            puts(line_of(o, job, n));
            continue;
        }
        if (failure != NULL)
            fprintf(stderr, "kctl: %s\n", failure);
        failure = line_of(o, job, n);
        result = job->outcome == OUTCOME_REFUSED ? -EACCES : -ENOENT;
    }
    fflush(stdout);
    return failure != NULL ? error_set(err, result, "%s", failure) : 0;
}
