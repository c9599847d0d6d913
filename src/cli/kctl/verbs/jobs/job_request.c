/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/verbs/jobs/job_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/step_operand.h"
#include "cli/kctl/output/job_outcomes.h"
#include "lib/api/job/job_state.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FEW 5 /* jobs that are ended without confirmation */

/* ---- Selection ---- */

static int
read_operands(struct kctl *kctl, int n_operands, char **operands, struct json *body,
              struct arena *arena, struct error *err)
{
    CLEANUP_STRBUF struct strbuf ids = STRBUF_INIT;
    struct job_operands o;
    int r = job_operands_read(n_operands, operands, arena, &o, err);

    if (r < 0)
        return r;
    if (o.ids.count > 0 || o.ids.n_elements > 0) {
        id_ranges_format(&o.ids, &ids);
        json_set_string(arena, body, "ids", ids.text);
    }
    if (o.n_names > 0) {
        struct json *names = json_array(arena);

        for (size_t i = 0; i < o.n_names; i++)
            json_append(arena, names, json_string(arena, o.names[i]));
        json_set(arena, body, "names", names);
        json_set_string(arena, body, "namespace", kctl_namespace(kctl));
    }
    return 0;
}

static int
read_selection(struct kctl *kctl, const struct job_choice *c, struct json *body,
               struct arena *arena, struct error *err)
{
    struct job_selection s = c->selection, stateless;
    const char *fields;
    int r = job_selection_check(&s, err);

    if (r < 0)
        return r;
    if (s.account == NULL)
        s.account = kctl->namespace;
    if (s.account != NULL && strchr(s.account, ',') != NULL)
        return error_set(err, -EINVAL, "--account: give only one account");
    /* The server compares the states with what the pods do: the status is written later. */
    stateless = s;
    stateless.states = 0;
    fields = job_selection_fields(&stateless, "status.finished=false", arena);
    json_set_string(arena, body, "fieldSelector", fields);
    if (c->label_selector != NULL)
        json_set_string(arena, body, "labelSelector", c->label_selector);
    if (s.account != NULL)
        json_set_string(arena, body, "namespace", s.account);
    if (s.name != NULL)
        json_set_string(arena, body, "name", s.name);
    if (s.states != 0) {
        struct json *states = json_array(arena);

        for (enum job_state state = JOB_STATE_PENDING; state < JOB_STATE_COUNT; state++)
            if (s.states & JOB_STATE_BIT(state))
                json_append(arena, states, json_string(arena, job_state_words(state)->name));
        json_set(arena, body, "states", states);
    }
    return 0;
}

/* ---- The requests ---- */

static int
ask(struct kctl *kctl, const char *action, const struct json *body, struct arena *arena,
    struct json **ret_answer, struct error *err)
{
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    return inquiry_run(kctl->connection, HTTP_POST, arena_printf(arena, "/kiln/v1/jobs/%s", action),
                       body, arena, ret_answer, err);
}

/* Asks for confirmation before more than a few jobs are ended. 1: continue; 0:
 * stop.
 */
static int
confirm(const struct job_request *request, const struct json *answer, struct error *err)
{
    const int64_t count = json_get_int(answer, "count", 0);
    const int64_t running = json_get_int(answer, "running", 0);
    char line[16];

    if (!isatty(STDIN_FILENO))
        return error_set(err, -EPERM,
                         "this affects %" PRId64 " jobs, of which %" PRId64 " "
                         "run; give --yes to confirm (standard input is not a "
                         "terminal)",
                         count, running);
    fprintf(stderr, "%s %" PRId64 " jobs, of which %" PRId64 " run? [y/N] ", request->does, count,
            running);
    if (fgets(line, sizeof(line), stdin) != NULL && (line[0] == 'y' || line[0] == 'Y'))
        return 1;
    fprintf(stderr, "Nothing was changed\n");
    return 0;
}

/* Whether options select jobs. */
static bool
selects(const struct job_choice *c)
{
    return !job_selection_is_empty(&c->selection) || c->label_selector != NULL || c->all;
}

static int
check_choice(const struct job_choice *c, struct error *err)
{
    if (!selects(c) || c->n_operands == 0)
        return 0;
    return error_set(err, -EINVAL,
                     "'%s': give either jobs or options that select jobs, "
                     "not both",
                     c->operands[0]);
}

int
job_request_take_steps(struct kctl *kctl, struct job_choice *c, int signal_number,
                       struct arena *arena, struct error *err)
{
    int r = check_choice(c, err);

    return r < 0 ? r
                 : step_operands_take(kctl, &c->n_operands, c->operands, signal_number, arena, err);
}

int
job_request_choose(struct kctl *kctl, const struct job_choice *c, struct json *body,
                   struct arena *arena, struct error *err)
{
    int r = check_choice(c, err);

    if (r < 0)
        return r;
    if (!selects(c) && c->n_operands == 0)
        return error_set(err, -EINVAL,
                         "which jobs? Give their ids (1042, 5,6, 10-20 or 1042_[3-9]), or "
                         "select them with --user, --state, --name, --partition, -l or "
                         "--all");
    return selects(c) ? read_selection(kctl, c, body, arena, err)
                      : read_operands(kctl, c->n_operands, c->operands, body, arena, err);
}

int
job_request_set_priority(struct json *update, const char *value, struct arena *arena,
                         struct error *err)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(value, &end, 10);
    if (value[0] == '\0' || (end != value && *end != '\0'))
        return error_set(err, -EINVAL,
                         "priority: '%s' is neither a whole number nor the "
                         "name of a priority class",
                         value);
    if (end == value)
        json_set_string(arena, update, "priorityClassName", value);
    else if (errno != 0 || number < INT32_MIN || number > INT32_MAX)
        return error_set(err, -ERANGE, "priority: '%s' is too large", value);
    else
        json_set_int(arena, update, "priority", number);
    return 0;
}

int
job_request_send(struct kctl *kctl, const struct job_request *request,
                 const struct job_choice *choice, struct json *body, struct arena *arena,
                 struct error *err)
{
    CLEANUP(job_outcomes_freep)
    struct job_outcomes *outcomes = job_outcomes_new(arena);
    struct json *answer;
    int r = 0;

    if (request->asks)
        json_set_int(arena, body, "atMost", FEW);
    for (const char *next = ""; r == 0 && next != NULL;) {
        if (next[0] != '\0')
            json_set_string(arena, body, "continue", next);
        r = ask(kctl, request->action, body, arena, &answer, err);
        if (r == 0 && json_is_true(json_get(answer, "isTooMany"))) {
            r = confirm(request, answer, err);
            if (r == 0)
                return 0;
            json_remove(body, "atMost");
            r = r > 0 ? 0 : r;
        } else if (r == 0) {
            job_outcomes_add(outcomes, answer);
            next = json_get_text(answer, "continue");
        }
    }
    if (r == 0 && job_outcomes_is_empty(outcomes))
        r = job_selection_check_exists(kctl, &choice->selection, err);
    if (r < 0)
        return r;
    return job_outcomes_print(outcomes,
                              job_operands_have_range(choice->n_operands, choice->operands),
                              job_selection_words(&choice->selection, arena), err);
}
