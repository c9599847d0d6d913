/* SPDX-License-Identifier: Apache-2.0 */
/* sshare - lists the accounts of the user, for tools that look for one; Kiln has
 * no fair shares
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

struct sshare_options {
    struct slurm_common_options common;
    const char *format, *clusters;
    bool is_own, no_heading, is_parsable, is_parsable2;
};

#define PLACE(member) .offset = offsetof(struct sshare_options, member)

/* clang-format off */
static const struct option_spec rows[] = {
    SLURM_COMMON_OPTIONS,
    {.name = "clusters", .letter = 'M', .argument = "NAME", .help = "must name this cluster",
     .type = OPTION_TEXT, PLACE(clusters)},
    {.name = "format", .letter = 'o', .argument = "LIST",
     .help = "the fields to show: Account, User, Cluster", .type = OPTION_TEXT, PLACE(format)},
    {.name = "noheader", .letter = 'h', .help = "no heading",
     .type = OPTION_FLAG, PLACE(no_heading)},
    {.name = "parsable", .letter = 'p', .help = "values with | behind each",
     .type = OPTION_FLAG, PLACE(is_parsable)},
    {.name = "parsable2", .letter = 'P', .help = "values with | between them",
     .type = OPTION_FLAG, PLACE(is_parsable2)},
    {.name = "Users", .letter = 'U', .help = "only your own (always)",
     .type = OPTION_FLAG, PLACE(is_own)},
};
/* clang-format on */

static const struct option_table table = {
    .name = "sshare",
    .usage = "[OPTION]... --format Account,User",
    .summary = "List the accounts in which you may submit jobs.",
    OPTION_ROWS(rows),
};

struct share_row {
    const char *account, *user;
};

static void
add_account(const void *row, struct strbuf *out)
{
    strbuf_add_text(out, ((const struct share_row *)row)->account);
}

static void
add_user(const void *row, struct strbuf *out)
{
    strbuf_add_text(out, ((const struct share_row *)row)->user);
}

static void
add_cluster(const void *row, struct strbuf *out)
{
    (void)row;
    strbuf_add_text(out, slurm_cluster_name());
}

static const struct output_column columns[] = {
    {0, "Account", NULL, add_account, -20},
    {0, "Cluster", NULL, add_cluster, 10},
    {0, "User", NULL, add_user, 10},
};
static const struct output_columns share_fields = {columns, ARRAY_SIZE(columns)};

static int
show(struct slurm_client *client, const struct sshare_options *o,
     const struct output_format *format)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct list_style style = {
        .delimiter = o->is_parsable || o->is_parsable2 ? "|" : NULL,
        .ends_with_it = o->is_parsable && !o->is_parsable2,
    };
    struct json *self = NULL;
    const struct json *accounts;
    struct error err = {0};
    const int r = kctl_ask(&client->kctl, "/kiln/v1/whoami", client->arena, &self, &err);

    if (r < 0)
        return slurm_client_fail(client, NULL, r, &err);
    accounts = json_get(self, "accounts");
    if (!o->no_heading)
        field_format_add_list_headings(format, &style, &out);
    for (uint32_t i = 0; i < json_count(accounts); i++) {
        const char *name = json_get_text(json_at(accounts, i), "name");
        const char *user = json_get_text(self, "user");
        const struct share_row row = {name != NULL ? name : "", user != NULL ? user : ""};

        field_format_add_list(format, &style, &row, &out);
    }
    fwrite(out.text, 1, out.length, stdout);
    return slurm_client_end(client);
}

static int
sshare_run(struct slurm_client *client, int argc, char **argv)
{
    struct sshare_options o = {0};
    const int at = slurm_client_options(client, &table, argc, argv, &o);
    struct output_format format;

    if (at < argc) {
        slurm_client_error(client, "Unknown arguments: %s", argv[at]);
        return 1;
    }
    if (!slurm_cluster_is_this(client, o.clusters))
        return 1;
    format = field_format_of_list(client->arena, &share_fields, o.format != NULL ? o.format : "");
    if (o.format == NULL || format.n_unknown > 0) {
        slurm_client_error(client, "Kiln has no fair shares: jobs go by priority class and "
                                   "submission ('kctl priority'), and 'kctl report' shows who has "
                                   "used how much; --format Account,User,Cluster lists your "
                                   "accounts");
        return 1;
    }
    return show(client, &o, &format);
}

const struct slurm_command sshare_slurm_command = {
    .name = "sshare",
    .summary = "list your accounts",
    .run = sshare_run,
};
