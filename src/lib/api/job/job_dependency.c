/* SPDX-License-Identifier: Apache-2.0 */
/* People write numbers, and numbers may be issued again after a restore, or name another
 * user's job; what is stored has uids, which admission adds. Tasks are named by their ids, as
 * people see them, and never by indexes. The grammar is Slurm's, with what its users type in
 * other cases and orders; what cannot be meant is refused with the place in the text.
 */
#include "lib/api/job/job_dependency.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/api/job/job.h"
#include "lib/api/value/rows.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#define MOST_MINUTES INT64_C(5256000) /* ten years */

static const char *const types[] = {
    [DEPENDENCY_NONE] = "",
    [DEPENDENCY_AFTER] = "after",
    [DEPENDENCY_ANY] = "afterany",
    [DEPENDENCY_CORR] = "aftercorr",
    [DEPENDENCY_NOT_OK] = "afternotok",
    [DEPENDENCY_OK] = "afterok",
    [DEPENDENCY_SINGLETON] = "singleton",
};

/* clang-format off */
static const struct field job_dependency_end_fields[] = {
    STRING("uid", job_dependency_end, uid, ALWAYS,
        HELP("The job's uid.")),
    STRING("tasks", job_dependency_end, tasks, 0,
        HELP("The tasks that were waited for.")),
    STRING("state", job_dependency_end, state, ALWAYS,
        HELP("How it ended: kiln-states(7).")),
    TIME("startTime", job_dependency_end, began_at_us, 0,
        HELP("When it started; its end where it never did.")),
};
static RECORD(job_dependency_end, job_dependency_end,
       "hpc.kiln.v1.JobDependencyEnd",
       HELP("How a job that was waited for has ended."));

static const struct field job_dependency_status_fields[] = {
    TIME("metTime", job_dependency_status, met_at_us, KEPT,
        HELP("When all dependencies were met.")),
    OBJECTS("ended", job_dependency_status, ended, job_dependency_end, 0,
        HELP("Jobs that were waited for and are gone.")),
};
RECORD(job_dependency_status, job_dependency_status,
       "hpc.kiln.v1.JobDependencyStatus",
       HELP("What is known of the jobs that a Job waits for."), ATOMIC);

static const struct field job_dependency_fields[] = {
    STRING("type", job_dependency, type, ALWAYS | REQUIRED,
        ONE_OF("after", "afterany", "aftercorr", "afternotok", "afterok",
            "singleton"),
        HELP("What is waited for: that it has started (after), ended "
             "(afterany), completed (afterok), ended otherwise (afternotok); "
             "singleton: the older jobs of the same user and name.")),
    INT64("job", job_dependency, job, 0,
        HELP("The number of the job.")),
    STRING("tasks", job_dependency, tasks, 0,
        HELP("Only these tasks of the array, by their numbers (3, 3-9): each "
             "has started, all have ended, or all have completed.")),
    INT64("delaySeconds", job_dependency, delay_s, 0,
        HELP("With after: this long after its start.")),
    STRING("uid", job_dependency, uid, 0,
        HELP("Its uid; set by the server.")),
    STRING("namespace", job_dependency, namespace, 0,
        HELP("Its namespace; set by the server.")),
    STRING("name", job_dependency, name, 0,
        HELP("Its name; set by the server.")),
    STRING("ended", job_dependency, ended, 0,
        HELP("Its state, if it was gone already; set by the server.")),
    TIME("endedStartTime", job_dependency, ended_began_at_us, 0,
        HELP("When it had started, if it was gone already, or its end where "
             "it never did; set by the server.")),
};
static RECORD(job_dependency, job_dependency, "hpc.kiln.v1.JobDependency",
       HELP("Another job that is waited for."));

static const struct field job_dependencies_fields[] = {
    STRING("require", job_dependencies, require, 0, ONE_OF("All", "Any"),
        HELP("All (the default): wait for each; Any: wait for the first.")),
    OBJECTS("jobs", job_dependencies, jobs, job_dependency, 0,
        HELP("At most 128.")),
};
RECORD(job_dependencies, job_dependencies, "hpc.kiln.v1.JobDependencies",
       HELP("What a Job waits for before it has pods."), ATOMIC);
/* clang-format on */

enum job_dependency_type
job_dependency_type_of(const char *word)
{
    for (unsigned i = DEPENDENCY_AFTER; word != NULL && i < ARRAY_SIZE(types); i++)
        if (strcmp(types[i], word) == 0)
            return (enum job_dependency_type)i;
    return DEPENDENCY_NONE;
}

bool
job_dependencies_any(const struct job_dependencies *d)
{
    return d->require != NULL && strcmp(d->require, "Any") == 0;
}

/* ---- Parsing ---- */

/* A text that is being parsed, up to its NUL. */
struct dependency_reader {
    struct arena *arena;
    struct json *list;
    const char *at;
    char separator; /* seen so far: ',' or '?'; 0: none */
    bool takes_stages;
    struct error *err;
};

static int
refuse_type(struct dependency_reader *r, const char *word)
{
    if (strcasecmp(word, "expand") == 0)
        return error_set(r->err, -EOPNOTSUPP, "expand: a job cannot change its size");
    if (*word == '\0')
        return error_set(r->err, -EINVAL,
                         "a dependency is missing next to a separator (, or "
                         "?); write for example afterok:1041");
    return error_set(r->err, -EINVAL,
                     "'%.32s' is not a dependency; use after, afterany, "
                     "afterok, afternotok, aftercorr or singleton, such as "
                     "afterok:1041",
                     word);
}

static int
add(struct dependency_reader *r, enum job_dependency_type type, struct json **ret_one)
{
    struct json *one = json_object(r->arena);

    if (json_count(r->list) == JOB_DEPENDENCIES_MOST)
        return error_set(r->err, -E2BIG,
                         "a job can wait for at most %u others; put a job in "
                         "between that waits for more",
                         JOB_DEPENDENCIES_MOST);
    json_set_string(r->arena, one, "type", types[type]);
    json_append(r->arena, r->list, one);
    *ret_one = one;
    return 0;
}

/* False: there are no digits, or too many. */
static bool
read_number(struct dependency_reader *r, int64_t *ret_number)
{
    const size_t digits = strspn(r->at, "0123456789");

    if (digits == 0 || digits > 18)
        return false;
    *ret_number = strtoll(r->at, NULL, 10);
    r->at += digits;
    return true;
}

static int
refuse_job(struct dependency_reader *r, enum job_dependency_type type, const char *at)
{
    return error_set(r->err, -EINVAL, "%s: '%.*s' is not a job id, such as %s:1041", types[type],
                     (int)(strcspn(at, ":,?") < 32 ? strcspn(at, ":,?") : 32), at, types[type]);
}

/* Parses the delay "+10" that follows the job at `began`. */
static int
read_minutes(struct dependency_reader *r, enum job_dependency_type type, const char *began,
             int64_t *ret_minutes)
{
    const int length = (int)(r->at - began);

    r->at++;
    if (type != DEPENDENCY_AFTER)
        return error_set(r->err, -EINVAL, "%s: only after takes minutes, such as after:%.*s+10",
                         types[type], length, began);
    if (!read_number(r, ret_minutes) || *ret_minutes > MOST_MINUTES)
        return error_set(r->err, -EINVAL, "after:%.*s+: expected minutes, such as after:%.*s+10",
                         length, began, length, began);
    return 0;
}

/* Parses a stage's name: "prepare". NULL: the text is a job's number, with or
 * without tasks.
 */
static const char *
read_stage(struct dependency_reader *r)
{
    const size_t length = strcspn(r->at, ":,?+");
    const size_t digits = strspn(r->at, "0123456789");
    const char *name;

    if (!r->takes_stages || length == 0 || digits >= length || (digits > 0 && r->at[digits] == '_'))
        return NULL;
    name = arena_strndup(r->arena, r->at, length);
    r->at += length;
    return name;
}

/* Parses "_3" or "_[3-9]"; "_*" of Slurm is the whole array. */
static int
read_tasks(struct dependency_reader *r, enum job_dependency_type type, int64_t job,
           const char **ret_tasks)
{
    const char *list = r->at + 1;
    size_t length = strspn(list, "0123456789");
    struct error err = {0};

    if (list[0] == '*') {
        r->at = list + 1;
        return 0;
    }
    r->at = list + length;
    if (length == 0 && list[0] == '[') {
        length = strcspn(++list, "]");
        r->at = list + length + (list[length] == ']');
    }
    if (length > JOB_DEPENDENCY_TASKS_MAX)
        return error_set(r->err, -E2BIG,
                         "%s:%" PRId64 "_[]: expected a list of at most %d "
                         "bytes",
                         types[type], job, JOB_DEPENDENCY_TASKS_MAX);
    *ret_tasks = arena_strndup(r->arena, list, length);
    if (length == 0 || r->at[-1] == '[' || (list[-1] == '[' && r->at[-1] != ']')
        || job_dependency_tidy_tasks(r->arena, ret_tasks, &err) < 0)
        return error_set(r->err, -EINVAL,
                         "%s:%" PRId64 "_: expected a task id, or a list of "
                         "them in brackets, such as %s:%" PRId64 "_3 or "
                         "%s:%" PRId64 "_[3-9]",
                         types[type], job, types[type], job, types[type], job);
    if (type == DEPENDENCY_CORR)
        return error_set(r->err, -EINVAL,
                         "aftercorr:%" PRId64 "_%s: aftercorr pairs the tasks "
                         "of two arrays by their numbers and names no task; "
                         "use afterok:%" PRId64 "_%s to wait for these",
                         job, *ret_tasks, job, *ret_tasks);
    return 0;
}

/* Parses "1041", "1041+10", "1042_3", "1042_[3-9]", or in a pipeline "prepare".
 */
static int
read_job(struct dependency_reader *r, enum job_dependency_type type)
{
    const char *began = r->at, *tasks = NULL;
    const char *stage = read_stage(r);
    int64_t job = 0, minutes = 0;
    struct json *one;
    int result = 0;

    if (stage == NULL && (!read_number(r, &job) || job == 0))
        return refuse_job(r, type, began);
    if (*r->at == '_')
        result = read_tasks(r, type, job, &tasks);
    if (result == 0 && *r->at == '+')
        result = read_minutes(r, type, began, &minutes);
    if (result < 0)
        return result;
    if (*r->at != '\0' && strchr(":,?", *r->at) == NULL)
        return refuse_job(r, type, began);
    result = add(r, type, &one);
    if (result < 0)
        return result;
    if (stage != NULL)
        json_set_string(r->arena, one, "stage", stage);
    else
        json_set_int(r->arena, one, "job", job);
    if (tasks != NULL)
        json_set_string(r->arena, one, "tasks", tasks);
    if (minutes > 0)
        json_set_int(r->arena, one, "delaySeconds", minutes * 60);
    return 0;
}

/* In any case, as in Slurm. Without burst buffers nothing is copied out after a job's end, so
 * afterburstbuffer waits for that end.
 */
static enum job_dependency_type
read_type(const char *word)
{
    if (strcasecmp(word, "afterburstbuffer") == 0)
        return DEPENDENCY_ANY;
    for (unsigned i = DEPENDENCY_AFTER; i < ARRAY_SIZE(types); i++)
        if (strcasecmp(types[i], word) == 0)
            return (enum job_dependency_type)i;
    return DEPENDENCY_NONE;
}

/* Parses "afterok:1041:1042" or "singleton"; Slurm's "1041" is afterany:1041. */
static int
read_one(struct dependency_reader *r)
{
    const size_t length = strcspn(r->at, ":,?");
    const char *word = arena_strndup(r->arena, r->at, length);
    const enum job_dependency_type type = read_type(word);
    struct json *one;
    int result = 0;

    /* A stage's name without a type means afterok. */
    if (type == DEPENDENCY_NONE && r->takes_stages && r->at[length] != ':' && length > 0)
        return read_job(r, DEPENDENCY_OK);
    if (type == DEPENDENCY_NONE && isdigit((unsigned char)word[0]))
        return read_job(r, DEPENDENCY_ANY);
    if (type == DEPENDENCY_NONE)
        return refuse_type(r, word);
    r->at += length;
    if (type == DEPENDENCY_SINGLETON)
        return *r->at != ':' ? add(r, type, &one)
                             : error_set(r->err, -EINVAL,
                                         "singleton takes no job id: it waits for your "
                                         "older jobs with the same name");
    if (*r->at != ':')
        return error_set(r->err, -EINVAL, "%s: a job id is required, such as %s:1041", word, word);
    while (result == 0 && *r->at == ':') {
        r->at++;
        result = read_job(r, type);
    }
    return result;
}

static int
read_separator(struct dependency_reader *r)
{
    const char separator = *r->at;

    if (r->separator != 0 && r->separator != separator)
        return error_set(r->err, -EINVAL,
                         "a job waits either for all (,) or for any (?) of "
                         "its dependencies; put a job in between that waits "
                         "for one kind");
    r->separator = separator;
    r->at++;
    return 0;
}

static int
parse(const char *text, bool takes_stages, struct arena *arena, struct json **ret_dependencies,
      struct error *err)
{
    struct dependency_reader r = {
        .arena = arena,
        .list = json_array(arena),
        .at = text,
        .takes_stages = takes_stages,
        .err = err,
    };
    struct json *all;
    int result = 0;

    if (text[0] == '\0') {
        *ret_dependencies = NULL;
        return 0;
    }
    for (;;) {
        result = read_one(&r);
        if (result < 0 || *r.at == '\0')
            break;
        result = read_separator(&r);
        if (result < 0)
            break;
    }
    if (result < 0)
        return result;
    all = json_object(arena);
    if (r.separator == '?')
        json_set_string(arena, all, "require", "Any");
    json_set(arena, all, "jobs", r.list);
    *ret_dependencies = all;
    return 0;
}

int
job_dependency_parse(const char *text, struct arena *arena, struct json **ret_dependencies,
                     struct error *err)
{
    return parse(text, false, arena, ret_dependencies, err);
}

int
job_dependency_parse_stages(const char *text, struct arena *arena, struct json **ret_dependencies,
                            struct error *err)
{
    return parse(text, true, arena, ret_dependencies, err);
}

int
job_dependency_tidy_tasks(struct arena *arena, const char **tasks, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct task_list list;
    int r = task_list_parse(arena, *tasks, &list, err);

    if (r == 0 && list.total == 0)
        r = error_set(err, -EINVAL, "it lists no task");
    if (r < 0)
        return r;
    task_list_format(&list, &text);
    *tasks = arena_strdup(arena, text.text);
    return 0;
}

/* ---- Formatting ---- */

void
job_dependency_format_job(const struct job_dependency *d, struct strbuf *out)
{
    const char *tasks = d->tasks;

    strbuf_printf(out, "%" PRId64, d->job);
    if (tasks != NULL)
        strbuf_printf(out, strspn(tasks, "0123456789") == strlen(tasks) ? "_%s" : "_[%s]", tasks);
}

void
job_dependency_format(const struct job_dependency *d, struct strbuf *out)
{
    strbuf_add_text(out, d->type != NULL ? d->type : "");
    if (d->job != 0) {
        strbuf_add_char(out, ':');
        job_dependency_format_job(d, out);
    }
    if (d->delay_s >= 60)
        strbuf_printf(out, "+%" PRId64, d->delay_s / 60);
}

void
job_dependencies_format(const struct job_dependencies *all, unsigned most_bytes, struct strbuf *out)
{
    const char separator = job_dependencies_any(all) ? '?' : ',';
    const size_t before = out->length;

    for (unsigned i = 0; i < all->jobs.count; i++) {
        const size_t had = out->length;

        if (i > 0)
            strbuf_add_char(out, separator);
        job_dependency_format(&all->jobs.items[i], out);
        if (out->length - before <= most_bytes || i == 0)
            continue;
        strbuf_truncate(out, had);
        strbuf_printf(out, " and %u more", all->jobs.count - i);
        return;
    }
}

/* ---- Verdicts ---- */

enum job_dependency_verdict
job_dependency_judge_end(enum job_dependency_type type, enum job_state state)
{
    const bool is_ok = state == JOB_STATE_COMPLETED;

    switch (type) {
    case DEPENDENCY_AFTER:
    case DEPENDENCY_ANY:
        return DEPENDENCY_IS_MET;
    case DEPENDENCY_OK:
    case DEPENDENCY_CORR:
        return is_ok ? DEPENDENCY_IS_MET : DEPENDENCY_IS_NEVER_MET;
    case DEPENDENCY_NOT_OK:
        return is_ok ? DEPENDENCY_IS_NEVER_MET : DEPENDENCY_IS_MET;
    default:
        return DEPENDENCY_WAITS;
    }
}

static const struct job_dependency_end *
find_end(const struct job *job, const struct job_dependency *d)
{
    const struct job_dependency_status *s = job->status.dependencies;

    for (unsigned i = 0; s != NULL && d->uid != NULL && i < s->ended.count; i++)
        if (text_equals_loosely(s->ended.items[i].uid, d->uid)
            && text_equals_loosely(s->ended.items[i].tasks, d->tasks))
            return &s->ended.items[i];
    return NULL;
}

enum job_state
job_dependency_noted(const struct job *job, const struct job_dependency *d)
{
    const struct job_dependency_end *end = find_end(job, d);

    if (d->ended != NULL)
        return job_state_of_name(d->ended);
    return end != NULL ? job_state_of_name(end->state) : JOB_STATE_NONE;
}

int64_t
job_dependency_noted_start_us(const struct job *job, const struct job_dependency *d)
{
    const struct job_dependency_end *end = find_end(job, d);

    if (d->ended != NULL)
        return d->ended_began_at_us;
    return end != NULL ? end->began_at_us : 0;
}

bool
job_waits_for_others(const struct job *job)
{
    const struct job_dependency_status *s = job->status.dependencies;

    return job->spec.dependencies != NULL && job->spec.dependencies->jobs.count > 0
           && job->status.attempts == 0 && job->status.active == 0 && !job_is_finished(job)
           && (s == NULL || s->met_at_us == 0);
}
