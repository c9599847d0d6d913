/* SPDX-License-Identifier: Apache-2.0 */
/* scontrol - shows and changes jobs, nodes, partitions and reservations */
#include "cli/slurm_control/scontrol.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/connect/connection.h"
#include "cli/kctl/client/cluster_parts.h"
#include "cli/ksub/job_script.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm/slurm_command.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_json.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

struct scontrol_options {
    struct slurm_common_options common;
    const char *clusters, *uid;
    bool all, details, federation, future, hide, json, local, oneline, quiet, sibling, verbose;
};

#define PLACE(member) .offset = offsetof(struct scontrol_options, member)
#define FLAG(member)  .type = OPTION_FLAG, PLACE(member)

static const struct option_spec rows[] = {
    {.name = "all", .letter = 'a', .help = "no effect: nothing is hidden", FLAG(all)},
    {.name = "clusters",
     .letter = 'M',
     .argument = "CLUSTER",
     .help = "this cluster, by its name",
     .type = OPTION_TEXT,
     PLACE(clusters)},
    {.name = "details", .letter = 'd', .help = "show more of a record", FLAG(details)},
    {.name = "federation", .help = "no effect: there is no federation", FLAG(federation)},
    {.name = "future", .letter = 'F', .help = "no effect", FLAG(future)},
    {.name = "hide", .help = "no effect: nothing is hidden", FLAG(hide)},
    {.name = "json", .help = "show jobs, nodes or partitions as JSON", FLAG(json)},
    {.name = "local", .help = "no effect: there is one cluster", FLAG(local)},
    {.name = "oneliner", .letter = 'o', .help = "a line for each record", FLAG(oneline)},
    {.name = "quiet", .letter = 'Q', .help = "print no messages but results", FLAG(quiet)},
    {.name = "sibling", .help = "no effect: there is no federation", FLAG(sibling)},
    {.name = "uid",
     .letter = 'u',
     .argument = "USER",
     .help = "change jobs with the rights of this user (administrators)",
     .type = OPTION_TEXT,
     PLACE(uid)},
    {.name = "verbose", .letter = 'v', .help = "no effect", FLAG(verbose)},
    SLURM_COMMON_OPTIONS,
};

static const struct option_table table = {
    .name = "scontrol",
    .usage = "[OPTION]... [KEYWORD [ARGUMENT]...]",
    .summary = "Show and change jobs, nodes, partitions and reservations. Without a keyword, "
               "commands are read from standard input.",
    OPTION_ROWS(rows),
    .more = "Keywords:\n"
            "  show job|step|node|partition|reservation|config|topology [NAME]\n"
            "  show hostnames|hostlist|hostlistsorted [LIST]\n"
            "  update JobId=N|NodeName=N|PartitionName=N|ReservationName=N FIELD=VALUE...\n"
            "  hold, uhold, release, requeue, requeuehold, suspend, resume JOB...\n"
            "  create reservation FIELD=VALUE..., delete reservation NAME\n"
            "  wait_job JOB, write batch_script JOB [FILE|-], listpids [JOB], ping, version",
};

bool
control_is(const char *text, const char *keyword, size_t least)
{
    const size_t length = strlen(text);

    return length >= least && strncasecmp(text, keyword, length) == 0;
}

/* ---- Small keywords ---- */

static int
version(UNUSED struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    slurm_client_print_version();
    return 0;
}

/* Slurm asks once and does not wait. */
static int
ping(struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    struct json *answer = NULL;
    struct error err = {0};
    const char *server;
    int r;

    c->client->kctl.no_wait = true;
    r = kctl_ask(&c->client->kctl, "/version", c->client->arena, &answer, &err);
    server =
        c->client->kctl.connection != NULL ? connection_server(c->client->kctl.connection) : "";
    printf("Slurmctld(primary) at %s is %s\n", server, r == 0 ? "UP" : "DOWN");
    return r == 0 ? 0 : 1;
}

static int
refuse(struct scontrol *c, const char *words)
{
    slurm_client_error(c->client, "%s", words);
    return 1;
}

static int
reboot(struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    return refuse(c,
                  "Kiln does not reboot nodes: 'kctl drain --wait NODE', and reboot it yourself");
}

static int
daemons(struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    return refuse(c, "Kiln's daemons are controlled on their hosts: systemctl reload or restart "
                     "kiln-controller, kiln-agent");
}

static int
notify(struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    return refuse(c, "Kiln sends no messages to jobs; sbatch --signal warns a job before its end");
}

static int
nothing(UNUSED struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    return 0;
}

/* Machines in front of compute nodes, which some Slurm clusters have. */
static int
show_front_ends(UNUSED struct scontrol *c, int n_words, char **words)
{
    if (n_words == 0) {
        puts("No nodes in the system");
        return 0;
    }
    printf("Node %s not found\n", words[0]);
    return 1;
}

static int
show_licenses(UNUSED struct scontrol *c, UNUSED int n_words, UNUSED char **words)
{
    puts("No licenses configured in Slurm.");
    return 0;
}

static void
print_part(const struct cluster_parts *parts, const struct cluster_part *part)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, inner = STRBUF_INIT;

    hostlist_format(part->nodes, part->n_nodes, 0, &nodes);
    hostlist_format(part->inner, part->n_inner, 0, &inner);
    printf("SwitchName=%s Level=%u LinkSpeed=1 Nodes=%s", part->value,
           parts->n_levels - 1 - part->level, nodes.text);
    if (part->n_inner > 0)
        printf(" Switches=%s", inner.text);
    putchar('\n');
}

/* A name is that of a switch, or of a node, whose switches are shown. */
static int
show_topology(struct scontrol *c, int n_words, char **words)
{
    struct cluster_parts parts;
    struct error err = {0};
    bool is_any = false;

    if (cluster_parts_fetch(&c->client->kctl, c->client->arena, &parts, &err) < 0) {
        slurm_client_error(c->client, "slurm_load_topo error: %s", err.text);
        return 1;
    }
    if (parts.count == 0) {
        slurm_client_error(c->client, "No topology information available");
        return 0;
    }
    for (unsigned level = parts.n_levels; level-- > 0;)
        for (size_t i = 0; i < parts.count; i++) {
            const struct cluster_part *part = &parts.items[i];

            if (part->level != level
                || (n_words > 0 && strcmp(part->value, words[0]) != 0
                    && !cluster_part_has(part, words[0])))
                continue;
            print_part(&parts, part);
            is_any = true;
        }
    if (is_any)
        return 0;
    slurm_client_error(c->client, "Topology information contains no switch or node named %s",
                       words[0]);
    return 1;
}

/* ---- Keywords with an object ---- */

#define NO_SUCH_KEYWORD (-1)

struct keyword {
    const char *name;
    size_t least; /* letters that are enough */
    control_fn *run;
};

static int
run_keyword(struct scontrol *c, const struct keyword *keywords, size_t count, int n_words,
            char **words)
{
    for (size_t i = 0; i < count; i++)
        if (control_is(words[0], keywords[i].name, keywords[i].least))
            return keywords[i].run(c, n_words - 1, words + 1);
    return NO_SUCH_KEYWORD;
}

/* The records of these kinds go to c->json instead of the output. */
static int
show_json(struct scontrol *c, int n_words, char **words)
{
    static const struct keyword keywords[] = {
        {"jobid", 1, control_show_job},
        {"jobs", 1, control_show_job},
        {"nodes", 1, control_show_node},
        {"partitions", 1, control_show_partition},
    };
    const char *name = control_is(words[0], "nodes", 1)        ? "nodes"
                       : control_is(words[0], "partitions", 1) ? "partitions"
                                                               : "jobs";
    int status;

    c->json = json_array(c->client->arena);
    status = run_keyword(c, keywords, ARRAY_SIZE(keywords), n_words, words);
    if (status == NO_SUCH_KEYWORD)
        return refuse(c, "--json: only jobs, nodes and partitions are shown as JSON");
    if (status == 0 || json_count(c->json) > 0)
        slurm_json_print(c->client->arena, name, c->json, false);
    c->json = NULL;
    return status;
}

static int
show(struct scontrol *c, int n_words, char **words)
{
    static const struct keyword keywords[] = {
        {"bbstat", 2, nothing},
        {"burstbuffer", 2, nothing},
        {"config", 1, control_show_config},
        {"daemons", 3, nothing},
        {"dwstat", 2, nothing},
        {"federation", 1, nothing},
        {"frontend", 2, show_front_ends},
        {"hostlistsorted", 9, control_show_hostlist_sorted},
        {"hostlist", 5, control_show_hostlist},
        {"hostnames", 5, control_show_hostnames},
        {"jobid", 1, control_show_job},
        {"jobs", 1, control_show_job},
        {"licenses", 1, show_licenses},
        {"nodes", 1, control_show_node},
        {"nodename", 5, control_show_node},
        {"partitions", 1, control_show_partition},
        {"partitionname", 10, control_show_partition},
        {"reservationname", 12, control_show_reservation},
        {"reservations", 1, control_show_reservation},
        {"steps", 2, control_show_steps},
        {"topology", 1, show_topology},
    };
    char *parts[3] = {NULL};
    char *equals;
    int status;

    if (n_words == 0) {
        fputs("too few arguments for keyword:show\n", stderr);
        return 1;
    }
    if (n_words > 2 && !control_is(words[0], "assoc_mgr", 3)) {
        fputs("too many arguments for keyword:show\n", stderr);
        return 1;
    }
    equals = strchr(words[0], '=');
    if (equals != NULL) { /* show node=n1 */
        parts[0] = arena_strndup(c->client->arena, words[0], (size_t)(equals - words[0]));
        parts[1] = equals + 1;
        words = parts;
        n_words = 2;
    }
    if (c->is_json)
        return show_json(c, n_words, words);
    status = run_keyword(c, keywords, ARRAY_SIZE(keywords), n_words, words);
    if (status != NO_SUCH_KEYWORD)
        return status;
    fprintf(stderr, "invalid entity:%s for keyword:show \n", words[0]);
    return 1;
}

/* "part=two" is "PartitionName=two": three letters are enough. */
static void
complete_names(struct scontrol *c, int n_words, char **words)
{
    static const char *const names[] = {"NodeName", "PartitionName", "ReservationName"};

    for (int i = 0; i < n_words; i++) {
        const size_t length = strcspn(words[i], "=");

        for (size_t k = 0; k < ARRAY_SIZE(names) && words[i][length] == '='; k++)
            if (length >= 3 && strncasecmp(words[i], names[k], length) == 0)
                words[i] = arena_printf(c->client->arena, "%s%s", names[k], words[i] + length);
    }
}

/* Whether the words change a job, of which these names are fields. */
static bool
is_of_job(int n_words, char **words)
{
    for (int i = 0; i < n_words; i++)
        if (strncasecmp(words[i], "jobid=", 6) == 0 || strncasecmp(words[i], "job=", 4) == 0
            || strncasecmp(words[i], "jobname=", 8) == 0)
            return true;
    return n_words > 1 && control_is(words[0], "jobid", 3);
}

static int
update(struct scontrol *c, int n_words, char **words)
{
    if (n_words == 0) {
        fputs("too few arguments for update keyword\n", stderr);
        return 1;
    }
    if (is_of_job(n_words, words))
        return control_is(words[0], "jobid", 3) ? control_update_job(c, n_words - 1, words + 1)
                                                : control_update_job(c, n_words, words);
    complete_names(c, n_words, words);
    for (int i = 0; i < n_words; i++) {
        if (strncasecmp(words[i], "nodename=", 9) == 0)
            return control_update_node(c, n_words, words);
        if (strncasecmp(words[i], "partitionname=", 14) == 0)
            return control_update_partition(c, n_words, words);
        if (strncasecmp(words[i], "reservation", 11) == 0)
            return control_update_reservation(c, n_words, words);
    }
    fputs("No valid entity in update command\n"
          "Input line must include \"NodeName\", \"PartitionName\", \"Reservation\", \"JobId\", or "
          "\"SlurmctldDebug\"\n",
          stderr);
    return 1;
}

/* ---- The command ---- */

static const struct keyword keywords[] = {
    {"abort", 5, daemons},
    {"all", 3, nothing},
    {"cancel_reboot", 3, reboot},
    {"completing", 3, nothing},
    {"create", 1, control_create},
    {"delete", 3, control_delete},
    {"details", 3, nothing},
    {"exit", 1, nothing},
    {"hide", 3, nothing},
    {"hold", 3, control_hold},
    {"holdu", 5, control_uhold},
    {"listpids", 1, control_list_pids},
    {"notify", 1, notify},
    {"oneliner", 1, nothing},
    {"ping", 3, ping},
    {"quiet", 4, nothing},
    {"quit", 4, nothing},
    {"reboot", 3, reboot},
    {"reconfigure", 3, daemons},
    {"release", 3, control_release},
    {"requeuehold", 8, control_requeue_hold},
    {"requeue", 3, control_requeue},
    {"resume", 3, control_resume},
    {"setdebug", 5, daemons},
    {"setdebugflags", 9, daemons},
    {"show", 2, show},
    {"shutdown", 8, daemons},
    {"suspend", 2, control_suspend},
    {"takeover", 8, daemons},
    {"top", 3, control_top},
    {"uhold", 5, control_uhold},
    {"update", 1, update},
    {"verbose", 4, nothing},
    {"version", 4, version},
    {"wait_job", 2, control_wait_job},
    {"write", 5, control_write},
};

static int
run_words(struct scontrol *c, int n_words, char **words)
{
    const int status = run_keyword(c, keywords, ARRAY_SIZE(keywords), n_words, words);

    if (status != NO_SUCH_KEYWORD)
        return status;
    fprintf(stderr, "invalid keyword: %s\n", words[0]);
    return 1;
}

/* Commands of standard input, until its end, or "exit" or "quit". */
static int
run_lines(struct scontrol *c)
{
    char *line = NULL;
    size_t capacity = 0;
    int status = 0;

    for (;;) {
        char **words = NULL;
        size_t count = 0;
        struct error err = {0};

        fputs("scontrol: ", stdout);
        fflush(stdout);
        if (getline(&line, &capacity, stdin) < 0)
            break;
        line[strcspn(line, "\n")] = '\0';
        if (job_script_split(line, c->client->arena, &words, &count, &err) < 0) {
            fprintf(stderr, "%s\n", err.text);
            status = 1;
            continue;
        }
        if (count == 0)
            continue;
        if (control_is(words[0], "exit", 1) || control_is(words[0], "quit", 4))
            break;
        status = run_words(c, (int)count, words);
    }
    free(line);
    return status;
}

static int
scontrol_run(struct slurm_client *client, int argc, char **argv)
{
    struct scontrol_options o = {0};
    const int first = slurm_client_options(client, &table, argc, argv, &o);
    struct scontrol c = {
        .client = client,
        .is_oneline = o.oneline,
        .has_details = o.details,
        .is_quiet = o.quiet,
        .is_json = o.json,
    };
    int status;

    if (!slurm_cluster_is_this(client, o.clusters))
        return 1;
    client->kctl.as_user = o.uid;
    status = first < argc ? run_words(&c, argc - first, argv + first) : run_lines(&c);
    return status != 0 ? status : slurm_client_end(client);
}

const struct slurm_command scontrol_slurm_command = {
    .name = "scontrol",
    .summary = "show and change jobs, nodes, partitions and reservations",
    .run = scontrol_run,
};
