/* SPDX-License-Identifier: Apache-2.0 */
/* kctl hold, release, requeue, cancel - change the state of jobs
 *
 * One request for all that are meant, whatever their number (10000 at a time);
 * the server says of each what became of it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/connect/inquiry.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/kctl/output/job_outcomes.h"
#include "cli/kctl/verbs/command.h"
#include "lib/api/job/job_state.h"
#include "lib/api/object/kind.h"
#include "lib/api/value/id_ranges.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define FEW 5 /* jobs that are ended without a question */

struct hold_options {
    struct common_options common;
    struct job_selection selection;
    const char *label_selector;
    bool all;
    bool yes;
    bool hold; /* of requeue alone */
};

#define PLACE(member) .offset = offsetof(struct hold_options, member)

/* clang-format off */
#define OPTIONS_OF_JOBS \
    COMMON_OPTIONS, \
    JOB_SELECTION_OPTIONS(struct hold_options, selection), \
    {.name = "all", \
    .help = "all jobs that have not ended and that you may change", \
    .type = OPTION_FLAG, \
    PLACE(all)}, \
    {.name = "selector", \
    .letter = 'l', \
    .argument = "LIST", \
    .help = "the jobs with these labels", \
    .type = OPTION_TEXT, \
    PLACE(label_selector)}, \
    {.name = "yes", \
    .letter = 'y', \
    .help = "ask nothing, however many they are", \
    .type = OPTION_FLAG, \
    PLACE(yes)}
/* clang-format on */

static const struct option_spec hold_rows[] = {OPTIONS_OF_JOBS};
#define release_rows hold_rows
#define cancel_rows  hold_rows
static const struct option_spec requeue_rows[] = {
    OPTIONS_OF_JOBS,
    {.name = "hold",
     .help = "and hold them, so that they start when they are released",
     .type = OPTION_FLAG,
     PLACE(hold)},
};

/* The name of a verb, and its words for people. */
struct job_verb {
    const char *name;
    const char *does; /* "Cancel" */
    bool asks;        /* it ends what runs */
};

/* ---- Which jobs ---- */

/* "7", "5,6", "10-20", "job/7", "job-7"; another text is a name. */
static int
read_operand(const char *text,
             struct strbuf *ids,
             struct json *names,
             struct arena *arena,
             struct error *err)
{
    const char *slash = strchr(text, '/');

    if (slash != NULL) {
        const char *type = arena_strndup(arena, text, (size_t)(slash - text));

        if (kind_find_any_name(type) != &job_kind)
            return error_set(err, -EINVAL, "%s is not a job", text);
        text = slash + 1;
    }
    if (text[0] == '\0')
        return error_set(err, -EINVAL, "a job is empty");
    if (id_ranges_looks_like(text))
        strbuf_printf(ids, "%s%s", ids->length > 0 ? "," : "", text);
    else
        json_append(arena, names, json_string(arena, text));
    return 0;
}

static int
read_operands(struct kctl *kctl,
              int n_operands,
              char **operands,
              struct json *body,
              struct arena *arena,
              struct error *err)
{
    CLEANUP_STRBUF struct strbuf ids = STRBUF_INIT;
    struct json *names = json_array(arena);
    struct id_ranges ranges = {0};
    int r = 0;
    int i = 0;

    /* "kctl cancel job 7" names the type, which is allowed but not needed. */
    if (n_operands > 1 && kind_find_any_name(operands[0]) == &job_kind)
        i = 1;
    for (; i < n_operands && r == 0; i++)
        r = read_operand(operands[i], &ids, names, arena, err);
    if (r == 0 && ids.length > 0)
        r = id_ranges_add(&ranges, ids.text, arena, err);
    if (r < 0)
        return r;
    if (ranges.count > 0) {
        strbuf_truncate(&ids, 0);
        id_ranges_format(&ranges, &ids);
        json_set_string(arena, body, "ids", ids.text);
    }
    if (json_count(names) > 0) {
        json_set(arena, body, "names", names);
        json_set_string(arena, body, "namespace", kctl_namespace(kctl));
    }
    return 0;
}

static int
read_selection(struct kctl *kctl,
               const struct hold_options *o,
               struct json *body,
               struct arena *arena,
               struct error *err)
{
    struct job_selection s = o->selection;
    const char *fields;
    int r = job_selection_check(&s, err);

    if (r < 0)
        return r;
    if (s.account == NULL)
        s.account = kctl->namespace;
    if (s.account != NULL && strchr(s.account, ',') != NULL)
        return error_set(err, -EINVAL, "--account: one at a time");
    fields = job_selection_fields(&s, "status.finished=false", arena);
    json_set_string(arena, body, "fieldSelector", fields);
    if (o->label_selector != NULL)
        json_set_string(arena, body, "labelSelector", o->label_selector);
    if (s.account != NULL)
        json_set_string(arena, body, "namespace", s.account);
    if (s.name != NULL)
        json_set_string(arena, body, "name", s.name);
    if (s.states != 0) {
        struct json *states = json_array(arena);

        for (enum job_state state = JOB_STATE_PENDING; state < JOB_STATE_COUNT;
             state++)
            if (s.states & JOB_STATE_BIT(state))
                json_append(arena,
                            states,
                            json_string(arena, job_state_words(state)->name));
        json_set(arena, body, "states", states);
    }
    return 0;
}

/* ---- The requests ---- */

static int
ask(struct kctl *kctl,
    const char *action,
    const struct json *body,
    struct arena *arena,
    struct json **ret_answer,
    struct error *err)
{
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    return inquiry_run(kctl->connection,
                       HTTP_POST,
                       arena_printf(arena, "/kiln/v1/jobs/%s", action),
                       body,
                       arena,
                       ret_answer,
                       err);
}

/* Asks before more than a few are ended. 1: go on; 0: better not. */
static int
confirm(const struct job_verb *verb,
        const struct json *answer,
        struct error *err)
{
    const int64_t count = json_get_int(answer, "count", 0);
    const int64_t running = json_get_int(answer, "running", 0);
    char line[16];

    if (!isatty(STDIN_FILENO))
        return error_set(err,
                         -EPERM,
                         "%" PRId64 " jobs are meant, of which %" PRId64
                         " run; say --yes if that is right (nobody can be "
                         "asked here)",
                         count,
                         running);
    fprintf(stderr,
            "%s %" PRId64 " jobs, of which %" PRId64 " run? [y/N] ",
            verb->does,
            count,
            running);
    if (fgets(line, sizeof(line), stdin) != NULL
        && (line[0] == 'y' || line[0] == 'Y'))
        return 1;
    fprintf(stderr, "Nothing was done\n");
    return 0;
}

static int
change_all(struct kctl *kctl,
           const struct hold_options *o,
           int n_operands,
           char **operands,
           const struct job_verb *verb,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(job_outcomes_freep)
    struct job_outcomes *outcomes = job_outcomes_new(arena);
    struct json *body = json_object(arena), *answer;
    const bool selects = !job_selection_is_empty(&o->selection)
                         || o->label_selector != NULL || o->all;
    bool is_range = false;
    int r;

    if (selects && n_operands > 0)
        return error_set(err,
                         -EINVAL,
                         "'%s': jobs are named, or selected by options, and "
                         "not both",
                         operands[0]);
    if (!selects && n_operands == 0)
        return error_set(err,
                         -EINVAL,
                         "which jobs? Name them (1042, 5,6 or 10-20), or "
                         "select them by --user, --state, --name, "
                         "--partition, -l or --all");
    r = selects ? read_selection(kctl, o, body, arena, err)
                : read_operands(kctl, n_operands, operands, body, arena, err);
    if (r == 0 && verb->asks && !o->yes)
        json_set_int(arena, body, "atMost", FEW);
    for (int i = 0; i < n_operands; i++)
        is_range |= id_ranges_looks_like(operands[i])
                    && strchr(operands[i], '-') != NULL;
    for (const char *next = ""; r == 0 && next != NULL;) {
        if (next[0] != '\0')
            json_set_string(arena, body, "continue", next);
        r = ask(kctl,
                o->hold ? "requeueAndHold" : verb->name,
                body,
                arena,
                &answer,
                err);
        if (r == 0 && json_is_true(json_get(answer, "isTooMany"))) {
            r = confirm(verb, answer, err);
            if (r == 0)
                return 0;
            json_remove(body, "atMost");
            r = r > 0 ? 0 : r;
        } else if (r == 0) {
            job_outcomes_add(outcomes, answer);
            next = json_get_text(answer, "continue");
        }
    }
    if (r < 0)
        return r;
    return job_outcomes_print(outcomes, is_range, err);
}

/* The four verbs have the same form. */
#define JOB_VERB(verb, does_, asks_, words, examples)                       \
    static const struct option_table verb##_table = {                       \
        .name = "kctl " #verb,                                              \
        .usage = "[OPTION]... JOB...\n"                                     \
                 "[OPTION]... (--user NAME | --state STATE | ...)",         \
        .summary = words,                                                   \
        OPTION_ROWS(verb##_rows),                                           \
        .more = examples,                                                   \
    };                                                                      \
    static int verb##_run(struct kctl *kctl,                                \
                          const void *options,                              \
                          int n_operands,                                   \
                          char **operands,                                  \
                          struct error *err)                                \
    {                                                                       \
        static const struct job_verb this = {                               \
            .name = #verb,                                                  \
            .does = does_,                                                  \
            .asks = asks_,                                                  \
        };                                                                  \
        return change_all(kctl, options, n_operands, operands, &this, err); \
    }                                                                       \
    const struct command verb##_command = {                                 \
        .name = #verb,                                                      \
        .options = &verb##_table,                                           \
        .options_size = sizeof(struct hold_options),                        \
        .run = verb##_run,                                                  \
    }

JOB_VERB(hold,
         "Hold",
         false,
         "Keep jobs from starting; what runs of them goes on.",
         "Examples:\n"
         "  kctl hold 1042\n"
         "  kctl hold --state Pending --partition gpu");
JOB_VERB(release,
         "Release",
         false,
         "Let held jobs start.",
         "Examples:\n"
         "  kctl release 1042\n"
         "  kctl release --state Held");
JOB_VERB(requeue,
         "Requeue",
         true,
         "Stop jobs and start them anew, from the beginning.",
         "Examples:\n"
         "  kctl requeue 1042\n"
         "  kctl requeue --hold 1042 # stops it until it is released");
JOB_VERB(cancel,
         "Cancel",
         true,
         "End jobs for good; what is known of them stays.",
         "Examples:\n"
         "  kctl cancel 1042 1043\n"
         "  kctl cancel 10-20\n"
         "  kctl cancel --name 'sweep*' --state Pending\n"
         "  kctl cancel --all --yes");
