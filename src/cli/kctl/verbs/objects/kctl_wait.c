/* SPDX-License-Identifier: Apache-2.0 */
/* kctl wait - waits for the end of jobs, or until an object has a condition or a
 * value, or is deleted
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/job_end_wait.h"
#include "cli/kctl/client/job_tasks.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/client/wait_condition.h"
#include "cli/kctl/input/job_operands.h"
#include "cli/kctl/input/resource.h"
#include "cli/kctl/output/jsonpath.h"
#include "cli/kctl/output/jsonpath_template.h"
#include "cli/kctl/output/listing.h"
#include "cli/kctl/output/object_summary.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/text_width.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/timespan.h"
#include "lib/json/json.h"

#define DEFAULT_TIMEOUT "30s"
#define EXIT_TIMED_OUT  124 /* as timeout(1), for a job's code can be any lower one */
#define MOST_EXTRA      30  /* seconds */
#define PROGRESS_US     INT64_C(2000000)
#define PROGRESS_WIDTH  78 /* columns, so that a usual terminal does not wrap it */

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
     .help = "give up after this long: 90s, 2h; 0: never (with --for 30s, "
             "without it 0)",
     .type = OPTION_TEXT,
     PLACE(timeout)},
};

static const struct option_table table = {
    .name = "kctl wait",
    .usage = "[OPTION]... JOB...\n"
             "[OPTION]... --for WHAT JOB...\n"
             "[OPTION]... --for WHAT TYPE NAME...",
    .summary = "Wait for the end of jobs, and exit with their highest exit "
               "code; or wait until objects reach a condition.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl wait 1042\n"
            "  kctl wait --timeout 2h 1042 1050-1060 '1061_[3-9]'\n"
            "  kctl wait --for condition=Complete --timeout 2h 1042\n"
            "  kctl wait --for jsonpath={.status.phase}=Running pod job-7-0\n"
            "  kctl wait --for delete pod job-7-0\n"
            "\n"
            "Without --for, the exit code is 124 if the time is up before the end.",
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

/* ---- The end of jobs ---- */

struct end_wait {
    struct kctl *kctl;
    const char *operand; /* for messages */
    int64_t until_us;    /* monotonic; 0: no limit */
    bool is_good;        /* other ends than Completed are an error */
    bool has_progress;   /* a line on the terminal */
    size_t shown;        /* length of the progress line */
    int extra;           /* looks after the end, because history is late */
};

static int64_t
left_us(const struct end_wait *w)
{
    const int64_t left = w->until_us - clock_monotonic_us(&clock_system);

    return w->until_us == 0 ? INT64_MAX : left > 0 ? left : 0;
}

static void PRINTF(2, 3) show_progress(struct end_wait *w, const char *format, ...)
{
    CLEANUP_FREE char *clean = NULL;
    CLEANUP_FREE char *text = NULL;
    va_list args;

    if (!w->has_progress)
        return;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    clean = sanitize_text_dup(text != NULL ? text : "");
    fprintf(stderr, "\r%.*s\033[K", (int)text_width_cut(clean, PROGRESS_WIDTH), clean);
    w->shown = strlen(clean);
}

static void
end_progress(struct end_wait *w)
{
    if (w->shown > 0)
        fprintf(stderr, "\r\033[K");
    w->shown = 0;
}

static void
take_exit_code(struct kctl *kctl, int code)
{
    if (code > kctl->exit_code)
        kctl->exit_code = code;
}

/* "job 7: Running 0:15 on n1", "job 7: Pending, waits for 2 CPUs". A failure is
 * not reported: the line is only an addition.
 */
static void
show_job(struct end_wait *w, const struct target_object *job)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    const struct client_request request = {
        .verb = CLIENT_GET,
        .kind = &job_kind,
        .namespace = job->namespace,
        .name = job->name,
        .accept = listing_accept(&(struct listing_style){0}),
    };
    struct json *answer = NULL;
    const char *time, *node, *reason;

    if (!w->has_progress || kctl_call(w->kctl, &request, arena, &answer, NULL) < 0)
        return;
    time = object_summary_cell(answer, "Time");
    node = object_summary_cell(answer, "Node");
    reason = object_summary_cell(answer, "Reason");
    show_progress(w, "%s: %s%s%s%s%s%s%s", kctl_job_words(job, arena),
                  object_summary_cell(answer, "State"), time[0] != '\0' ? " " : "", time,
                  node[0] != '\0' ? " on " : "", node, reason[0] != '\0' ? ", " : "", reason);
}

static int
wait_for_job(struct end_wait *w, const struct target_object *job, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct job_end_found found = {0};
    int r;

    do {
        const int64_t left = left_us(w);
        const int64_t slice = w->has_progress && left > PROGRESS_US ? PROGRESS_US : left;

        if (left == 0)
            return error_set(err, -ETIMEDOUT, "timed out waiting for the end of %s",
                             kctl_job_words(job, arena));
        show_job(w, job);
        r = job_end_wait(w->kctl, job, slice == INT64_MAX ? 0 : slice, arena, &found, err);
    } while (r == -EAGAIN);
    end_progress(w);
    if (r < 0)
        return r;
    if (found.id > 0)
        printf("job %" PRId64 " %s\n", found.id, found.words);
    else
        printf("%s %s\n", kctl_label(job, arena), found.words);
    fflush(stdout);
    take_exit_code(w->kctl, found.exit_code);
    return 0;
}

/* How a task has failed is in history when its pod is gone, and that is written later. */
static bool
lacks_code(const struct json *item)
{
    return job_state_of_name(json_get_text(item, "state")) == JOB_STATE_FAILED
           && json_get(item, "exitCode") == NULL && json_get(item, "endTime") == NULL;
}

/* Prints the tasks if all have ended. -EAGAIN: some have not, or their codes are not
 * known yet.
 */
static int
check_tasks(struct end_wait *w, const struct json *items, struct error *err)
{
    uint32_t n_ended = 0, n_late = 0;
    int r = 0;

    for (uint32_t i = 0; i < json_count(items); i++) {
        n_ended += job_state_is_ended(job_state_of_name(json_get_text(json_at(items, i), "state")));
        n_late += lacks_code(json_at(items, i));
    }
    if (n_ended < json_count(items)) {
        show_progress(w, "%s: %" PRIu32 " of %" PRIu32 " tasks have ended", w->operand, n_ended,
                      json_count(items));
        return -EAGAIN;
    }
    if (n_late > 0 && w->extra++ < MOST_EXTRA)
        return -EAGAIN;
    end_progress(w);
    for (uint32_t i = 0; i < json_count(items); i++) {
        const struct json *item = json_at(items, i);
        const char *state = json_get_text(item, "state");

        printf("task %" PRId64 "_%" PRId64 " %s\n", json_get_int(item, "job", 0),
               json_get_int(item, "task", 0), state);
        if (!w->is_good)
            take_exit_code(w->kctl, job_end_exit_code(item));
        else if (job_state_of_name(state) != JOB_STATE_COMPLETED)
            r = error_set(err, -ECANCELED, "task %" PRId64 "_%" PRId64 " has ended as %s",
                          json_get_int(item, "job", 0), json_get_int(item, "task", 0), state);
    }
    fflush(stdout);
    return r;
}

/* Tasks have no conditions: one can only wait for their end. */
static int
wait_for_tasks(struct end_wait *w, struct error *err)
{
    const struct timespec moment = {.tv_sec = 1};

    for (;;) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct json *items = NULL;
        int r = job_tasks_fetch(w->kctl, w->operand, arena, &items, err);

        if (r == 0)
            r = check_tasks(w, items, err);
        if (r != -EAGAIN)
            return r;
        if (left_us(w) == 0)
            return error_set(err, -ETIMEDOUT, "tasks '%s' have not all ended", w->operand);
        nanosleep(&moment, NULL);
    }
}

static int
wait_for_named(struct end_wait *w, char *operand, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct named_resources jobs;
    int r = resource_parse(w->kctl, &job_kind, 1, &operand, arena, &jobs, err);

    for (size_t i = 0; r == 0 && i < jobs.count; i++)
        r = wait_for_job(w, &jobs.items[i], err);
    return r;
}

/* An operand may have jobs and tasks: "7,8_[1-4]". */
static int
wait_for_operand(struct end_wait *w, char *operand, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf whole = STRBUF_INIT, tasks = STRBUF_INIT;
    struct job_operands o, part;
    int r = job_operands_read(1, &operand, arena, &o, err);

    if (r < 0)
        return r;
    if (o.n_names > 0)
        return wait_for_named(w, operand, err);
    part = o;
    part.ids.n_elements = 0;
    id_ranges_format(&part.ids, &whole);
    part = o;
    part.ids.count = 0;
    id_ranges_format(&part.ids, &tasks);
    if (whole.length > 0)
        r = wait_for_named(w, whole.text, err);
    if (r < 0 || tasks.length == 0)
        return r;
    w->operand = tasks.text;
    return wait_for_tasks(w, err);
}

/* Waits for the end of jobs and tasks, one after the other, so that the results
 * are in the order of the operands. kctl then exits with the highest exit code.
 */
static int
wait_for_ends(struct kctl *kctl, const struct wait_options *o, int n_operands, char **operands,
              int64_t timeout_us, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct end_wait w = {
        .kctl = kctl,
        .until_us = timeout_us > 0 ? clock_monotonic_us(&clock_system) + timeout_us : 0,
        .is_good = o->wanted != NULL,
        .has_progress = isatty(STDERR_FILENO) == 1,
    };
    struct named_resources jobs = {0};
    int i = n_operands > 1 && job_tasks_is_type(operands[0]) ? 1 : 0;
    int r = 0;

    if (o->label_selector != NULL || o->all) {
        r = resource_select(kctl, &job_kind, n_operands, operands, o->label_selector, o->all, arena,
                            &jobs, err);
        i = n_operands;
    }
    for (size_t k = 0; r == 0 && k < jobs.count; k++)
        r = wait_for_job(&w, &jobs.items[k], err);
    for (; r == 0 && i < n_operands; i++)
        r = wait_for_operand(&w, operands[i], err);
    end_progress(&w);
    if (r < 0)
        kctl->exit_code = r == -ETIMEDOUT && !w.is_good ? EXIT_TIMED_OUT : 0;
    return r;
}

/* Whether the operands name objects of another type than jobs. */
static bool
are_of_other_type(int n_operands, char **operands)
{
    const char *slash = strchr(operands[0], '/');
    CLEANUP_FREE char *type =
        xstrndup(operands[0], slash != NULL ? (size_t)(slash - operands[0]) : SIZE_MAX);
    const struct kind *kind = kind_find_any_name(type);

    return kind != NULL && kind != &job_kind && (slash != NULL || n_operands > 1);
}

static int
wait_run(struct kctl *kctl, const void *options, int n_operands, char **operands, struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(want_fini) struct waited_field want = {0};
    const struct wait_options *o = options;
    const bool has_tasks = job_tasks_are_meant(n_operands, operands);
    const char *timeout = o->timeout != NULL  ? o->timeout
                          : o->wanted != NULL ? DEFAULT_TIMEOUT
                                              : "0";
    struct named_resources resources;
    int64_t timeout_us = 0;
    int r = 0;

    if (n_operands == 0 && o->label_selector == NULL && !o->all)
        return error_set(err, -EINVAL, "which job?");
    if (timespan_parse(timeout, &timeout_us) < 0)
        return error_set(err, -EINVAL, "--timeout: '%s' is not a time (90s, 2h)", timeout);
    if (has_tasks && o->wanted != NULL && strcmp(o->wanted, "condition=Complete") != 0)
        return error_set(err, -EINVAL,
                         "--for %s: tasks of an array can only be waited for "
                         "until they end (without --for) or until they are "
                         "Completed (--for condition=Complete)",
                         o->wanted);
    if (has_tasks || (o->wanted == NULL && !are_of_other_type(n_operands, operands)))
        return wait_for_ends(kctl, o, n_operands, operands, timeout_us, err);
    r = parse_want(o->wanted, &want, err);
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
