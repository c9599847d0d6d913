/* SPDX-License-Identifier: Apache-2.0 */
/* table_job_kiln.c - the columns of jobs for people who watch a queue: what a
 * job is doing, since when, where, and why not
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/authorization.h"
#include "controller/apiserver/request/indexes.h"
#include "controller/apiserver/request/view.h"
#include "controller/apiserver/table/table.h"
#include "controller/store/store.h"
#include "lib/api/job/job.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define SECOND_US 1000000
#define MAX_NAME  40 /* bytes of one in a row; the object has all of it */

static const struct table_column columns[] = {
    {"ID", "integer", NULL, 0, "The number that commands take."},
    {"Name", "string", NULL, 0, "The name its user gave it."},
    {"User", "string", NULL, 0, "Whose it is."},
    {"Partition", "string", NULL, 0, "The set of nodes it asked for."},
    {"State", "string", NULL, 0, "What it is doing."},
    {"Time", "string", NULL, 0, "How long its process has run."},
    {"Limit", "string", NULL, 0, "How long it may run."},
    {"CPUs", "string", NULL, 0, "The hardware threads it asked for."},
    {"Node", "string", NULL, 0, "Where it runs, or ran."},
    {"Reason", "string", NULL, 0, "Why it does not run, or how it ended."},
    TABLE_AGE,
    {"Exit", "string", NULL, 1, "Its exit code."},
    {"Priority", "integer", NULL, 1, "Higher goes first."},
    {"Attempts", "integer", NULL, 1, "How often it was started."},
    {"Code", "string", NULL, 1, "The reason by a word that stays the same."},
    {"Object", "string", "name", 1, "What it is called in the API."},
};

/* The job and the pod that stands for it: the one running, or the newest. */
struct sight {
    const struct job *job;
    const struct pod *pod; /* or NULL: none yet, or none any more */
};

/* How the pod runs, or has run; the job remembers the last one. */
struct run {
    const char *node_name;
    int64_t started_at_us; /* 0: its process has not begun */
    int64_t finished_at_us;
};

static bool
look(const struct object *object, void *context)
{
    struct sight *sight = context;
    const struct pod *pod = pod_of(object);

    if (sight->pod == NULL
        || pod->meta.created_at_us > sight->pod->meta.created_at_us
        || (pod_is_finished(sight->pod) && !pod_is_finished(pod)))
        sight->pod = pod;
    return true;
}

static void
recall_run(const struct job_run *known, struct run *ret_run)
{
    ret_run->node_name = known->node_name;
    ret_run->started_at_us = known->started_at_us;
    ret_run->finished_at_us = known->finished_at_us;
}

static struct run
find_run(const struct sight *s)
{
    struct container_state state;
    struct run run = {0};

    if (s->pod == NULL) {
        if (s->job->status.last_run != NULL)
            recall_run(s->job->status.last_run, &run);
        return run;
    }
    run.node_name = s->pod->spec.node_name;
    if (pod_main_state(s->pod, &state)) {
        run.started_at_us = state.started_at_us;
        run.finished_at_us = state.finished_at_us;
    }
    return run;
}

static bool
is_phase(const struct pod *pod, const char *phase)
{
    return pod != NULL && pod->status.phase != NULL
           && strcmp(pod->status.phase, phase) == 0;
}

static enum job_state
find_state(const struct sight *s)
{
    enum job_state state = job_find_state(s->job);

    if (job_state_is_ended(state) || state == JOB_STATE_ENDING)
        return state;
    if (s->pod != NULL && s->pod->meta.deleted_at_us != 0)
        return JOB_STATE_ENDING;
    if (is_phase(s->pod, "Running"))
        return JOB_STATE_RUNNING;
    if (is_phase(s->pod, "Unknown"))
        return JOB_STATE_UNKNOWN;
    if (state == JOB_STATE_HELD)
        return state;
    if (s->pod != NULL && s->pod->spec.node_name != NULL
        && s->pod->spec.node_name[0] != '\0')
        return pod_is_finished(s->pod) ? JOB_STATE_ENDING : JOB_STATE_STARTING;
    return JOB_STATE_PENDING;
}

/* "1-02:03:04", as the users of batch systems write it. */
static void
format_time(int64_t s, char out[32])
{
    if (s >= 86400)
        snprintf(out,
                 32,
                 "%" PRId64 "-%02d:%02d:%02d",
                 s / 86400,
                 (int)(s / 3600 % 24),
                 (int)(s / 60 % 60),
                 (int)(s % 60));
    else if (s >= 3600)
        snprintf(out,
                 32,
                 "%d:%02d:%02d",
                 (int)(s / 3600),
                 (int)(s / 60 % 60),
                 (int)(s % 60));
    else
        snprintf(out, 32, "%d:%02d", (int)(s / 60), (int)(s % 60));
}

static void
add_time(struct table_row *row, const struct run *run)
{
    int64_t end_us = run->finished_at_us;
    char text[32] = "";

    if (end_us == 0)
        end_us = row->view->now_us;
    if (run->started_at_us != 0)
        format_time((end_us - run->started_at_us) / SECOND_US, text);
    table_cell(row, text);
}

static void
add_limit(struct table_row *row, const struct job *job)
{
    const int64_t *limit_s = job->spec.template_.spec->active_deadline_seconds;
    char text[32] = "none";

    if (limit_s != NULL)
        format_time(*limit_s, text);
    table_cell(row, text);
}

static const char *
find_cpus(const struct job *job)
{
    const struct pod_spec *spec = job->spec.template_.spec;
    const char *cpus = NULL;

    if (spec->containers.count > 0)
        cpus = string_map_find(&spec->containers.items[0].resources.requests,
                               "cpu");
    return cpus != NULL ? cpus : "shared";
}

static const char *
find_name(const struct job *job)
{
    const char *name =
        string_map_find(&job->meta.annotations, "kiln.hpc/job-name");

    return name != NULL ? name : job->meta.name;
}

/* Names are free texts: a long one would push all rows off the screen. */
static void
add_name(struct table_row *row, const struct job *job)
{
    const char *name = find_name(job);
    size_t length = strlen(name);
    char text[MAX_NAME + 2];

    if (length > MAX_NAME) {
        for (length = MAX_NAME; (name[length] & 0xc0) == 0x80;)
            length--;
        snprintf(text, sizeof(text), "%.*s+", (int)length, name);
        name = text;
    }
    table_cell(row, name);
}

static void
add_exit(struct table_row *row, const struct job *job)
{
    char text[24] = "";

    if (job->status.exit_code != NULL)
        snprintf(text, sizeof(text), "%" PRId64, *job->status.exit_code);
    table_cell(row, text);
}

static void
add_cells(struct table_row *row, const struct object *object)
{
    const struct job *job = job_of(object);
    const struct pod_spec *spec = job->spec.template_.spec;
    struct sight sight = {.job = job};
    struct run run;
    CLEANUP_STRBUF struct strbuf reason = STRBUF_INIT;
    enum job_reason code;

    if (row->view->store != NULL)
        store_visit_index(row->view->store,
                          INDEX_PODS_BY_JOB,
                          STORE_PUBLISHED,
                          job->meta.uid,
                          look,
                          &sight);
    run = find_run(&sight);
    table_cell_int(row, job->status.id);
    add_name(row, job);
    table_cell(row, string_map_find(&job->meta.annotations, ANNOTATION_USER));
    table_cell(row, string_map_find(&spec->node_selector, LABEL_PARTITION));
    table_cell(row, job_state_words(find_state(&sight))->name);
    add_time(row, &run);
    add_limit(row, job);
    table_cell(row, find_cpus(job));
    table_cell(row, run.node_name);
    code = job_reason_find(
        &(struct job_reason_facts){
            .job = job,
            .pod = sight.pod,
            .now_us = row->view->now_us,
            .is_whole = authorization_reads_whole(row->view->principal, object),
        },
        &reason);
    table_cell(row, reason.text);
    table_cell_age(row, job->meta.created_at_us);
    add_exit(row, job);
    table_cell_int(row, spec->priority != NULL ? *spec->priority : 0);
    table_cell_int(row, job->status.attempts);
    table_cell(row, code != JOB_REASON_NONE ? job_reason_name(code) : "");
    table_cell(row, job->meta.name);
}

const struct table job_kiln_table = {
    .kind = &job_kind,
    .columns = columns,
    .n_columns = ARRAY_SIZE(columns),
    .add_cells = add_cells,
};
