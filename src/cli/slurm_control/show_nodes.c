/* SPDX-License-Identifier: Apache-2.0 */
/* show_nodes.c - scontrol show node, partition, reservation and config */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/node_fields.h"
#include "cli/slurm_tables/node_group.h"
#include "cli/slurm_tables/queue_fetch.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/quantity.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

static const char *
or_else(const char *text, const char *otherwise)
{
    return text != NULL && text[0] != '\0' ? text : otherwise;
}

static int
fail(const char *words, int r, struct error *err)
{
    connection_advise(r, err);
    fprintf(stderr, "%s: %s\n", words, slurm_client_reason(r, err));
    return 1;
}

static const char *
time_of(struct scontrol *c, const char *text, const char *otherwise)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int64_t us;

    if (text == NULL || time_parse(text, &us) < 0)
        return otherwise;
    slurm_time_add(us, &out);
    return arena_strdup(c->client->arena, out.text);
}

/* The summary of all nodes: what is used, their states and partitions. */
static int
fetch_summary(struct scontrol *c, const struct json **ret_nodes, struct error *err)
{
    struct json *answer = NULL;
    int r = kctl_ask(&c->client->kctl, "/kiln/v1/nodes", c->client->arena, &answer, err);

    if (r == 0)
        *ret_nodes = json_get(answer, "nodes");
    return r;
}

/* ---- Nodes ---- */

static unsigned
count_cpus(const char *list)
{
    struct bitset set = {0};

    return list != NULL && cpuset_parse(list, &set, NULL) == 0 ? bitset_count(&set) : 0;
}

/* Kiln's states are of the node as a whole; Slurm joins the load and what an administrator did. */
static const char *
state_of(const struct json *summary)
{
    static const struct {
        const char *ours, *slurms;
    } states[] = {
        {"Idle", "IDLE"},          {"Mixed", "MIXED"},        {"Full", "ALLOCATED"},
        {"Tainted", "IDLE+DRAIN"}, {"Drained", "IDLE+DRAIN"}, {"New", "DOWN"},
        {"Faulty", "IDLE+DRAIN"},  {"Down", "DOWN"},          {"Silent", "DOWN+NOT_RESPONDING"},
        {"Fenced", "DOWN"},
    };
    const char *state = or_else(json_get_text(summary, "state"), "Down");

    if (strcmp(state, "Draining") == 0)
        return json_get_int(summary, "cpusUsed", 0) >= json_get_int(summary, "cpus", 0)
                   ? "ALLOCATED+DRAIN"
                   : "MIXED+DRAIN";
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (strcmp(states[i].ours, state) == 0)
            return states[i].slurms;
    return "UNKNOWN";
}

static const char *
features_of(struct scontrol *c, const struct json *node)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    node_fields_add_features(node, &out);
    return arena_strdup(c->client->arena, out.text);
}

static void
add_node_hardware(struct scontrol *c, struct record_text *t, const struct json *node,
                  const struct json *summary)
{
    const struct json *topology = json_get_path(node, "status.topology");
    const struct json *cores = json_get(topology, "cores");
    const int64_t cpus = json_get_int(summary, "cpus", 0);
    const unsigned all = count_cpus(json_get_text(topology, "cpus"));
    const unsigned sockets = json_count(json_get(topology, "packages"));
    const unsigned n_cores = json_count(cores) > 0 ? json_count(cores) : all;
    const char *arch = json_path_text(node, "status.nodeInfo.architecture");
    const char *host =
        json_path_text(json_at(json_get_path(node, "status.addresses"), 0), "address");

    record_text_add(t, "Arch=%s CoresPerSocket=%u ",
                    arch != NULL && strcmp(arch, "amd64") == 0 ? "x86_64" : or_else(arch, "(null)"),
                    n_cores / (sockets > 0 ? sockets : 1));
    record_text_line(t);
    record_text_add(t, "CPUAlloc=%" PRId64 " CPUEfctv=%" PRId64 " CPUTot=%" PRId64 " CPULoad=N/A",
                    json_get_int(summary, "cpusUsed", 0), cpus, cpus);
    record_text_line(t);
    record_text_add(t, "AvailableFeatures=%s", features_of(c, node));
    record_text_line(t);
    record_text_add(t, "ActiveFeatures=%s", features_of(c, node));
    record_text_line(t);
    if (json_get_int(summary, "gpus", 0) > 0)
        record_text_add(t, "Gres=gpu:%" PRId64, json_get_int(summary, "gpus", 0));
    else
        record_text_add(t, "Gres=(null)");
    record_text_line(t);
    if (c->has_details) {
        record_text_add(t, "GresDrain=N/A");
        record_text_line(t);
        record_text_add(t, "GresUsed=gpu:%" PRId64, json_get_int(summary, "gpusUsed", 0));
        record_text_line(t);
    }
    record_text_add(t, "NodeAddr=%s NodeHostName=%s Port=0 Version=%s", or_else(host, "(null)"),
                    or_else(host, "(null)"), or_else(json_get_text(summary, "agent"), "(null)"));
    record_text_line(t);
    record_text_add(t, "OS=Linux %s ",
                    or_else(json_path_text(node, "status.nodeInfo.kernelVersion"), "(null)"));
    record_text_line(t);
    record_text_add(t,
                    "RealMemory=%" PRId64 " AllocMem=%" PRId64 " FreeMem=N/A Sockets=%u Boards=1",
                    json_get_int(summary, "memory", 0) >> 20,
                    json_get_int(summary, "memoryUsed", 0) >> 20, sockets > 0 ? sockets : 1);
    record_text_line(t);
    record_text_add(t, "State=%s ThreadsPerCore=%u TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A",
                    state_of(summary), n_cores > 0 && all >= n_cores ? all / n_cores : 1);
}

static void
add_tres(struct record_text *t, const char *key, const struct slurm_tres *tres)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    slurm_words_add_tres(tres, &text);
    record_text_line(t);
    record_text_add(t, "%s=%s", key, text.text);
}

static void
print_node(struct scontrol *c, const struct json *node, const struct json *summary)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct record_text t = {.out = &out, .is_oneline = c->is_oneline};
    const char *reason = json_get_text(summary, "reason");
    struct node_group group = {.object = node};
    const char *by = json_get_text(summary, "by");
    const char *at = json_get_text(summary, "since");
    const char *comment =
        json_get_text(json_get_path(node, "metadata.annotations"), ANNOTATION_COMMENT);

    if (c->json != NULL) {
        node_group_add(&group, summary);
        json_append(c->client->arena, c->json, node_fields_json(&group, c->client->arena));
        node_group_fini(&group);
        return;
    }
    record_text_add(&t, "NodeName=%s ", json_get_text(summary, "name"));
    add_node_hardware(c, &t, node, summary);
    record_text_line(&t);
    record_text_add(&t, "Partitions=%s ", or_else(json_get_text(summary, "partition"), ""));
    record_text_line(&t);
    record_text_add(&t, "BootTime=None SlurmdStartTime=None");
    record_text_line(&t);
    record_text_add(&t, "LastBusyTime=Unknown");
    add_tres(&t, "CfgTRES",
             &(struct slurm_tres){
                 .cpus = json_get_int(summary, "cpus", 0),
                 .bytes = json_get_int(summary, "memory", 0),
                 .gpus = json_get_int(summary, "gpus", 0),
                 .has_billing = true,
             });
    add_tres(&t, "AllocTRES",
             &(struct slurm_tres){
                 .cpus = json_get_int(summary, "cpusUsed", 0),
                 .bytes = json_get_int(summary, "memoryUsed", 0),
                 .gpus = json_get_int(summary, "gpusUsed", 0),
             });
    record_text_line(&t);
    record_text_add(&t, "CapWatts=n/a");
    record_text_line(&t);
    record_text_add(&t, "CurrentWatts=0 AveWatts=0");
    record_text_line(&t);
    record_text_add(&t, "ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s");
    if (reason != NULL) {
        record_text_line(&t);
        record_text_add(&t, "Reason=%s [%s@%s]", reason, or_else(by, "root"),
                        time_of(c, at, "Unknown"));
    }
    if (comment != NULL) {
        record_text_line(&t);
        record_text_add(&t, "Comment=%s", comment);
    }
    record_text_end(&t);
    fwrite(out.text, 1, out.length, stdout);
}

static const struct json *
find_named(const struct json *nodes, const char *name)
{
    for (uint32_t i = 0; i < json_count(nodes); i++)
        if (strcmp(or_else(json_get_text(json_at(nodes, i), "name"), ""), name) == 0)
            return json_at(nodes, i);
    return NULL;
}

static int
show_listed_nodes(struct scontrol *c, const struct json *summary, const char *list,
                  struct error *err)
{
    const char **names = NULL;
    size_t count = 0;
    int status = 0;
    int r = hostlist_expand(c->client->arena, list, &names, &count, err);

    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct target_object target = {.kind = &node_kind, .name = names[i]};
        const struct json *found = find_named(summary, names[i]);
        struct json *node = NULL;

        r = kctl_find(&c->client->kctl, &target, c->client->arena, &node, err);
        if (r == 0 && node != NULL && found != NULL) {
            print_node(c, node, found);
        } else if (r == 0) {
            printf("Node %s not found\n", names[i]);
            status = 1;
        }
    }
    return r < 0 ? r : status;
}

static int
show_all_nodes(struct scontrol *c, const struct json *summary, struct error *err)
{
    const struct target_object all = {.kind = &node_kind};
    struct json *nodes = NULL;
    int r = kctl_list(&c->client->kctl, &all, NULL, NULL, c->client->arena, &nodes, err);

    for (uint32_t i = 0; r == 0 && i < json_count(nodes); i++) {
        const char *name = json_path_text(json_at(nodes, i), "metadata.name");
        const struct json *found = find_named(summary, or_else(name, ""));

        if (found != NULL)
            print_node(c, json_at(nodes, i), found);
    }
    return r;
}

int
control_show_node(struct scontrol *c, int n_words, char **words)
{
    const struct json *summary = NULL;
    struct error err = {0};
    int r = fetch_summary(c, &summary, &err);

    if (r == 0)
        r = n_words > 0 ? show_listed_nodes(c, summary, words[0], &err)
                        : show_all_nodes(c, summary, &err);
    return r < 0 ? fail("slurm_load_node error", r, &err) : r;
}

/* ---- Partitions ---- */

static const char *
limit_of(struct scontrol *c, const char *text, const char *otherwise)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    int64_t seconds = 0;

    if (text == NULL || text[0] == '\0' || duration_parse(text, &seconds, NULL) < 0 || seconds == 0)
        return otherwise;
    slurm_time_add_elapsed(seconds, &out);
    return arena_strdup(c->client->arena, out.text);
}

/* "a,b"; "ALL" for an empty list. */
static const char *
names_of(struct scontrol *c, const struct json *list, const char *otherwise)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < json_count(list); i++)
        strbuf_printf(&out, "%s%s", i > 0 ? "," : "", or_else(json_text(json_at(list, i)), ""));
    return out.length > 0 ? arena_strdup(c->client->arena, out.text) : otherwise;
}

static const char *
upper(struct scontrol *c, const char *text)
{
    char *copy = arena_strdup(c->client->arena, text);

    for (char *p = copy; *p != '\0'; p++)
        if (*p >= 'a' && *p <= 'z')
            *p = (char)(*p - 'a' + 'A');
    return copy;
}

static bool
is_in_list(const char *list, const char *name)
{
    const size_t length = strlen(name);

    for (size_t n; *list != '\0'; list += n + (list[n] == ',')) {
        n = strcspn(list, ",");
        if (n == length && strncmp(list, name, n) == 0)
            return true;
    }
    return false;
}

static void
add_nodes(struct scontrol *c, const struct json *summary, const char *partition,
          struct partition_sum *sum)
{
    const char **names = arena_new_array(c->client->arena, const char *, json_count(summary) + 1);
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    size_t n = 0;

    for (uint32_t i = 0; i < json_count(summary); i++) {
        const struct json *node = json_at(summary, i);

        if (!is_in_list(or_else(json_get_text(node, "partition"), ""), partition))
            continue;
        names[n++] = json_get_text(node, "name");
        sum->cpus += json_get_int(node, "cpus", 0);
        sum->bytes += json_get_int(node, "memory", 0);
        sum->gpus += json_get_int(node, "gpus", 0);
    }
    sum->count = (int64_t)n;
    if (n > 0)
        hostlist_format(names, n, 0, &list);
    sum->nodes = n > 0 ? arena_strdup(c->client->arena, list.text) : NULL;
}

static void
print_partition(struct scontrol *c, const struct json *partition, const struct json *summary)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT, tres = STRBUF_INIT;
    struct record_text t = {.out = &out, .is_oneline = c->is_oneline};
    const char *name = or_else(json_path_text(partition, "metadata.name"), "");
    const struct json *spec = json_get(partition, "spec");
    const int64_t most_nodes = json_get_int(spec, "maximumNodes", 0);
    const char *mode = or_else(json_get_text(spec, "preemptionMode"), "Requeue");
    const char *exclusive = or_else(json_get_text(spec, "exclusive"), "");
    struct partition_sum sum = {0};
    int64_t grace = 0;

    if (duration_parse(or_else(json_get_text(spec, "graceTime"), "0"), &grace, NULL) < 0)
        grace = 0;
    add_nodes(c, summary, name, &sum);
    if (c->json != NULL) {
        json_append(c->client->arena, c->json,
                    control_partition_json(partition, &sum, c->client->arena));
        return;
    }
    record_text_add(&t, "PartitionName=%s", name);
    record_text_line(&t);
    record_text_add(&t, "AllowGroups=%s AllowAccounts=%s AllowQos=ALL",
                    names_of(c, json_get(spec, "allowedGroups"), "ALL"),
                    names_of(c, json_get(spec, "allowedAccounts"), "ALL"));
    record_text_line(&t);
    record_text_add(&t, "AllocNodes=ALL Default=%s QoS=N/A",
                    json_is_true(json_get(spec, "isDefault")) ? "YES" : "NO");
    record_text_line(&t);
    record_text_add(
        &t, "DefaultTime=%s DisableRootJobs=NO ExclusiveUser=%s GraceTime=%" PRId64 " Hidden=NO",
        limit_of(c, json_get_text(spec, "defaultTime"), "NONE"),
        strcmp(exclusive, "User") == 0 ? "YES" : "NO", grace);
    record_text_line(&t);
    if (most_nodes > 0)
        record_text_add(&t, "MaxNodes=%" PRId64, most_nodes);
    else
        record_text_add(&t, "MaxNodes=UNLIMITED");
    record_text_add(&t, " MaxTime=%s MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED",
                    limit_of(c, json_get_text(spec, "maximumTime"), "UNLIMITED"));
    record_text_line(&t);
    record_text_add(&t, "Nodes=%s", or_else(sum.nodes, "(null)"));
    record_text_line(&t);
    record_text_add(
        &t, "PriorityJobFactor=1 PriorityTier=%" PRId64 " RootOnly=NO ReqResv=NO OverSubscribe=%s",
        json_get_int(spec, "priorityTier", 1), strcmp(exclusive, "Node") == 0 ? "EXCLUSIVE" : "NO");
    record_text_line(&t);
    record_text_add(&t, "OverTimeLimit=NONE PreemptMode=%s", upper(c, mode));
    record_text_line(&t);
    record_text_add(
        &t, "State=%s TotalCPUs=%" PRId64 " TotalNodes=%" PRId64 " SelectTypeParameters=NONE",
        upper(c, or_else(json_get_text(spec, "state"), "Up")), sum.cpus, sum.count);
    record_text_line(&t);
    record_text_add(&t, "JobDefaults=(null)");
    record_text_line(&t);
    if (or_else(json_get_text(spec, "defaultMemoryPerCPU"), NULL) != NULL)
        record_text_add(&t, "DefMemPerCPU=%" PRId64 " MaxMemPerNode=UNLIMITED",
                        quantity_text_value(json_get_text(spec, "defaultMemoryPerCPU")) >> 20);
    else
        record_text_add(&t, "DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED");
    record_text_line(&t);
    slurm_words_add_tres(
        &(struct slurm_tres){
            .cpus = sum.cpus,
            .bytes = sum.bytes,
            .nodes = sum.count,
            .gpus = sum.gpus,
            .has_billing = true,
        },
        &tres);
    record_text_add(&t, "TRES=%s", or_else(tres.text, "(null)"));
    record_text_end(&t);
    fwrite(out.text, 1, out.length, stdout);
}

int
control_show_partition(struct scontrol *c, int n_words, char **words)
{
    const struct target_object all = {.kind = &partition_kind};
    const struct json *summary = NULL;
    struct json *partitions = NULL;
    struct error err = {0};
    bool is_found = n_words == 0;
    int r = kctl_list(&c->client->kctl, &all, NULL, NULL, c->client->arena, &partitions, &err);

    if (r == 0)
        r = fetch_summary(c, &summary, &err);
    if (r < 0)
        return fail("slurm_load_partitions error", r, &err);
    for (uint32_t i = 0; i < json_count(partitions); i++) {
        const struct json *partition = json_at(partitions, i);
        const char *name = or_else(json_path_text(partition, "metadata.name"), "");

        if (n_words > 0 && !is_in_list(words[0], name))
            continue;
        print_partition(c, partition, summary);
        is_found = true;
    }
    if (is_found)
        return 0;
    printf("Partition %s not found\n", words[0]);
    return 1;
}
