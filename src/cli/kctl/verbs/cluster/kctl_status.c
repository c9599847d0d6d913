/* SPDX-License-Identifier: Apache-2.0 */
/* kctl status - the cluster on one screen */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/output/node_rows.h"
#include "cli/print/human.h"
#include "cli/print/local_time.h"
#include "cli/print/sanitize_text.h"
#include "cli/print/terminal_colour.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

struct status_options {
    struct common_options common;
    const char *form;
};

static const struct option_spec rows[] = {
    COMMON_OPTIONS,
    {.name = "output",
     .letter = 'o',
     .argument = "FORM",
     .help = "json",
     .type = OPTION_TEXT,
     .offset = offsetof(struct status_options, form)},
};

static const struct option_table table = {
    .name = "kctl status",
    .usage = "[OPTION]...\n[OPTION]... JOB|JOB_TASK...",
    .summary = "Show the cluster on one screen: nodes, free resources, jobs of all "
               "users by state, the controller, and problems. With jobs, shows what "
               "'kctl why' shows.",
    OPTION_ROWS(rows),
    .more = "Examples:\n"
            "  kctl status\n"
            "  kctl status 1042",
};

static void
add_word(struct strbuf *out, const char *word, bool has_colours)
{
    const enum terminal_colour colour = has_colours ? terminal_colour_of_state(word) : COLOUR_PLAIN;

    if (colour == COLOUR_PLAIN)
        strbuf_add_text(out, word);
    else
        strbuf_printf(out, "%s%s%s", terminal_colour_start(colour), word, terminal_colour_end);
}

static int64_t
count_state(const struct json *nodes, const char *state)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++)
        n += strcmp(json_get_text(json_at(nodes, i), "state"), state) == 0;
    return n;
}

static void
add_heading(struct strbuf *out, const char *name)
{
    strbuf_printf(out, "%-12s", name);
}

static void
describe_nodes(const struct json *nodes, bool has_colours, struct strbuf *out)
{
    struct node_sum sum = {0};
    char free[HUMAN_TEXT_SIZE], total[HUMAN_TEXT_SIZE];
    unsigned n_states = 0;

    for (uint32_t i = 0; i < json_count(nodes); i++)
        node_sum_add(&sum, json_at(nodes, i));
    add_heading(out, "Nodes:");
    strbuf_printf(out, "%" PRId64 "%s", sum.nodes, sum.nodes > 0 ? ":" : "");
    for (size_t i = 0; i < node_rows_n_states; i++) {
        const int64_t n = count_state(nodes, node_rows_states[i]);

        if (n == 0)
            continue;
        strbuf_printf(out, "%s %" PRId64 " ", n_states++ > 0 ? "," : "", n);
        add_word(out, node_rows_states[i], has_colours);
    }
    strbuf_add_char(out, '\n');
    add_heading(out, "CPUs:");
    strbuf_printf(out, "%" PRId64 " free of %" PRId64 ", %" PRId64 " in use\n", sum.cpus_free,
                  sum.cpus, sum.cpus_used);
    human_bytes(sum.memory_free, free);
    human_bytes(sum.memory, total);
    add_heading(out, "Memory:");
    strbuf_printf(out, "%s free of %s\n", free, total);
    if (sum.gpus == 0)
        return;
    add_heading(out, "GPUs:");
    strbuf_printf(out, "%" PRId64 " free of %" PRId64 ", %" PRId64 " in use\n", sum.gpus_free,
                  sum.gpus, sum.gpus_used);
}

static void
describe_jobs(const struct json *status, bool has_colours, struct strbuf *out)
{
    const struct json *jobs = json_get(status, "jobs");
    const struct json *oldest = json_get(status, "oldestWaiting");
    const char *since = json_get_text(oldest, "since");
    char age[HUMAN_TEXT_SIZE];
    int64_t us;

    add_heading(out, "Jobs:");
    for (uint32_t i = 0; i < json_count(jobs); i++) {
        int64_t n = 0;

        (void)json_to_int(jobs->members[i].value, &n);
        strbuf_printf(out, "%s%" PRId64 " ", i > 0 ? ", " : "", n);
        add_word(out, jobs->members[i].name, has_colours);
    }
    strbuf_add_text(out, json_count(jobs) == 0 ? "none\n" : "\n");
    if (since == NULL || time_parse(since, &us) < 0)
        return;
    human_duration(clock_real_us(&clock_system) - us, age);
    add_heading(out, "Oldest:");
    strbuf_printf(out, "job %" PRId64 " of %s has waited for %s\n", json_get_int(oldest, "id", 0),
                  json_get_text(oldest, "user"), age);
}

/* A holder is the host's name, "_" and a unique suffix. */
static const char *
host_of(const struct json *leader, struct arena *arena)
{
    const char *holder = json_get_text(leader, "holder");

    return holder != NULL ? arena_strndup(arena, holder, strcspn(holder, "_")) : "?";
}

static void
describe_controller(const struct json *status, struct arena *arena, struct strbuf *out)
{
    const struct json *leaders = json_get(status, "leaders");
    const char *version = json_get_text(status, "version");
    const char *before = NULL;

    add_heading(out, "Controller:");
    strbuf_printf(out, "v%s", version != NULL ? version : "?");
    for (uint32_t i = 0; i < json_count(leaders); i++) {
        const char *host = host_of(json_at(leaders, i), arena);

        if (before != NULL && strcmp(before, host) == 0)
            continue;
        strbuf_printf(out, before == NULL ? ", leader %s" : ", %s", host);
        before = host;
    }
    strbuf_add_char(out, '\n');
}

static void
describe_warnings(const struct json *status, bool has_colours, struct strbuf *out)
{
    const struct json *warnings = json_get(status, "warnings");

    for (uint32_t i = 0; i < json_count(warnings); i++) {
        CLEANUP_FREE char *text = sanitize_text_dup(json_text(json_at(warnings, i)));
        CLEANUP_STRBUF struct strbuf local = STRBUF_INIT;

        local_time_add_text(text, &local);
        if (has_colours)
            strbuf_add_text(out, terminal_colour_start(COLOUR_RED));
        add_heading(out, "Warning:");
        if (has_colours)
            strbuf_add_text(out, terminal_colour_end);
        strbuf_printf(out, "%s\n", local.text);
    }
}

static int
status_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct status_options *o = options;
    const bool has_colours = terminal_colour_is_wanted();
    struct json *status, *nodes;
    int r;

    if (n_operands > 0 && o->form != NULL)
        return error_set(err, -EINVAL,
                         "-o is for the cluster; use 'kctl get job %s -o "
                         "json' for a job",
                         operands[0]);
    if (n_operands > 0)
        return why_command.run(kctl, options, n_operands, operands, err);
    if (o->form != NULL && strcmp(o->form, "json") != 0)
        return error_set(err, -EINVAL, "-o: '%s' is not json", o->form);
    r = kctl_open(kctl, err);
    if (r == 0)
        r = kctl_ask(kctl, "/kiln/v1/status", arena, &status, err);
    if (r == 0)
        r = kctl_ask(kctl, "/kiln/v1/nodes?resourceVersion=0", arena, &nodes, err);
    if (r < 0)
        return r;
    if (o->form != NULL) {
        json_set(arena, status, "nodes", json_get(nodes, "nodes"));
        json_print_indented(status, &out);
        strbuf_add_char(&out, '\n');
    } else {
        describe_controller(status, arena, &out);
        describe_nodes(json_get(nodes, "nodes"), has_colours, &out);
        describe_jobs(status, has_colours, &out);
        describe_warnings(status, has_colours, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command status_command = {
    .name = "status",
    .options = &table,
    .options_size = sizeof(struct status_options),
    .run = status_run,
};
