/* SPDX-License-Identifier: Apache-2.0 */
/* kctl whoami - the user as the controller knows it, and the user's rights and
 * limits
 */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/command.h"
#include "cli/kctl/client/kctl.h"
#include "cli/print/human.h"
#include "cli/print/sanitize_text.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MAX_ACCOUNTS 20 /* printed as text; JSON has all */

struct whoami_options {
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
     .offset = offsetof(struct whoami_options, form)},
};

static const struct option_table table = {
    .name = "kctl whoami",
    .usage = "[OPTION]...",
    .summary = "Show how the controller identifies you: user, groups, rank, "
               "the accounts that you may submit to, and your limits and "
               "usage.",
    OPTION_ROWS(rows),
    .more = "Example: kctl whoami",
};

static void
add_line(struct strbuf *out, const char *name, const char *text)
{
    CLEANUP_FREE char *clean = sanitize_text_dup(text);

    strbuf_printf(out, "%-12s%s\n", name, clean);
}

static void
describe_groups(const struct json *gids, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(gids); i++) {
        int64_t gid = 0;
        const struct group *group;

        (void)json_to_int(json_at(gids, i), &gid);
        group = getgrgid((gid_t)gid);
        if (group != NULL)
            strbuf_printf(&text, "%s%s", i > 0 ? ", " : "", group->gr_name);
        else
            strbuf_printf(&text, "%s%" PRId64, i > 0 ? ", " : "", gid);
    }
    if (text.length > 0)
        add_line(out, "Groups:", text.text);
}

static void
describe_rank(const char *rank, struct strbuf *out)
{
    static const struct {
        const char *rank, *words;
    } ranks[] = {
        {"user", "sees everything, and changes only their own objects"},
        {"operator", "holds and cancels all jobs, and drains nodes"},
        {"administrator", "may do everything"},
    };
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_add_text(&text, rank);
    for (unsigned i = 0; i < ARRAY_SIZE(ranks); i++)
        if (strcmp(ranks[i].rank, rank) == 0)
            strbuf_printf(&text, " (%s)", ranks[i].words);
    add_line(out, "Rank:", text.text);
}

/* Prints "cpu 3 of 4" for each quota, below the account. */
static void
describe_quotas(const struct json *quotas, struct strbuf *out)
{
    for (uint32_t i = 0; i < json_count(quotas); i++) {
        const struct json *quota = json_at(quotas, i);
        const struct json *hard = json_get(quota, "hard");
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

        strbuf_printf(&text, "  quota %s:", json_get_text(quota, "name"));
        for (uint32_t k = 0; k < json_count(hard); k++) {
            const char *name = hard->members[k].name;
            const char *used = json_get_text(json_get(quota, "used"), name);
            const char *most = json_text(hard->members[k].value);

            strbuf_printf(&text, "%s %s %s of %s", k > 0 ? "," : "", name,
                          used != NULL ? used : "0", most != NULL ? most : "?");
        }
        add_line(out, "", text.text);
    }
}

static void
describe_accounts(const struct json *accounts, struct strbuf *out)
{
    const uint32_t count = json_count(accounts);

    if (count == 0)
        add_line(out, "Accounts:",
                 "none (an administrator adds users to the annotation "
                 "kiln.hpc/members of a namespace)");
    for (uint32_t i = 0; i < count && i < MAX_ACCOUNTS; i++) {
        const struct json *account = json_at(accounts, i);

        add_line(out, i == 0 ? "Accounts:" : "", json_get_text(account, "name"));
        describe_quotas(json_get(account, "quotas"), out);
    }
    if (count > MAX_ACCOUNTS)
        strbuf_printf(out, "%-12s... and %u more (-o json lists all)\n", "", count - MAX_ACCOUNTS);
}

static void
describe_jobs(const struct json *jobs, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(jobs); i++) {
        int64_t n = 0;

        (void)json_to_int(jobs->members[i].value, &n);
        strbuf_printf(&text, "%s%" PRId64 " %s", i > 0 ? ", " : "", n, jobs->members[i].name);
    }
    add_line(out, "Jobs:", text.length > 0 ? text.text : "none active");
}

static void
format_amount(const char *name, int64_t amount, char out[HUMAN_TEXT_SIZE])
{
    if (strcmp(name, "bytes") == 0)
        human_bytes(amount, out);
    else
        snprintf(out, HUMAN_TEXT_SIZE, "%" PRId64, amount);
}

static void
describe_limits(const struct json *answer, struct strbuf *out)
{
    static const struct {
        const char *name, *words;
    } names[] = {
        {"objects", "objects (jobs, pods, ... that have not ended)"},
        {"pods", "pods at once, in all jobs"},
        {"bytes", "of objects and scripts stored"},
        {"watches", "watches"},
        {"logReaders", "concurrent readers of job output"},
    };
    const struct json *limits = json_get(answer, "limits");
    const int64_t most_s = json_get_int(answer, "maximumTimeSeconds", 0);
    const char *heading = "Limits:";

    for (uint32_t i = 0; i < json_count(limits); i++) {
        const struct json *limit = json_at(limits, i);
        const char *name = json_get_text(limit, "name");
        const int64_t most_number = json_get_int(limit, "most", 0);
        char used[HUMAN_TEXT_SIZE], most[HUMAN_TEXT_SIZE];
        const char *words = name;

        for (unsigned k = 0; k < ARRAY_SIZE(names); k++)
            if (strcmp(names[k].name, name) == 0)
                words = names[k].words;
        format_amount(name, json_get_int(limit, "used", 0), used);
        format_amount(name, most_number, most);
        strbuf_printf(out, "%-12s%s of %s %s\n", heading, used,
                      most_number > 0 ? most : "any number", words);
        heading = "";
    }
    if (most_s > 0) {
        char time[HUMAN_TEXT_SIZE];

        human_duration(most_s * 1000000, time);
        strbuf_printf(out, "%-12s%s at most for each job\n", heading, time);
    }
}

static int
whoami_run(struct kctl *kctl, const void *options, int n_operands, char **operands,
           struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct whoami_options *o = options;
    struct json *answer;
    const char *user, *asked_by;
    int r;

    if (n_operands > 0)
        return error_set(err, -EINVAL, "'%s' is not expected", operands[0]);
    if (o->form != NULL && strcmp(o->form, "json") != 0)
        return error_set(err, -EINVAL, "-o: '%s' is not json", o->form);
    r = kctl_ask(kctl, "/kiln/v1/whoami", arena, &answer, err);
    if (r < 0)
        return r;
    if (o->form != NULL) {
        json_print_indented(answer, &out);
        strbuf_add_char(&out, '\n');
    } else {
        user = json_get_text(answer, "user");
        asked_by = json_get_text(answer, "askedBy");
        add_line(&out, "User:",
                 arena_printf(arena, "%s (uid %" PRId64 ")%s%s", user != NULL ? user : "?",
                              json_get_int(answer, "uid", -1),
                              asked_by != NULL ? ", impersonated by " : "",
                              asked_by != NULL ? asked_by : ""));
        describe_groups(json_get(answer, "gids"), &out);
        describe_rank(json_get_text(answer, "rank"), &out);
        describe_accounts(json_get(answer, "accounts"), &out);
        describe_jobs(json_get(answer, "jobs"), &out);
        describe_limits(answer, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
    return 0;
}

const struct command whoami_command = {
    .name = "whoami",
    .options = &table,
    .options_size = sizeof(struct whoami_options),
    .run = whoami_run,
};
