/* SPDX-License-Identifier: Apache-2.0 */
/* sacctmgr - shows accounts, and changes none
 *
 * An account is a namespace, a QOS is a priority class. The associations of a user are the accounts
 * that he may submit to, which the controller tells him, and administrators of others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/connect/connection.h"
#include "cli/kctl/input/job_selection.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/job_choice.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "lib/api/object/kind.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

struct sacctmgr_options {
    struct slurm_common_options common;
    bool no_header, is_parsable, is_parsable2, has_associations, ignored;
};

#define PLACE(member) .offset = offsetof(struct sacctmgr_options, member)
#define FLAG(member)  .type = OPTION_FLAG, PLACE(member)

static const struct option_spec rows[] = {
    {.name = "associations",
     .letter = 's',
     .help = "with users: their accounts, too",
     FLAG(has_associations)},
    {.name = "immediate", .letter = 'i', .help = "no effect: nothing is changed", FLAG(ignored)},
    {.name = "noheader", .letter = 'n', .help = "no headings", FLAG(no_header)},
    {.name = "oneliner", .letter = 'o', .help = "no effect", FLAG(ignored)},
    {.name = "parsable", .letter = 'p', .help = "'|' behind each value", FLAG(is_parsable)},
    {.name = "parsable2", .letter = 'P', .help = "'|' between the values", FLAG(is_parsable2)},
    {.name = "quiet", .letter = 'Q', .help = "no effect", FLAG(ignored)},
    {.name = "readonly", .letter = 'r', .help = "no effect: nothing is changed", FLAG(ignored)},
    {.name = "verbose", .letter = 'v', .help = "no effect", FLAG(ignored)},
    SLURM_COMMON_OPTIONS,
};

static const struct option_table table = {
    .name = "sacctmgr",
    .usage = "[OPTION]... show ENTITY [where] [FIELD=VALUE]... [format=LIST]",
    .summary = "Show users, associations, accounts, QOS and the cluster.",
    OPTION_ROWS(rows),
};

/* ---- Fields ---- */

struct sacctmgr_row {
    const char *cluster, *account, *user, *host;
    const char *qos;       /* or the name of a trackable resource */
    const char *type, *id; /* of a trackable resource */
    const char *priority;  /* of a QOS */
};

static void
add_text(const char *text, struct strbuf *out)
{
    strbuf_add_text(out, text != NULL ? text : "");
}

#define FIELD(name, member)                                        \
    static void name(const void *row, struct strbuf *out)          \
    {                                                              \
        add_text(((const struct sacctmgr_row *)row)->member, out); \
    }
FIELD(add_cluster, cluster)
FIELD(add_account, account)
FIELD(add_user, user)
FIELD(add_qos, qos)
FIELD(add_host, host)
FIELD(add_type, type)
FIELD(add_id, id)

/* Limits of associations, which Kiln's ResourceQuotas are not. */
static void
add_nothing(UNUSED const void *row, UNUSED struct strbuf *out)
{
}

static void
add_one(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_char(out, '1');
}

static void
add_no_admin(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_text(out, "None");
}

/* Of a QOS, as Slurm prints one without limits. */
static void
add_no_grace(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_text(out, "00:00:00");
}

static void
add_preemption(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_text(out, "cluster");
}

static void
add_factor(UNUSED const void *row, struct strbuf *out)
{
    strbuf_add_text(out, "1.000000");
}

static void
add_priority(const void *row, struct strbuf *out)
{
    add_text(((const struct sacctmgr_row *)row)->priority, out);
}

static const struct output_column columns[] = {
    {0, "Account", NULL, add_account, 10},
    {0, "Admin", NULL, add_no_admin, 9},
    {0, "AdminLevel", "Admin", add_no_admin, 9},
    {0, "Cluster", NULL, add_cluster, 10},
    {0, "Classification", "Class", add_nothing, 6},
    {0, "ControlHost", NULL, add_host, 15},
    {0, "ControlPort", NULL, add_nothing, 12},
    {0, "Coordinators", "Coord Accounts", add_nothing, 20},
    {0, "DefaultAccount", "Def Acct", add_account, 10},
    {0, "DefaultQOS", "Def QOS", add_nothing, 9},
    {0, "Description", "Descr", add_account, 20},
    {0, "Fairshare", "Share", add_one, 9},
    {0, "Federation", NULL, add_nothing, 20},
    {0, "Flags", NULL, add_nothing, 20},
    {0, "GraceTime", NULL, add_no_grace, 10},
    {0, "GrpCPUs", NULL, add_nothing, 8},
    {0, "GrpJobs", NULL, add_nothing, 7},
    {0, "GrpSubmit", NULL, add_nothing, 9},
    {0, "GrpTRES", NULL, add_nothing, 13},
    {0, "GrpTRESMins", NULL, add_nothing, 13},
    {0, "GrpTRESRunMins", NULL, add_nothing, 13},
    {0, "GrpWall", NULL, add_nothing, 11},
    {0, "ID", NULL, add_id, 6},
    {0, "MaxCPUs", NULL, add_nothing, 8},
    {0, "MaxJobs", NULL, add_nothing, 7},
    {0, "MaxJobsPA", NULL, add_nothing, 9},
    {0, "MaxJobsPU", NULL, add_nothing, 9},
    {0, "MaxNodes", NULL, add_nothing, 8},
    {0, "MaxSubmit", NULL, add_nothing, 9},
    {0, "MaxSubmitPA", NULL, add_nothing, 11},
    {0, "MaxSubmitPU", NULL, add_nothing, 11},
    {0, "MaxTRES", NULL, add_nothing, 13},
    {0, "MaxTRESMins", NULL, add_nothing, 13},
    {0, "MaxTRESPA", NULL, add_nothing, 13},
    {0, "MaxTRESPerNode", NULL, add_nothing, 14},
    {0, "MaxTRESPU", NULL, add_nothing, 13},
    {0, "MaxWall", NULL, add_nothing, 11},
    {0, "MinTRES", NULL, add_nothing, 13},
    {0, "Name", NULL, add_qos, 10},
    {0, "Organization", "Org", add_account, 20},
    {0, "ParentName", "Par Name", add_nothing, 10},
    {0, "Partition", NULL, add_nothing, 10},
    {0, "Preempt", NULL, add_nothing, 10},
    {0, "PreemptExemptTime", NULL, add_nothing, 19},
    {0, "PreemptMode", NULL, add_preemption, 11},
    {0, "Priority", NULL, add_priority, 10},
    {0, "QOS", NULL, add_qos, 20},
    {0, "Share", NULL, add_one, 9},
    {0, "Type", NULL, add_type, 8},
    {0, "UsageFactor", NULL, add_factor, 11},
    {0, "UsageThres", NULL, add_nothing, 10},
    {0, "User", NULL, add_user, 10},
};
static const struct output_columns all_columns = {columns, ARRAY_SIZE(columns)};

/* ---- What is asked for ---- */

enum entity {
    ENTITY_USER,
    ENTITY_ASSOCIATION,
    ENTITY_ACCOUNT,
    ENTITY_QOS,
    ENTITY_CLUSTER,
    ENTITY_TRES
};

struct sacctmgr_query {
    struct slurm_client *client;
    const struct sacctmgr_options *options;
    enum entity entity;
    const char *user, *account, *format;
    const char *name, *type; /* lists: of clusters or of QOS; of resources */
    bool has_associations;
    struct output_format output;
    struct strbuf out;
};

static const char *
default_format(const struct sacctmgr_query *q)
{
    static const char associations[] =
        "Cluster,Account,User,Partition,Share,Priority,GrpJobs,GrpTRES,GrpSubmit,GrpWall,GrpTRESMins,"
        "MaxJobs,MaxTRES,MaxTRESPerNode,MaxSubmit,MaxWall,MaxTRESMins,QOS,DefaultQOS,GrpTRESRunMins";

    switch (q->entity) {
    case ENTITY_USER:
        return q->has_associations ? "User,DefaultAccount,Admin,Cluster,Account,Partition,Share,"
                                     "Priority,MaxJobs,MaxSubmit,MaxWall,QOS,DefaultQOS"
                                   : "User,DefaultAccount,Admin";
    case ENTITY_ASSOCIATION:
        return associations;
    case ENTITY_ACCOUNT:
        return "Account,Description,Organization";
    case ENTITY_QOS:
        return "Name,Priority,GraceTime,Preempt,PreemptExemptTime,PreemptMode,Flags,UsageThres,"
               "UsageFactor,GrpTRES,GrpTRESMins,GrpTRESRunMins,GrpJobs,GrpSubmit,GrpWall,MaxTRES,"
               "MaxTRESPerNode,MaxTRESMins,MaxWall,MaxTRESPU,MaxJobsPU,MaxSubmitPU,MaxTRESPA,"
               "MaxJobsPA,MaxSubmitPA,MinTRES";
    case ENTITY_CLUSTER:
        return "Cluster,ControlHost,ControlPort,Share,QOS,DefaultQOS";
    case ENTITY_TRES:
        return "Type,Name%15,ID";
    }
    return associations;
}

static struct list_style
style_of(const struct sacctmgr_query *q)
{
    const struct sacctmgr_options *o = q->options;

    return (struct list_style){
        .delimiter = o->is_parsable || o->is_parsable2 ? "|" : NULL,
        .ends_with_it = o->is_parsable,
    };
}

static void
add_row(struct sacctmgr_query *q, const struct sacctmgr_row *row)
{
    const struct list_style style = style_of(q);

    field_format_add_list(&q->output, &style, row, &q->out);
}

/* ---- The entities ---- */

/* The names of the priority classes that jobs may ask for, "normal" first. */
static int
add_classes(struct sacctmgr_query *q, struct error *err)
{
    const struct target_object all = {.kind = &priority_class_kind};
    struct json *classes = NULL;
    int r = kctl_list(&q->client->kctl, &all, NULL, NULL, q->client->arena, &classes, err);

    if (r < 0)
        return r;
    if (name_list_has(q->name, "normal"))
        add_row(q, &(struct sacctmgr_row){.qos = "normal", .priority = "0"});
    for (uint32_t i = 0; i < json_count(classes); i++) {
        const char *name = json_path_text(json_at(classes, i), "metadata.name");

        if (name != NULL && name_list_has(q->name, name))
            add_row(q, &(struct sacctmgr_row){
                           .qos = name,
                           .priority = arena_printf(q->client->arena, "%" PRId64,
                                                    json_get_int(json_at(classes, i), "value", 0)),
                       });
    }
    return 0;
}

/* Users, associations and accounts: what the user, or the one whom an administrator asks about, may
 * submit to.
 */
static int
add_accounts(struct sacctmgr_query *q, struct error *err)
{
    struct json *who = NULL;
    const struct json *accounts;
    const char *own = NULL;
    int r = job_selection_find_own_user(&q->client->kctl, q->client->arena, &own, err);

    if (r < 0)
        return r;
    if (q->user != NULL && strcmp(q->user, own) != 0)
        q->client->kctl.as_user = own = q->user;
    r = kctl_ask(&q->client->kctl, "/kiln/v1/whoami", q->client->arena, &who, err);
    if (r < 0)
        return r;
    accounts = json_get(who, "accounts");
    if (q->entity == ENTITY_USER && !q->has_associations) {
        add_row(q, &(struct sacctmgr_row){.user = own});
        return 0;
    }
    for (uint32_t i = 0; i < json_count(accounts); i++) {
        const char *account = json_get_text(json_at(accounts, i), "name");

        if (account != NULL && (q->account == NULL || strcasecmp(q->account, account) == 0))
            add_row(q, &(struct sacctmgr_row){
                           .cluster = slurm_cluster_name(),
                           .account = account,
                           .user = own,
                           .qos = "normal",
                       });
    }
    return 0;
}

/* The resources that jobs of Kiln are accounted for, with Slurm's numbers. */
static void
add_resources(struct sacctmgr_query *q)
{
    static const struct sacctmgr_row all[] = {
        {.type = "cpu", .id = "1"},
        {.type = "mem", .id = "2"},
        {.type = "node", .id = "4"},
        {.type = "billing", .id = "5"},
        {.type = "fs", .qos = "disk", .id = "6"},
        {.type = "gres", .qos = "gpu", .id = "1001"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (name_list_has(q->type, all[i].type))
            add_row(q, &all[i]);
}

static int
show(struct sacctmgr_query *q)
{
    const struct list_style style = style_of(q);
    struct error err = {0};
    int r = 0;

    q->output = field_format_of_list(q->client->arena, &all_columns,
                                     q->format != NULL ? q->format : default_format(q));
    if (q->output.n_unknown > 0) {
        fprintf(stderr, "Unknown field '%s'\n", q->output.unknown[0]);
        return 1;
    }
    if (!q->options->no_header)
        field_format_add_list_headings(&q->output, &style, &q->out);
    if (q->entity == ENTITY_QOS) {
        r = add_classes(q, &err);
    } else if (q->entity == ENTITY_CLUSTER) {
        r = kctl_open(&q->client->kctl, &err);
        if (r == 0 && name_list_has(q->name, slurm_cluster_name()))
            add_row(q, &(struct sacctmgr_row){
                           .cluster = slurm_cluster_name(),
                           .host = connection_server(q->client->kctl.connection),
                           .qos = "normal",
                       });
    } else if (q->entity == ENTITY_TRES) {
        add_resources(q);
    } else {
        r = add_accounts(q, &err);
    }
    if (r < 0) {
        connection_advise(r, &err);
        return slurm_client_fail(q->client, NULL, r, &err);
    }
    fwrite(q->out.text, 1, q->out.length, stdout);
    return slurm_client_end(q->client);
}

/* ---- The command line ---- */

static bool
find_entity(const char *word, enum entity *ret)
{
    static const struct {
        const char *name;
        size_t least;
        enum entity entity;
    } entities[] = {
        {"accounts", 2, ENTITY_ACCOUNT}, {"associations", 2, ENTITY_ASSOCIATION},
        {"clusters", 2, ENTITY_CLUSTER}, {"qos", 1, ENTITY_QOS},
        {"tres", 2, ENTITY_TRES},        {"users", 1, ENTITY_USER},
    };

    for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
        if (control_is(word, entities[i].name, entities[i].least)) {
            *ret = entities[i].entity;
            return true;
        }
    return false;
}

/* Refuses what Slurm's database has, and Kiln has elsewhere or not at all. */
static int
refuse_entity(const struct slurm_client *client, const char *word)
{
    static const struct {
        const char *name;
        size_t least;
        const char *instead;
    } others[] = {
        {"configuration", 2, "'scontrol show config' has the settings"},
        {"events", 1, "'kctl events' and 'kctl describe node NAME' tell what happened to nodes"},
        {"federation", 1, "there are no federations of clusters"},
        {"problems", 1, "'kctl create account NAME' makes whole accounts; there are no others"},
        {"reservations", 4, "'scontrol show reservation' lists those that exist"},
        {"resources", 4, "there are no resources of several clusters"},
        {"runawayjobs", 2, "a job of history has an end, or it still waits or runs: 'squeue -a'"},
        {"stats", 1, "'sdiag' has figures of the controller"},
        {"transactions", 1, "the audit log of the controller has who changed what"},
        {"wckeys", 1, "jobs have no wckeys; --comment is kept"},
    };

    for (size_t i = 0; word != NULL && i < ARRAY_SIZE(others); i++)
        if (control_is(word, others[i].name, others[i].least)) {
            slurm_client_error(client, "%s: %s", word, others[i].instead);
            return 1;
        }
    fputs(
        "No valid entity in list command\n"
        "Input line must include \"Account\", \"Association\", \"Cluster\", \"QOS\", \"TRES\", or \"User\"\n",
        stderr);
    return 1;
}

static int
refuse_condition(const char *word)
{
    fprintf(stderr, " Unknown condition: %s\n", word);
    return 1;
}

/* A name without a field is that of the entity. */
static int
read_name(struct sacctmgr_query *q, const char *word, const char *name)
{
    switch (q->entity) {
    case ENTITY_USER:
        q->user = name;
        return 0;
    case ENTITY_ACCOUNT:
        q->account = name;
        return 0;
    case ENTITY_CLUSTER:
    case ENTITY_QOS:
        q->name = name;
        return 0;
    case ENTITY_ASSOCIATION:
    case ENTITY_TRES:
        break;
    }
    return refuse_condition(word);
}

/* Words that say how much is shown; of most there is nothing to show. */
static bool
is_mode(const char *word)
{
    static const char *const modes[] = {
        "onlydefaults", "where",    "withassoc", "withcoordinators", "withdeleted",
        "withsubaccts", "wolimits", "woplimits", "wopinfo",          "woparentinfo",
        "worawqosinfo", "rawqosid", "tree",      "withrawqosinfo",   "withfed",
    };

    for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
        if (control_is(word, modes[i], 5) || strcasecmp(word, modes[i]) == 0)
            return true;
    return false;
}

static int
read_word(struct sacctmgr_query *q, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);

    if (equals == NULL && is_mode(word))
        q->has_associations = q->has_associations || strcasecmp(word, "withassoc") == 0;
    else if (equals != NULL && strncasecmp(word, "format", length) == 0 && length >= 2)
        q->format = equals + 1;
    else if (equals != NULL && strncasecmp(word, "users", length) == 0 && length >= 1)
        q->user = equals + 1;
    else if (equals != NULL && strncasecmp(word, "accounts", length) == 0 && length >= 2)
        q->account = equals + 1;
    else if (equals != NULL && q->entity != ENTITY_CLUSTER && length >= 2
             && strncasecmp(word, "clusters", length) == 0)
        return slurm_cluster_is_this(q->client, equals + 1) ? 0 : 1;
    else if (equals != NULL && q->entity == ENTITY_TRES && strncasecmp(word, "types", length) == 0)
        q->type = equals + 1;
    else if (equals == NULL || strncasecmp(word, "names", length) == 0
             || (q->entity == ENTITY_CLUSTER && strncasecmp(word, "clusters", length) == 0))
        return read_name(q, word, equals != NULL ? equals + 1 : word);
    else
        return refuse_condition(word);
    return 0;
}

static int
sacctmgr_run(struct slurm_client *client, int argc, char **argv)
{
    struct sacctmgr_options o = {0};
    int at = slurm_client_options(client, &table, argc, argv, &o);
    struct sacctmgr_query q = {
        .client = client,
        .options = &o,
        .has_associations = o.has_associations,
        .out = STRBUF_INIT,
    };
    int status;

    if (at < argc && control_is(argv[at], "version", 4)) {
        slurm_client_print_version();
        return 0;
    }
    if (at < argc && (control_is(argv[at], "exit", 1) || control_is(argv[at], "quit", 4)))
        return 0;
    if (at == argc || !(control_is(argv[at], "show", 1) || control_is(argv[at], "list", 1))) {
        slurm_client_error(
            client, "only 'show' is available: an account is a namespace ('kctl create account "
                    "NAME'), and its annotation kiln.hpc/members has its users");
        return 1;
    }
    if (++at == argc || !find_entity(argv[at], &q.entity))
        return refuse_entity(client, at < argc ? argv[at] : NULL);
    while (++at < argc)
        if (read_word(&q, argv[at]) != 0)
            return 1;
    status = show(&q);
    strbuf_fini(&q.out);
    return status;
}

const struct slurm_command sacctmgr_slurm_command = {
    .name = "sacctmgr",
    .summary = "show users, accounts and QOS",
    .run = sacctmgr_run,
};
