/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/step_operand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/job_steps.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/step_list.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/json/json.h"
#include "lib/program/exit_status.h"

#define DIGITS_MOST 9 /* of a step's number */

/* ---- By the controller ---- */

/* The outcomes are those of signals to jobs. */
static int
send_by_controller(struct kctl *kctl, const char *text, int signal_number, struct arena *arena,
                   struct error *err)
{
    struct json *body = json_object(arena), *answer = NULL;
    struct json *signal = json_make_object(arena, body, "signal");
    const size_t length = strcspn(text, ".");
    const char *outcome, *message;
    int r;

    json_set_string(arena, body, "ids", arena_strndup(arena, text, length));
    json_set_string(arena, signal, "to", pod_signal_target_word(POD_SIGNAL_STEP));
    json_set_int(arena, signal, "step", atoll(text + length + 1));
    if (signal_number > 0)
        json_set_string(arena, signal, "name", pod_signal_name(signal_number));
    r = inquiry_run(kctl->connection, HTTP_POST, "/kiln/v1/jobs/signal", body, arena, &answer, err);
    if (r < 0)
        return r;
    outcome = json_get_text(json_at(json_get(answer, "jobs"), 0), "outcome");
    message = json_get_text(json_at(json_get(answer, "jobs"), 0), "message");
    if (outcome == NULL || strcmp(outcome, "Refused") == 0)
        return error_set(err,
                         message == NULL || strstr(message, "cannot") != NULL ? -EPERM : -EREMOTEIO,
                         "%s", message != NULL ? message : "the controller refuses it");
    return strcmp(outcome, "Nothing") == 0 || strstr(outcome, "NotFound") != NULL
               ? error_set(err, -ESRCH, "it does not run")
               : 0;
}

/* Appends the records of the step, of each attempt and task. */
static int
add_records(struct kctl *kctl, const char *text, struct arena *arena, struct json *records,
            struct error *err)
{
    const int64_t id = atoll(text), step = atoll(strchr(text, '.') + 1);
    const char *task = strchr(text, '_');
    struct step_list list = step_list_make(arena);
    int r = step_list_add(&list, kctl, id, NULL, false, err);

    for (uint32_t i = 0; r == 0 && i < json_count(list.items); i++) {
        struct json *record = json_at(list.items, i);

        if (json_get_int(record, "step", -1) == step
            && (task == NULL || json_get_int(record, "task", -1) == atoll(task + 1)))
            json_append(arena, records, record);
    }
    return r;
}

/* 1: the controller knows that the step runs. Agents tell of a step some seconds after its start,
 * so one that is unknown may run.
 */
static int
find_record(struct kctl *kctl, const char *text, struct arena *arena, struct error *err)
{
    struct json *records = json_array(arena);
    int r = add_records(kctl, text, arena, records, err);
    const char *state;

    if (r < 0 || json_count(records) == 0)
        return r;
    state = json_get_text(json_at(records, 0), "state");
    return state != NULL && strcmp(state, "Running") != 0 ? error_set(err, -ESRCH, "it has ended")
                                                          : 1;
}

/* For operators, and for owners who cannot reach the agent. */
static int
signal_by_controller(struct kctl *kctl, const char *text, int signal_number, struct arena *arena,
                     struct error *err)
{
    const int found = find_record(kctl, text, arena, err);
    const int r = found < 0 ? found : send_by_controller(kctl, text, signal_number, arena, err);

    return r == 0 && found == 0 ? 1 : r;
}

/* ---- Operands ---- */

int
step_operand_signal(struct kctl *kctl, const char *text, int signal_number, struct arena *arena,
                    struct error *err)
{
    const size_t length = strcspn(text, ".");
    char *name = arena_strndup(arena, text, length);
    const bool took_tasks = kctl->takes_tasks;
    struct target_object job;
    bool is_spread = false;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    if (strlen(text + length + 1) > DIGITS_MOST)
        return error_set(err, -EINVAL, "no step has so large a number");
    kctl->takes_tasks = memchr(text, '_', length) != NULL;
    r = resource_parse_one(kctl, &job_kind, 1, &name, arena, &job, err);
    kctl->takes_tasks = took_tasks;
    if (r < 0)
        return r;
    r = job_steps_signal(kctl, &job, atoll(text + length + 1), signal_number, arena, &is_spread,
                         err);
    /* If krun is stopped, nobody else tells the agents of other nodes; they may have no need. */
    if (r == 0 && pod_signal_is_for_all_nodes(signal_number) && is_spread)
        (void)send_by_controller(kctl, text, signal_number, arena, NULL);
    return r == -EPERM || r == -EHOSTUNREACH
               ? signal_by_controller(kctl, text, signal_number, arena, err)
               : r;
}

/* Without "job/". */
static const char *
skip_type(const char *operand)
{
    const char *slash = strchr(operand, '/');

    return slash != NULL && strncmp(operand, "job", 3) == 0 ? slash + 1 : operand;
}

static int
refuse_part(const char *text, struct error *err)
{
    const int length = (int)strcspn(text, ".");

    return text[length + 1] == 'b'
               ? error_set(err, -EINVAL,
                           "%s is the script, which is no step: 'kctl signal --script %.*s' sends "
                           "it a signal, and 'kctl cancel %.*s' ends the job",
                           text, length, text, length, text)
               : error_set(err, -EINVAL,
                           "%s is no step, but what others start on the nodes of the job; it ends "
                           "with the job ('kctl cancel %.*s')",
                           text, length, text);
}

static int
signal_one(struct kctl *kctl, const char *step, int signal_number, struct arena *arena,
           struct error *err)
{
    struct error why = {0};
    int r;

    if (job_operands_is_part(step))
        return refuse_part(step, err);
    r = step_operand_signal(kctl, step, signal_number, arena, &why);
    if (r < 0)
        return error_set(err, r, "step %s: %s", step, why.text);
    if (r > 0)
        fprintf(stderr,
                "kctl: step %s is not known yet; if it runs, it gets the signal nevertheless\n",
                step);
    else if (signal_number == 0)
        printf("step/%s cancelled\n", step);
    else
        printf("step/%s: signal %s sent\n", step, pod_signal_name(signal_number));
    return 0;
}

/* Of several failures that differ, the one that says nothing of the cause. */
static void
note_status(struct kctl *kctl, int *seen, int r)
{
    const int status = (int)exit_status_of(r);

    *seen = *seen == 0 || *seen == status ? status : EXIT_FAILURE;
    kctl->exit_code = *seen;
}

int
step_operands_take(struct kctl *kctl, int *n_operands, char **operands, int signal_number,
                   struct arena *arena, struct error *err)
{
    const bool has_type = *n_operands > 1 && kind_find_any_name(operands[0]) == &job_kind;
    const int given = *n_operands;
    struct error last = {0};
    int n = 0, status = 0;

    for (int i = 0; i < given; i++) {
        const char *step = skip_type(operands[i]);

        if (!job_operands_is_step(step) && !job_operands_is_part(step)) {
            operands[n++] = operands[i];
            continue;
        }
        if (last.code < 0)
            fprintf(stderr, "kctl: %s\n", last.text);
        last.code = 0;
        (void)signal_one(kctl, step, signal_number, arena, &last);
        if (last.code < 0)
            note_status(kctl, &status, last.code);
    }
    *n_operands = n == 1 && has_type && given > 1 ? 0 : n; /* only the type is left */
    fflush(stdout);
    if (last.code < 0 && *n_operands > 0)
        fprintf(stderr, "kctl: %s\n", last.text);
    return last.code < 0 && *n_operands == 0 ? error_set(err, last.code, "%s", last.text) : 0;
}

static int
find_one(struct kctl *kctl, const char *step, struct arena *arena, struct json *records,
         struct error *err)
{
    const uint32_t before = json_count(records);
    const int length = (int)strcspn(step, ".");
    int r;

    if (job_operands_is_part(step))
        return job_operands_refuse_step(step, err);
    r = strlen(step + length + 1) > DIGITS_MOST ? 0 : add_records(kctl, step, arena, records, err);
    if (r < 0 || json_count(records) > before)
        return r;
    return error_set(err, -ENOENT,
                     "there is no step %s that you may see; 'kctl steps %.*s' lists those of the "
                     "job (one that has just begun after ten seconds at most)",
                     step, length, step);
}

int
step_operands_find(struct kctl *kctl, int *n_operands, char **operands, struct arena *arena,
                   struct json **ret_records, struct error *err)
{
    const bool has_type = *n_operands > 1 && kind_find_any_name(operands[0]) == &job_kind;
    const int given = *n_operands;
    int n = 0, r = 0;

    *ret_records = json_array(arena);
    for (int i = 0; r == 0 && i < given; i++) {
        const char *step = skip_type(operands[i]);

        if (job_operands_is_step(step) || job_operands_is_part(step))
            r = find_one(kctl, step, arena, *ret_records, err);
        else
            operands[n++] = operands[i];
    }
    *n_operands = n == 1 && has_type && given > 1 ? 0 : n; /* only the type is left */
    return r;
}
