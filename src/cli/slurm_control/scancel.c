/* SPDX-License-Identifier: Apache-2.0 */
/* scancel - ends jobs, and sends signals to them
 *
 * Jobs that are named are ended by one request. Options that select jobs are answered by the server
 * as far as it knows them; for the rest, and together with names, the jobs are listed first.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/connect/getent.h"
#include "cli/connect/inquiry.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/input/step_operand.h"
#include "cli/slurm/job_words.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_control/cancel_choice.h"
#include "cli/slurm_control/cancel_options.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "lib/api/job/job_state.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

/* Slurm's exit statuses are the last eight bits of its error numbers. */
#define STATUS_UNREACHABLE 8 /* of SLURM_COMMUNICATIONS_CONNECTION_ERROR */

#define MOST_ROUNDS 100

/* ---- Steps ---- */

#define CANCEL_STATUS_DENIED 210 /* the last eight bits of ESLURM_ACCESS_DENIED */

#define STATUS_UNKNOWN 225 /* the last eight bits of ESLURM_INVALID_JOB_ID */

/* A step as in "17.0" or "17_4.0". Signal 0 ends it. Plain: without options
 * that steps do not have. Tells what fails, and returns scancel's exit status.
 */
static int
cancel_step(struct slurm_client *client, const char *word, int signal_number, bool is_verbose,
            bool is_plain)
{
    struct error err = {0};
    const char *reason;
    bool is_unknown;
    int r;

    if (!is_plain) {
        slurm_client_error(client,
                           "Kill job error on job step id %s: a step is ended by its name alone, "
                           "without filters, --interactive and --batch",
                           word);
        return 1;
    }
    if (is_verbose && signal_number == 0)
        fprintf(stderr, "scancel: Terminating job step %s\n", word);
    else if (is_verbose)
        fprintf(stderr, "scancel: Signal %d to job step %s\n", signal_number, word);
    r = step_operand_signal(&client->kctl, word, signal_number, client->arena, &err);
    if (r > 0)
        slurm_client_error(
            client, "step %s is not known yet; if it runs, it gets the signal nevertheless", word);
    if (r >= 0)
        return 0;
    is_unknown = r == -ENOENT || r == -ESRCH || r == -EAGAIN;
    if (r == -EPERM)
        reason = "Access/permission denied";
    else if (is_unknown)
        reason = "Invalid job id specified"; /* nothing of that name runs */
    else
        reason = slurm_client_reason(r, &err);
    slurm_client_error(client, "Kill job error on job step id %s: %s", word, reason);
    return r == -EPERM ? CANCEL_STATUS_DENIED : is_unknown ? STATUS_UNKNOWN : 1;
}

/* ---- Requests ---- */

static const char *
job_of_result(const struct slurm_client *client, const struct json *result)
{
    const char *tasks = json_get_text(result, "tasks");
    const int64_t id = json_get_int(result, "id", 0);

    if (tasks == NULL)
        return arena_printf(client->arena, "%" PRId64, id);
    return tasks[strspn(tasks, "0123456789")] == '\0'
               ? arena_printf(client->arena, "%" PRId64 "_%s", id, tasks)
               : arena_printf(client->arena, "%" PRId64 "_[%s]", id, tasks);
}

static void
add_signal(const struct slurm_client *client, const struct scancel_options *o, struct json *body)
{
    struct json *signal = json_make_object(client->arena, body, "signal");
    const enum pod_signal_target to = o->batch  ? POD_SIGNAL_SCRIPT
                                      : o->full ? POD_SIGNAL_ALL
                                                : POD_SIGNAL_CHILDREN;

    json_set_string(client->arena, signal, "name", pod_signal_name(o->number));
    json_set_string(client->arena, signal, "to", pod_signal_target_word(to));
}

static void
print_begin(const struct scancel_options *o, const char *job)
{
    if (o->number == 0)
        fprintf(stderr, "scancel: Terminating job %s\n", job);
    else
        fprintf(stderr, "scancel: Signal %d to %sjob %s\n", o->number, o->batch ? "batch " : "",
                job);
}

static bool
is_waiting(const char *message)
{
    return message != NULL && strstr(message, "does not run") != NULL;
}

/* Slurm tells with -v alone that a job does not exist or has ended. */
static int
report(const struct slurm_client *client, const struct scancel_options *o,
       const struct json *result)
{
    const char *outcome = json_get_text(result, "outcome");
    const char *message = json_get_text(result, "message");
    const char *job = job_of_result(client, result);
    const char *reason = NULL;
    int status = 0;

    if (outcome == NULL)
        outcome = "";
    if (o->verbose)
        print_begin(o, job);
    if (strcmp(outcome, "Nothing") == 0 && o->number > 0 && is_waiting(message)) {
        /* Of the jobs that options select, it signals those that run. */
        if (o->verbose || (o->is_named && !o->quiet))
            slurm_client_error(client, "Kill job error on job id %s: Job is pending execution",
                               job);
        return o->is_named ? 1 : 0;
    }
    if (o->number > 0 && o->is_named
        && (strcmp(outcome, "Nothing") == 0 || strcmp(outcome, "NotFound") == 0
            || strcmp(outcome, "TaskNotFound") == 0)) {
        reason = o->quiet ? NULL : "Invalid job id specified"; /* nobody got the signal */
        status = 1;
    } else if (strcmp(outcome, "Nothing") == 0 && o->verbose)
        reason = "Job/step already completing or completed";
    else if ((strcmp(outcome, "NotFound") == 0 || strcmp(outcome, "TaskNotFound") == 0)
             && (o->verbose || o->interactive))
        reason = "Invalid job id specified";
    else if (strcmp(outcome, "Refused") == 0 && message != NULL
             && strstr(message, "not a job array") != NULL)
        reason = o->verbose ? "Invalid job id specified" : NULL;
    else if (strcmp(outcome, "Refused") == 0) {
        const bool is_denied = message == NULL || strstr(message, "cannot") != NULL;

        reason = is_denied ? "Access/permission denied" : message;
        status = is_denied ? CANCEL_STATUS_DENIED : 1;
    }
    if (reason != NULL && !(o->quiet && status == 0))
        slurm_client_error(client, "Kill job error on job id %s: %s", job, reason);
    return status;
}

/* The server looks again whether a job is in one of the states. */
static void
set_states(struct arena *arena, struct json *body, uint32_t states)
{
    struct json *list = json_array(arena);

    for (enum job_state state = JOB_STATE_PENDING; state < JOB_STATE_COUNT; state++)
        if (states & JOB_STATE_BIT(state))
            json_append(arena, list, json_string(arena, job_state_words(state)->name));
    if (states != 0)
        json_set(arena, body, "states", list);
}

/* Sends the body until all of its jobs were done. *ret_count: how many jobs it named. */
static int
cancel(struct slurm_client *client, const struct scancel_options *o, struct json *body,
       size_t *ret_count, int *ret_status, struct error *err)
{
    const char *action = o->number > 0 ? "/kiln/v1/jobs/signal" : "/kiln/v1/jobs/cancel";
    const char *next = "";
    int r = kctl_open(&client->kctl, err);

    if (o->number > 0)
        add_signal(client, o, body);
    while (r == 0 && next != NULL) {
        struct json *answer = NULL;
        const struct json *jobs;

        if (next[0] != '\0')
            json_set_string(client->arena, body, "continue", next);
        r = inquiry_run(client->kctl.connection, HTTP_POST, action, body, client->arena, &answer,
                        err);
        if (r < 0)
            break;
        jobs = json_get(answer, "jobs");
        *ret_count += json_count(jobs);
        for (uint32_t i = 0; i < json_count(jobs); i++) {
            const int status = report(client, o, json_at(jobs, i));

            if (status != 0)
                *ret_status = status;
        }
        next = json_get_text(answer, "continue");
    }
    return r;
}

/* ---- Jobs that are named ---- */

static int
cancel_named(struct slurm_client *client, const struct scancel_options *o, const char *ids)
{
    struct json *body = json_object(client->arena);
    struct error err = {0};
    size_t count = 0;
    int status = 0;
    int r;

    json_set_string(client->arena, body, "ids", ids);
    r = cancel(client, o, body, &count, &status, &err);
    if (r == 0)
        return status;
    connection_advise(r, &err);
    slurm_client_error(client, "Kill job error on job id %s: %s", ids,
                       slurm_client_reason(r, &err));
    return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ENETUNREACH ? STATUS_UNREACHABLE : 1;
}

/* ---- Jobs that are selected ---- */

/* Slurm's line with -v: "No active jobs match ALL job filters, including: job_name=x " */
static void
print_none(const struct slurm_client *client, const struct scancel_options *o)
{
    const struct {
        const char *name, *value;
    } filters[] = {
        {"account", o->selection.account},
        {"job_name", o->selection.name},
        {"nodelist", o->nodes},
        {"partition", o->selection.partition},
        {"qos", o->qos},
        {"reservation", o->reservation},
        {"state", o->states_given},
        {"user_name", o->selection.user},
        {"wckey", o->wckey},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (!o->verbose)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
        if (filters[i].value != NULL)
            strbuf_printf(&text, "%s=%s ", filters[i].name, filters[i].value);
    slurm_client_error(client, "No active jobs match ALL job filters, including: %s", text.text);
}

/* Whether the server can select by all that is asked for. To it a name with a wildcard is a
 * pattern, and an array whose first tasks run is a job that runs.
 */
static bool
is_simple(const struct scancel_options *o, const char *ids)
{
    return ids == NULL && !o->interactive && o->nodes == NULL && o->qos == NULL
           && o->selection.state == NULL && o->reservation == NULL
           && (o->selection.name == NULL || strpbrk(o->selection.name, "*?") == NULL);
}

static int
cancel_selected(struct slurm_client *client, const struct scancel_options *o, size_t *ret_count,
                int *ret_status, struct error *err)
{
    struct arena *arena = client->arena;
    struct json *body = json_object(arena);
    struct job_selection s = o->selection;
    int r = job_selection_check(&s, err);

    if (r < 0)
        return r;
    json_set_string(arena, body, "fieldSelector",
                    job_selection_fields(&s, "status.finished=false", arena));
    if (s.account != NULL)
        json_set_string(arena, body, "namespace", s.account);
    if (s.name != NULL)
        json_set_string(arena, body, "name", s.name);
    return cancel(client, o, body, ret_count, ret_status, err);
}

/* ---- Jobs that are listed first ---- */

/* So many words at once: the server takes 256 arrays in a request. */
#define MOST_WORDS 200

static int
cancel_words(struct slurm_client *client, const struct scancel_options *o, uint32_t states,
             const struct cancel_words *words, size_t *ret_count, int *ret_status,
             struct error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < words->count; i += MOST_WORDS) {
        CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
        struct json *body = json_object(client->arena);

        for (size_t k = i; k < words->count && k < i + MOST_WORDS; k++)
            strbuf_printf(&list, "%s%s", k > i ? "," : "", words->items[k]);
        json_set_string(client->arena, body, "ids", list.text);
        set_states(client->arena, body, states);
        r = cancel(client, o, body, ret_count, ret_status, err);
    }
    return r;
}

/* Filters alone mean the jobs that the caller may end, as the server selects them. */
static int
find_user(struct slurm_client *client, const char **ret_user, struct error *err)
{
    struct json *self = NULL;
    const char *rank;
    int r = kctl_ask(&client->kctl, "/kiln/v1/whoami", client->arena, &self, err);

    rank = json_get_text(self, "rank");
    if (r == 0 && rank != NULL && strcmp(rank, "user") == 0)
        *ret_user = json_get_text(self, "user");
    return r;
}

/* Arrays whose tasks the server does not list at once need several rounds. The tasks that it leaves
 * out wait, so they get no signal.
 */
static int
cancel_listed(struct slurm_client *client, const struct scancel_options *o, const char *ids,
              size_t *ret_count, int *ret_status, struct error *err)
{
    struct job_selection s = o->selection;
    int r = job_selection_check(&s, err);
    struct cancel_filters filters = {
        .ids = ids,
        .user = s.user,
        .account = s.account,
        .partition = s.partition,
        .name = s.name,
        .qos = o->qos,
        .reservation = o->reservation,
        .nodes = o->nodes,
        .states = s.states,
        .is_interactive = o->interactive,
    };

    if (r == 0 && ids == NULL && s.user == NULL)
        r = find_user(client, &filters.user, err);
    for (unsigned round = 0; r == 0 && round < MOST_ROUNDS; round++) {
        CLEANUP(cancel_words_fini) struct cancel_words words = {0};
        bool is_last;

        r = cancel_choice_find(client, &filters, &words, err);
        is_last = !words.is_cut || o->interactive || o->number > 0;
        if (r == 0)
            r = cancel_words(client, o, s.states, &words, ret_count, ret_status, err);
        if (is_last || *ret_status != 0)
            break;
    }
    return r;
}

/* ---- The command ---- */

static int
cancel_filtered(struct slurm_client *client, const struct scancel_options *o, const char *ids)
{
    struct error err = {0};
    size_t count = 0;
    int status = 0;
    int r = is_simple(o, ids) ? cancel_selected(client, o, &count, &status, &err)
                              : cancel_listed(client, o, ids, &count, &status, &err);

    if (r < 0) {
        connection_advise(r, &err);
        fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_client_reason(r, &err));
        return 1;
    }
    if (count == 0)
        print_none(client, o);
    return status;
}

static bool
has_filters(const struct scancel_options *o)
{
    return !job_selection_is_empty(&o->selection) || o->nodes != NULL || o->qos != NULL
           || o->reservation != NULL || o->wckey != NULL;
}

/* The jobs among the operands as one list; NULL: there are none. An operand may be a list itself.
 * Steps are ended at once.
 */
static int
read_operands(struct slurm_client *client, const struct scancel_options *o, int n_operands,
              char **operands, const char **ret_ids)
{
    CLEANUP_STRBUF struct strbuf ids = STRBUF_INIT;
    int status = 0;

    for (int i = 0; i < n_operands; i++) {
        const char *rest = operands[i];
        const char *word;

        if (rest[0] == '\0') {
            slurm_client_error(client, "Invalid job id %s", rest);
            status = 1;
        }
        while ((word = job_words_next(&rest, client->arena)) != NULL) {
            if (job_words_is_job(word)) {
                strbuf_printf(&ids, "%s%s", ids.length > 0 ? "," : "", word);
            } else if (job_operands_is_step(word)) {
                const int ended = cancel_step(client, word, o->number, o->verbose,
                                              !has_filters(o) && !o->interactive && !o->batch);

                status = ended != 0 ? ended : status;
            } else {
                slurm_client_error(client, "Invalid job id %s", word);
                status = 1;
            }
        }
    }
    *ret_ids = ids.length > 0 ? arena_strdup(client->arena, ids.text) : NULL;
    return status;
}

static int
scancel_run(struct slurm_client *client, int argc, char **argv)
{
    struct scancel_options o = {0};
    int first = 0;
    const char *ids;
    int status = cancel_options_read(client, argc, argv, &o, &first);

    if (status != 0)
        return status;
    status = read_operands(client, &o, argc - first, argv + first, &ids);
    if (ids == NULL && argc > first)
        return status;
    if (ids == NULL && !has_filters(&o)) {
        slurm_client_error(client, "No job identification provided");
        return 1;
    }
    if (o.wckey == NULL || ids != NULL) {
        o.is_named = ids != NULL && !has_filters(&o);
        const int ended = has_filters(&o) || o.interactive ? cancel_filtered(client, &o, ids)
                                                           : cancel_named(client, &o, ids);

        return ended != 0 ? ended : status;
    }
    print_none(client, &o);
    return status;
}

const struct slurm_command scancel_slurm_command = {
    .name = "scancel",
    .summary = "end jobs",
    .run = scancel_run,
};
