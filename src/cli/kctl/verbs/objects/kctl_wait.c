/* SPDX-License-Identifier: Apache-2.0 */
/* kctl wait - waits until an object has a condition or a value, or is deleted
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/jsonpath.h"
#include "cli/kctl/output/jsonpath_template.h"
#include "lib/api/job/job_state.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"

#define DEFAULT_TIMEOUT "30s"

struct wait_options {
    struct common_options common;
    const char *wanted;
    const char *timeout;
    const char *label_selector;
    bool all;
};

#define PLACE(member) .offset = offsetof(struct wait_options, member)

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "all",
     .help = "all objects of the type in the namespace",
     .type = OPTION_FLAG,
     PLACE(all)},
    {.name = "for",
     .argument = "WHAT",
     .help = "condition=NAME[=VALUE], jsonpath={.PATH}[=VALUE], create or "
             "delete",
     .type = OPTION_TEXT,
     PLACE(wanted)},
    {.name = "selector",
     .letter = 'l',
     .argument = "LIST",
     .help = "only objects with these labels",
     .type = OPTION_TEXT,
     PLACE(label_selector)},
    {.name = "timeout",
     .argument = "TIME",
     .help = "give up after this long: 90s, 2h (30s; 0: never)",
     .type = OPTION_TEXT,
     PLACE(timeout)},
};

static const struct option_table table = {
    .name = "kctl wait",
    .usage = "[OPTION]... --for WHAT TYPE NAME...\n"
             "[OPTION]... --for WHAT JOB...\n"
             "[OPTION]... JOB_TASK...",
    .summary = "Wait until objects reach a state or condition.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl wait --for condition=Complete --timeout 2h 1042\n"
            "  kctl wait --for jsonpath={.status.phase}=Running pod job-7-0\n"
            "  kctl wait --for delete pod job-7-0\n"
            "  kctl wait --timeout 2h '1042_[3-9]'",
};

enum want_type {
    WANT_CONDITION,
    WANT_PATH,
    WANT_CREATE,
    WANT_DELETE,
};

struct waited_field {
    enum want_type type;
    char *name;  /* of the condition, or the path */
    char *value; /* NULL: any */
};

static void
want_fini(struct waited_field *w)
{
    free(w->name);
    free(w->value);
}

/* Parses "{.status.phase}=Running" or ".status.phase=Running". */
static int
parse_path(const char *text, struct waited_field *w, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const char *brace = text[0] == '{' ? strrchr(text, '}') : NULL;
    const char *end = brace != NULL ? brace + 1 : text + strcspn(text, "=");
    struct jsonpath_values none = {0};
    int r;

    if (*end != '\0' && *end != '=')
        return error_set(err, -EINVAL,
                         "--for: '%s' after the path of 'jsonpath=%s' is not "
                         "expected",
                         end, text);
    w->type = WANT_PATH;
    w->name = xstrndup(text, (size_t)(end - text));
    if (*end == '=')
        w->value = xstrdup(end + 1);
    r = jsonpath_find(w->name, NULL, arena, &none, err);
    return r < 0 ? error_wrap(err, r, "--for jsonpath") : 0;
}

static int
parse_want(const char *text, struct waited_field *w, struct error *err)
{
    const char *equals;

    if (text == NULL)
        return error_set(err, -EINVAL, "--for is required, such as --for condition=Complete");
    if (strcmp(text, "delete") == 0) {
        w->type = WANT_DELETE;
        return 0;
    }
    if (strcmp(text, "create") == 0) {
        w->type = WANT_CREATE;
        return 0;
    }
    if (strncmp(text, "jsonpath=", 9) == 0)
        return parse_path(text + 9, w, err);
    if (strncmp(text, "condition=", 10) != 0 || text[10] == '\0')
        return error_set(err, -EINVAL,
                         "--for: '%s' is not one of condition=NAME, "
                         "jsonpath={.PATH}=VALUE, create and delete",
                         text);
    text += 10;
    equals = strchrnul(text, '=');
    w->type = WANT_CONDITION;
    w->name = xstrndup(text, (size_t)(equals - text));
    w->value = xstrdup(*equals == '=' ? equals + 1 : "True");
    return 0;
}

static bool
has_condition(const struct json *object, const struct waited_field *w)
{
    const struct json *all = json_get_path(object, "status.conditions");

    for (uint32_t i = 0; i < json_count(all); i++) {
        const char *type = json_get_text(json_at(all, i), "type");
        const char *status = json_get_text(json_at(all, i), "status");

        if (type != NULL && status != NULL && strcasecmp(type, w->name) == 0)
            return strcasecmp(status, w->value) == 0;
    }
    return false;
}

/* One matching value among those that the path finds is enough. */
static bool
has_value(const struct json *object, const struct waited_field *w)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct jsonpath_values values = {0};

    if (jsonpath_find(w->name, object, arena, &values, NULL) < 0)
        return false;
    for (size_t i = 0; i < values.count; i++) {
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        if (json_is(values.items[i], JSON_NULL))
            continue;
        if (w->value == NULL)
            return true;
        jsonpath_print_value(values.items[i], &text);
        if (text.length > 0 && strcmp(text.text, w->value) == 0)
            return true;
    }
    return false;
}

struct attempt {
    const struct waited_field *want;
    bool is_gone; /* deleted, so it can never meet the condition */
};

static bool
is_met(const struct json *object, void *context)
{
    struct attempt *a = context;

    if (object == NULL) {
        a->is_gone = a->want->type != WANT_DELETE;
        return a->want->type != WANT_CREATE;
    }
    switch (a->want->type) {
    case WANT_CONDITION:
        return has_condition(object, a->want);
    case WANT_PATH:
        return has_value(object, a->want);
    case WANT_CREATE:
        a->is_gone = false;
        return true;
    case WANT_DELETE:
        break;
    }
    return false;
}

static int
wait_for(struct kctl *kctl, const struct target_object *target, const struct waited_field *want,
         int64_t timeout_us, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct attempt attempt = {.want = want};
    int r = wait_for_condition(kctl, target, timeout_us, is_met, &attempt, err);

    if (r < 0)
        return r;
    if (attempt.is_gone)
        return error_set(err, -ENOENT, "%s does not exist", kctl_label(target, arena));
    printf("%s %s\n", kctl_label(target, arena),
           want->type == WANT_DELETE ? "deleted" : "condition met");
    fflush(stdout);
    return 0;
}

/* ---- Tasks of an array ---- */

/* Prints the tasks that have ended. -EAGAIN: some have not. */
static int
look_at_tasks(const struct json *items, bool is_good, struct error *err)
{
    int r = 0;

    for (uint32_t i = 0; i < json_count(items); i++) {
        const char *state = json_get_text(json_at(items, i), "state");

        if (!job_state_is_ended(job_state_of_name(state)))
            return -EAGAIN;
    }
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        const char *state = json_get_text(item, "state");

        printf("task %" PRId64 "_%" PRId64 " %s\n", json_get_int(item, "job", 0),
               json_get_int(item, "task", 0), state);
        if (is_good && job_state_of_name(state) != JOB_STATE_COMPLETED)
            r = error_set(err, -ECANCELED, "task %" PRId64 "_%" PRId64 " has ended as %s",
                          json_get_int(item, "job", 0), json_get_int(item, "task", 0), state);
    }
    return r;
}

/* Tasks have no conditions: one can only wait for their end. */
static int
wait_for_tasks(struct kctl *kctl, const struct wait_options *o, int n_operands, char **operands,
               int64_t timeout_us, struct error *err)
{
    const struct timespec moment = {.tv_sec = 1};
    const bool is_good = o->wanted != NULL && strcmp(o->wanted, "condition=Complete") == 0;
    const time_t until = time(NULL) + (time_t)(timeout_us / 1000000);
    int i = n_operands > 1 && job_tasks_is_type(operands[0]) ? 1 : 0;

    if (o->wanted != NULL && !is_good)
        return error_set(err, -EINVAL,
                         "--for %s: tasks of an array can only be waited for "
                         "until they end (without --for) or until they are "
                         "Completed (--for condition=Complete)",
                         o->wanted);
    while (i < n_operands) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *items = NULL;
        int r = job_tasks_fetch(kctl, operands[i], arena, &items, err);

        if (r == 0)
            r = look_at_tasks(items, is_good, err);
        if (r == 0)
            i++;
        else if (r != -EAGAIN)
            return r;
        else if (timeout_us > 0 && time(NULL) >= until)
            return error_set(err, -ETIMEDOUT, "tasks '%s' have not all ended", operands[i]);
        else
            nanosleep(&moment, NULL);
    }
    return 0;
}

static int
wait_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(want_fini) struct waited_field want = {0};
    const struct wait_options *o = options;
    const char *timeout = o->timeout != NULL ? o->timeout : DEFAULT_TIMEOUT;
    struct named_resources resources;
    int64_t timeout_us = 0;
    const bool has_tasks = job_tasks_are_meant(n_operands, operands);
    int r = has_tasks ? 0 : parse_want(o->wanted, &want, err);

    if (r == 0 && timespan_parse(timeout, &timeout_us) < 0)
        r = error_set(err, -EINVAL, "--timeout: '%s' is not a time (90s, 2h)", timeout);
    if (r == 0 && has_tasks)
        return wait_for_tasks(kctl, o, n_operands, operands, timeout_us, err);
    if (r == 0)
        r = resource_select(kctl, NULL, n_operands, operands, o->label_selector, o->all, arena,
                            &resources, err);
    for (size_t i = 0; r == 0 && i < resources.count; i++)
        r = wait_for(kctl, &resources.items[i], &want, timeout_us, err);
    return r;
}

const struct command wait_command = {
    .name = "wait",
    .options = &table,
    .options_size = sizeof(struct wait_options),
    .run = wait_run,
};
