/* SPDX-License-Identifier: Apache-2.0 */
/* control_jobs.c - keywords of scontrol that change jobs */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/connection.h"
#include "cli/connect/inquiry.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/verbs/jobs/update_field.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/slurm_time.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const char denied[] = "Access/permission denied"; /* of another user's job */

/* ---- One request for all jobs of a keyword ---- */

/* How a keyword changes jobs, and what Slurm prints after the lines of the jobs that failed. */
struct job_keyword {
    const char *action;  /* of /kiln/v1/jobs/ACTION */
    const char *summary; /* "slurm_suspend error: %s"; NULL: nothing */
    bool is_idle_fine;   /* nothing to do is no error, for a job that has not ended */
    const char *denied;  /* Slurm's words for another user's job; NULL: the usual ones */
};

/* The controller accepts an update after which the job can never run, and says so. */
static void
print_warning(const struct scontrol *c, const struct json *result)
{
    const char *message = json_get_text(result, "message");
    const char *warning = message != NULL ? strstr(message, "; warning: ") : NULL;

    if (warning != NULL && !c->is_quiet)
        fprintf(stderr, "scontrol: %s\n", warning + strlen("; "));
}

/* Slurm's text for a job that was not changed; NULL: it is none of Slurm's errors. */
static const char *
reason_of(const struct job_keyword *change, const struct json *result)
{
    static const struct {
        const char *ours, *slurms;
    } texts[] = {
        {"has ended already", "Job has already finished"},
        {"has ended as a whole", "Job has already finished"},
        {"has not started yet", "Job is pending execution"},
        {"does not run", "Job is pending execution"},
        {"is suspended already", "Job is already suspended"},
        {"is not suspended", "Job is not suspended"},
        {"cannot change it", denied},
        {"' cannot ", denied}, /* "user 'ann' cannot ..." */
        {"it has a node already", "Job is no longer pending execution"},
        {"it has started, and no longer waits", "Job is no longer pending execution"},
        {"cannot wait for itself", "Job dependency problem"},
        {"operators", "Access/permission denied"}, /* of the user's own job */
        {"not a job array", "Invalid job id specified"},
        {"there is no partition", "Invalid partition name specified"},
        {"there is no priority class", "Invalid qos specification"},
        {"PriorityClassUse: ", "Invalid qos specification"},
        {"there is no reservation", "Requested reservation is invalid"},
    };
    const char *outcome = json_get_text(result, "outcome");
    const char *message = json_get_text(result, "message");

    if (outcome == NULL || strcmp(outcome, "Done") == 0)
        return NULL;
    if (strcmp(outcome, "NotFound") == 0 || strcmp(outcome, "TaskNotFound") == 0)
        return "Invalid job id specified";
    if (message == NULL)
        message = "Unspecified error";
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        if (strstr(message, texts[i].ours) != NULL)
            return strcmp(outcome, "Nothing") == 0 && change->is_idle_fine
                           && strcmp(texts[i].slurms, "Job has already finished") != 0
                       ? NULL
                   : change->denied != NULL && texts[i].slurms == denied ? change->denied
                                                                         : texts[i].slurms;
    return strcmp(outcome, "Nothing") == 0 ? NULL : message;
}

static const char *
job_of_result(struct scontrol *c, const struct json *result, const char *given)
{
    const char *tasks = json_get_text(result, "tasks");
    const int64_t id = json_get_int(result, "id", 0);

    if (id == 0)
        return given;
    if (tasks == NULL)
        return arena_printf(c->client->arena, "%" PRId64, id);
    return tasks[strspn(tasks, "0123456789")] == '\0'
               ? arena_printf(c->client->arena, "%" PRId64 "_%s", id, tasks)
               : arena_printf(c->client->arena, "%" PRId64 "_[%s]", id, tasks);
}

static int
fail(struct scontrol *c, const struct job_keyword *change, const char *job, const char *reason)
{
    if (!c->is_quiet) {
        fprintf(stderr, "%s for job %s\n", reason, job);
        if (change->summary != NULL)
            fprintf(stderr, "%s: %s\n", change->summary, reason);
    }
    return 1;
}

/* Sends the body for one word of a user; the exit status. */
static int
send(struct scontrol *c, const struct job_keyword *change, const char *given, struct json *body)
{
    struct error err = {0};
    const char *next = "";
    int status = 0;
    int r = kctl_open(&c->client->kctl, &err);

    while (r == 0 && next != NULL) {
        struct json *answer = NULL;
        const struct json *jobs;

        if (next[0] != '\0')
            json_set_string(c->client->arena, body, "continue", next);
        r = inquiry_run(c->client->kctl.connection, HTTP_POST,
                        arena_printf(c->client->arena, "/kiln/v1/jobs/%s", change->action), body,
                        c->client->arena, &answer, &err);
        if (r < 0)
            break;
        jobs = json_get(answer, "jobs");
        for (uint32_t i = 0; i < json_count(jobs); i++) {
            const char *reason = reason_of(change, json_at(jobs, i));

            if (reason != NULL)
                status = fail(c, change, job_of_result(c, json_at(jobs, i), given), reason);
            print_warning(c, json_at(jobs, i));
        }
        next = json_get_text(answer, "continue");
    }
    if (r == 0)
        return status;
    connection_advise(r, &err);
    return fail(c, change, given, slurm_client_reason(r, &err));
}

/* A word is a job, "JobId=17", or "name=NAME" or "jobname=NAME": the user's jobs of that name. */
static int
change_word(struct scontrol *c, const struct job_keyword *change, const char *word,
            struct json *update)
{
    struct arena *arena = c->client->arena;
    struct json *body = json_object(arena);
    struct error err = {0};
    const char *user = NULL;
    const char *equals = strchr(word, '=');

    if (update != NULL)
        json_set(arena, body, "update", update);
    if (equals != NULL && strncasecmp(word, "job", 3) == 0 && strncasecmp(word, "jobname", 7) != 0)
        word = equals + 1;
    else if (equals != NULL) {
        if (job_selection_find_own_user(&c->client->kctl, arena, &user, &err) < 0)
            return slurm_client_fail(c->client, NULL, err.code, &err);
        json_set_string(arena, body, "fieldSelector",
                        job_selection_fields(&(struct job_selection){.user = user},
                                             "status.finished=false", arena));
        json_set_string(arena, body, "name", equals + 1);
        return send(c, change, word, body);
    }
    if (!job_words_is_job(word))
        return fail(c, change, word, "Invalid job id specified");
    json_set_string(arena, body, "ids", word);
    return send(c, change, word, body);
}

static int
change_words(struct scontrol *c, const struct job_keyword *change, const char *keyword, int n_words,
             char **words)
{
    int status = 0;

    if (n_words == 0) {
        fprintf(stderr, "too few arguments for keyword:%s\n", keyword);
        return 1;
    }
    for (int i = 0; i < n_words; i++) {
        const char *list = words[i];
        const char *word;

        while ((word = job_words_next(&list, c->client->arena)) != NULL)
            if (change_word(c, change, word, NULL) != 0)
                status = 1;
    }
    return status;
}

int
control_hold(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"hold", "slurm_suspend error", true,
                                              "Invalid user id"};

    return change_words(c, &change, "hold", n_words, words);
}

int
control_uhold(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"hold", "slurm_suspend error", true,
                                              "Invalid user id"};

    return change_words(c, &change, "uhold", n_words, words);
}

int
control_release(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"release", "slurm_suspend error", true,
                                              "Invalid user id"};

    return change_words(c, &change, "release", n_words, words);
}

int
control_requeue(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"requeue", NULL, false, NULL};

    return change_words(c, &change, "requeue", n_words, words);
}

/* Slurm's first word may say how the job's state is called: "Incomplete", "State=SpecialExit". */
int
control_requeue_hold(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"requeueAndHold", NULL, false, NULL};

    while (
        n_words > 0
        && (strcasecmp(words[0], "incomplete") == 0 || strncasecmp(words[0], "state=", 6) == 0)) {
        words++;
        n_words--;
    }
    return change_words(c, &change, "requeuehold", n_words, words);
}

int
control_suspend(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"suspend", NULL, false, NULL};

    return change_words(c, &change, "suspend", n_words, words);
}

int
control_resume(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {"resume", NULL, false, NULL};

    return change_words(c, &change, "resume", n_words, words);
}

/* Slurm moves the job in front of the user's others by their nice values, which Kiln does not have. */
int
control_top(struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    slurm_client_error(c->client,
                       "Kiln does not reorder a user's jobs: 'scontrol hold' the others, or give "
                       "this one a class: scontrol update JobId=N Priority=CLASS");
    return 1;
}

/* ---- update ---- */

/* Slurm's other names of fields, and those that mean nothing here. */
static const char *
own_name(struct scontrol *c, const char *word)
{
    static const struct {
        const char *slurms, *ours;
    } names[] = {
        {"Name=", "JobName="},
        {"NodeList=", "ReqNodeList="},
        {"MinMemory=", "MinMemoryNode="},
        {"EligibleTime=", "StartTime="},
        {"Gres=gpu:", "gpus="},
        {"Reservation=", "ReservationName="},
        {"NumCPUs=", "NumTasks="},
    };

    if (strcasecmp(word, "Gres=") == 0 || strcasecmp(word, "Gres=0") == 0
        || strcasecmp(word, "Gres=none") == 0)
        return "gpus=0";
    if (strcasecmp(word, "Gres=gpu") == 0)
        return "gpus=1";
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strncasecmp(word, names[i].slurms, strlen(names[i].slurms)) == 0)
            return arena_printf(c->client->arena, "%s%s", names[i].ours,
                                word + strlen(names[i].slurms));
    return word;
}

/* Tells what to do instead, for a field of Slurm's that a job of Kiln keeps, or does not have. */
static const char *
advice_of(const char *word)
{
    static const char nodes[] = "a job keeps the number of nodes that it was submitted with; "
                                "cancel it, and submit it with -N";
    static const struct {
        const char *field, *advice;
    } advices[] = {
        {"Account", "an account is the namespace that a job is in, and it stays there; cancel it, "
                    "and submit it with -A"},
        {"Contiguous", "nodes have no order here; Switches of a submission (--switches) asks for "
                       "near ones"},
        {"Licenses", "licenses are not counted; limit the number of jobs that need one"},
        {"MinCPUsNode", "give the CPUs themselves: NumTasks=N or CPUsPerTask=N"},
        {"MinNodes", nodes},
        {"NumNodes", nodes},
        {"OverSubscribe", "whether a job shares its CPUs is decided at its submission (ksub "
                          "--shared, --exclusive)"},
        {"Shared", "whether a job shares its CPUs is decided at its submission (ksub --shared, "
                   "--exclusive)"},
        {"Switches", "the number of switches is decided at the submission (--switches)"},
        {"TimeMin", "a job has one time limit; TimeLimit=TIME lowers it so that it may start "
                    "earlier"},
    };
    const size_t length = strcspn(word, "=");

    for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
        if (strlen(advices[i].field) == length && strncasecmp(word, advices[i].field, length) == 0)
            return advices[i].advice;
    return NULL;
}

static int
read_field(struct scontrol *c, const char *word, struct json *update)
{
    struct error err = {0};
    int r = update_field_read(own_name(c, word), update, c->client->arena, &err);

    if (r == 0 || r == -EEXIST) /* the last one of two counts, as in Slurm */
        return 0;
    if (r == -EINVAL && strncasecmp(word, "MailType=", 9) == 0) {
        fprintf(stderr, "Invalid MailType: %s\n", word + strlen("MailType="));
        return 1;
    }
    if (r == -EINVAL && strncasecmp(word, "Nice=", 5) == 0
        && word[5 + strspn(word + 5, "+-0123456789")] == '\0') {
        slurm_client_error(c->client, "Nice value out of range (+/- 2147483645). Value ignored");
        return 1;
    }
    if (r == -ENOKEY && strncasecmp(word, "Gres=", 5) == 0) {
        fputs("Invalid generic resource (gres) specification\n", stderr);
        slurm_client_error(c->client, "%s: a job can ask for gpu:N or gpu:MODEL:N", word);
        return 1;
    }
    if (r == -ENOKEY)
        fprintf(stderr, "Update of this parameter is not supported: %s\n", word);
    else
        slurm_client_error(c->client, "Invalid %.*s value: %s", (int)strcspn(word, "="), word,
                           err.text);
    if (r == -ENOKEY && advice_of(word) != NULL)
        slurm_client_error(c->client, "%s", advice_of(word));
    if (r == -ENOKEY)
        fputs("Request aborted\n", stderr);
    return 1;
}

static int
refuse_job(const char *reason, const char *job)
{
    fprintf(stderr, "%s for job %s\n", reason, job);
    return 1;
}

/* ---- What a job keeps ---- */

/* Values that a job must have already, as it keeps them: the update is refused otherwise. */
struct kept_values {
    const char *nodes, *account; /* words of the command line; or NULL */
};

/* "NumNodes=2", "NumNodes=2-2" and "Account=a" */
static bool
read_kept(const char *word, struct kept_values *kept)
{
    if (strncasecmp(word, "numnodes=", 9) == 0)
        kept->nodes = word;
    else if (strncasecmp(word, "account=", 8) == 0)
        kept->account = word;
    else
        return false;
    return true;
}

static bool
is_node_count(const char *text, int64_t nodes)
{
    char *end;
    const long long least = strtoll(text, &end, 10);
    const long long most = *end == '-' ? strtoll(end + 1, &end, 10) : least;

    return end != text && *end == '\0' && least == nodes && most == nodes;
}

static int
refuse_kept(struct scontrol *c, const char *word)
{
    fprintf(stderr, "Update of this parameter is not supported: %s\n", word);
    slurm_client_error(c->client, "%s", advice_of(word));
    fputs("Request aborted\n", stderr);
    return 1;
}

static int
check_kept(struct scontrol *c, const struct kept_values *kept, const char *job)
{
    static const struct queue_query query = {
        .need = QUEUE_NEEDS_JOB, .states = ~UINT32_C(0), .has_all_tasks = false};
    struct queue_rows rows = {0};
    struct error err = {0};
    int status = 0;
    int r = queue_fetch_job(c->client, &query, atoll(job), c->client->arena, &rows, &err);

    if (r < 0 || rows.count == 0)
        status = refuse_job(r == 0 || r == -ENOENT ? "Invalid job id specified"
                                                   : slurm_client_reason(r, &err),
                            job);
    else if (kept->nodes != NULL
             && !is_node_count(strchr(kept->nodes, '=') + 1, rows.items[0].nodes))
        status = refuse_kept(c, kept->nodes);
    else if (kept->account != NULL
             && strcasecmp(strchr(kept->account, '=') + 1, rows.items[0].account) != 0)
        status = refuse_kept(c, kept->account);
    queue_rows_fini(&rows);
    return status;
}

/* ---- Time limits ---- */

/* A new time limit that depends on the job as it is: "+5" or "-5" (minutes, or a time) of
 * TimeLimit=, or the end of EndTime=.
 */
struct relative_limit {
    const char *difference; /* NULL: none */
    int64_t end_us;         /* 0: none */
};

static int
refuse_limit(struct scontrol *c, const char *why)
{
    slurm_client_error(c->client, "Invalid TimeLimit value: %s", why);
    return 1;
}

static int
find_limit(struct scontrol *c, const struct relative_limit *limit, const char *job,
           const struct queue_row *row, int64_t *ret_s)
{
    struct error err = {0};
    int64_t seconds = 0;

    if (limit->difference == NULL) {
        if (row->start_us == 0)
            return refuse_job("Job is not running", job);
        *ret_s = (limit->end_us - row->start_us) / 1000000;
    } else {
        if (duration_parse(limit->difference + 1, &seconds, &err) < 0)
            return refuse_limit(c, err.text);
        if (row->limit_s == 0)
            return refuse_limit(c, "the job has no limit that could become another one");
        *ret_s = row->limit_s + (limit->difference[0] == '-' ? -seconds : seconds);
    }
    if (*ret_s <= 0)
        return refuse_limit(
            c, arena_printf(c->client->arena, "nothing is left of the limit of job %s", job));
    return 0;
}

static int
set_relative_limit(struct scontrol *c, const struct relative_limit *limit, const char *job,
                   struct json *update)
{
    static const struct queue_query query = {
        .need = QUEUE_NEEDS_CELLS, .states = ~UINT32_C(0), .has_all_tasks = false};
    struct queue_rows rows = {0};
    struct error err = {0};
    int64_t limit_s = 0;
    int status;
    int r = queue_fetch_job(c->client, &query, atoll(job), c->client->arena, &rows, &err);

    if (r == 0 && rows.count == 0)
        r = -ENOENT;
    if (r == 0)
        status = find_limit(c, limit, job, &rows.items[0], &limit_s);
    else
        status = refuse_job(
            r == -ENOENT ? "Invalid job id specified" : slurm_client_reason(r, &err), job);
    queue_rows_fini(&rows);
    if (status != 0)
        return status;
    json_set_int(c->client->arena, update, "timeLimitSeconds", limit_s); /* of this job */
    return 0;
}

/* "TimeLimit+=5", "TimeLimit=-5", "EndTime=now+1hour"; *ret_is_one: it is one of these. */
static int
read_relative_limit(struct scontrol *c, const char *word, struct relative_limit *limit,
                    bool *ret_is_one)
{
    const char *equals = strchr(word, '=');
    struct error err = {0};

    *ret_is_one = true;
    if (strncasecmp(word, "timelimit=", 10) == 0 && (equals[1] == '+' || equals[1] == '-'))
        *limit = (struct relative_limit){.difference = equals + 1};
    else if (strncasecmp(word, "timelimit+=", 11) == 0 || strncasecmp(word, "timelimit-=", 11) == 0)
        *limit = (struct relative_limit){
            .difference = arena_printf(c->client->arena, "%c%s", equals[-1], equals + 1)};
    else if (strncasecmp(word, "endtime=", 8) == 0) {
        limit->difference = NULL;
        if (slurm_time_parse(equals + 1, clock_real_us(&clock_system), &limit->end_us, &err) == 0)
            return 0;
        fprintf(stderr, "%s\n", err.text);
        return 1;
    } else
        *ret_is_one = false;
    return 0;
}

/* "jobid=17", "job=17" */
static bool
names_jobs(const char *word)
{
    const size_t length = strcspn(word, "=");

    return word[length] == '=' && length >= 3 && length <= 5
           && strncasecmp(word, "jobid", length) == 0;
}

int
control_update_job(struct scontrol *c, int n_words, char **words)
{
    static const struct job_keyword change = {.action = "update", .denied = "Invalid user id"};
    struct json *update = json_object(c->client->arena);
    struct relative_limit limit = {0};
    struct kept_values kept = {0};
    const char *jobs = NULL, *job;
    bool is_relative, has_relative = false, has_kept;
    int status = 0;

    for (int i = 0; i < n_words; i++) {
        const char *equals = strchr(words[i], '=');

        if (read_relative_limit(c, words[i], &limit, &is_relative) != 0)
            return 1;
        if (is_relative || strncasecmp(words[i], "timelimit=", 10) == 0) {
            json_remove(update, "timeLimitSeconds"); /* the last limit counts */
            has_relative = is_relative;
        }
        if (is_relative || read_kept(words[i], &kept))
            continue;
        if (strcasecmp(words[i], "nice") == 0) { /* without a value, as nice(1) */
            json_set_int(c->client->arena, update, "nice", 100);
            continue;
        }
        if (names_jobs(words[i]))
            jobs = equals + 1;
        else if (equals == NULL && jobs == NULL)
            jobs = words[i];
        else if (equals == NULL) {
            fprintf(stderr, "Invalid input: %s\nRequest aborted\n", words[i]);
            return 1;
        } else if (jobs == NULL && strncasecmp(words[i], "jobname=", 8) == 0)
            jobs = words[i];
        else if (read_field(c, words[i], update) != 0)
            return 1;
    }
    has_kept = kept.nodes != NULL || kept.account != NULL;
    if (json_count(update) == 0 && !has_relative && !has_kept) {
        fputs("No changes specified\n", stderr);
        return 1;
    }
    while (jobs != NULL && (job = job_words_next(&jobs, c->client->arena)) != NULL)
        if ((has_kept && check_kept(c, &kept, job) != 0)
            || (has_relative && set_relative_limit(c, &limit, job, update) != 0)
            || (json_count(update) > 0 && change_word(c, &change, job, update) != 0))
            status = 1;
    return status;
}
