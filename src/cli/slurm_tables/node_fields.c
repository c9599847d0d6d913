/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/node_fields.h"

#include <inttypes.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm_tables/node_group.h"
#include "cli/slurm_tables/slurm_time.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/json/record.h"

#define FEATURE "feature.kiln.hpc/"

#define FIELD(name)                                                  \
    static void add_##name(const void *context, struct strbuf *out); \
    static void add_##name(const void *context, struct strbuf *out)
#define GROUP const struct node_group *g = context
#define FIXED(name, text)                                       \
    static void add_##name(const void *row, struct strbuf *out) \
    {                                                           \
        (void)row;                                              \
        strbuf_add_text(out, text);                             \
    }

FIXED(all, "all")
FIXED(na, "N/A")
FIXED(no, "no")
FIXED(null, "(null)")
FIXED(one, "1")
FIXED(unlimited, "UNLIMITED")
FIXED(zero, "0")
FIXED(version, SLURM_CLIENT_RELEASE)

/* ---- Of the partition ---- */

FIELD(partition)
{
    GROUP;

    strbuf_printf(out, "%s%s", node_group_partition(g), g->is_default ? "*" : "");
}

FIELD(partition_name)
{
    strbuf_add_text(out, node_group_partition(context));
}

FIELD(available)
{
    const char *state = node_group_text(context, "spec.state");

    strbuf_add_text(out, strcasecmp(state, "Down") == 0       ? "down"
                         : strcasecmp(state, "Drain") == 0    ? "drain"
                         : strcasecmp(state, "Inactive") == 0 ? "inact"
                                                              : "up");
}

static void
add_time(const char *text, const char *otherwise, struct strbuf *out)
{
    int64_t seconds = 0;

    if (text[0] == '\0' || duration_parse(text, &seconds, NULL) < 0 || seconds == 0)
        strbuf_add_text(out, otherwise);
    else
        slurm_time_add_length((seconds + 59) / 60 * 60, out);
}

FIELD(limit)
{
    add_time(node_group_text(context, "spec.maximumTime"), "infinite", out);
}

FIELD(default_time)
{
    add_time(node_group_text(context, "spec.defaultTime"), "n/a", out);
}

FIELD(groups)
{
    GROUP;
    const struct json *groups = json_get_path(g->partition, "spec.allowedGroups");

    if (json_count(groups) == 0)
        strbuf_add_text(out, "all");
    for (uint32_t i = 0; i < json_count(groups); i++)
        strbuf_printf(out, "%s%s", i > 0 ? "," : "", json_text(json_at(groups, i)));
}

FIELD(job_size)
{
    GROUP;
    const int64_t most = json_get_int(json_get(g->partition, "spec"), "maximumNodes", 0);

    if (most > 0)
        strbuf_printf(out, most == 1 ? "1" : "1-%" PRId64, most);
    else
        strbuf_add_text(out, "1-infinite");
}

FIELD(sharing)
{
    strbuf_add_text(
        out, strcmp(node_group_text(context, "spec.exclusive"), "Node") == 0 ? "EXCLUSIV" : "NO");
}

FIELD(preemption)
{
    const char *mode = node_group_text(context, "spec.preemptionMode");

    for (const char *at = mode[0] != '\0' ? mode : "Off"; *at != '\0'; at++)
        strbuf_add_char(out, *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at);
}

FIELD(tier)
{
    GROUP;

    strbuf_add_int(out, json_get_int(json_get(g->partition, "spec"), "priorityTier", 1));
}

/* ---- Of its nodes together ---- */

FIELD(count)
{
    GROUP;

    strbuf_add_int(out, g->nodes.total);
}

static void
add_counts(const struct node_counts *n, struct strbuf *out)
{
    strbuf_printf(out, "%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, n->allocated, n->idle,
                  n->other, n->total);
}

FIELD(cpu_counts)
{
    GROUP;

    add_counts(&g->cpus, out);
}

FIELD(node_counts)
{
    GROUP;

    add_counts(&g->nodes, out);
}

FIELD(allocated_and_idle)
{
    GROUP;

    strbuf_printf(out, "%" PRId64 "/%" PRId64, g->nodes.allocated, g->nodes.idle);
}

FIELD(node_list)
{
    GROUP;
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    if (g->n_names > 0)
        hostlist_format(arena_memdup(arena, g->names, g->n_names * sizeof(*g->names)), g->n_names,
                        0, out);
}

/* "8", or "8+" if nodes have more. */
static void
add_range(const struct node_range *range, struct strbuf *out)
{
    strbuf_printf(out, "%" PRId64 "%s", range->least, range->most > range->least ? "+" : "");
}

FIELD(cpus)
{
    GROUP;

    add_range(&g->cpus_of_node, out);
}

FIELD(memory)
{
    GROUP;

    add_range(&g->memory, out);
}

FIELD(memory_used)
{
    GROUP;

    strbuf_add_int(out, g->memory_used.least);
}

/* ---- Of each of its nodes ---- */

FIELD(name)
{
    GROUP;
    const char *name = json_get_text(g->node, "name");

    strbuf_add_text(out, name != NULL ? name : "");
}

FIELD(state_compact)
{
    GROUP;

    strbuf_add_text(out, g->state != NULL ? g->state->compact : "n/a");
}

FIELD(state)
{
    GROUP;

    strbuf_add_text(out, g->state != NULL ? g->state->whole : "n/a");
}

FIELD(state_complete)
{
    GROUP;

    strbuf_add_text(out, g->state != NULL ? g->state->complete : "n/a");
}

/* Nodes that take jobs have no reason, whatever they say. */
static const char *
reason_of(const struct node_group *g)
{
    const char *reason = json_get_text(g->node, "reason");

    return g->state != NULL && !g->state->is_open && reason != NULL ? reason : NULL;
}

FIELD(reason)
{
    const char *reason = reason_of(context);

    strbuf_add_text(out, reason != NULL ? reason : "none");
}

FIELD(since)
{
    GROUP;
    const char *text = json_get_text(g->node, "since");
    int64_t us = 0;

    if (reason_of(g) != NULL && text != NULL && time_parse(text, &us) == 0)
        slurm_time_add(us, out);
    else
        strbuf_add_text(out, "Unknown");
}

FIELD(user)
{
    GROUP;
    const char *by = json_get_text(g->node, "by");

    strbuf_add_text(out, reason_of(g) == NULL ? "Unknown" : by != NULL ? by : "root");
}

FIELD(user_long)
{
    GROUP;
    const char *by = json_get_text(g->node, "by");
    const struct passwd *user;

    if (reason_of(g) == NULL) {
        strbuf_add_text(out, "Unknown");
        return;
    }
    by = by != NULL ? by : "root";
    user = getpwnam(by);
    strbuf_printf(out, "%s(%lld)", by, user != NULL ? (long long)user->pw_uid : 0);
}

FIELD(gres)
{
    GROUP;
    const int64_t gpus = json_get_int(g->node, "gpus", 0);

    if (gpus > 0)
        strbuf_printf(out, "gpu:%" PRId64, gpus);
    else
        strbuf_add_text(out, "(null)");
}

FIELD(gres_used)
{
    GROUP;

    if (json_get_int(g->node, "gpus", 0) > 0)
        strbuf_printf(out, "gpu:%" PRId64, json_get_int(g->node, "gpusUsed", 0));
    else
        strbuf_add_text(out, "(null)");
}

void
node_fields_add_features(const struct json *node, struct strbuf *out)
{
    const struct json *labels = json_get_path(node, "metadata.labels");
    const size_t before = out->length;

    for (uint32_t i = 0; i < json_count(labels); i++) {
        const char *label = labels->members[i].name;

        if (strncmp(label, FEATURE, strlen(FEATURE)) == 0)
            strbuf_printf(out, "%s%s", out->length > before ? "," : "", label + strlen(FEATURE));
    }
    if (out->length == before)
        strbuf_add_text(out, "(null)");
}

FIELD(comment)
{
    GROUP;
    const char *comment =
        json_get_text(json_get_path(g->object, "metadata.annotations"), ANNOTATION_COMMENT);

    strbuf_add_text(out, comment != NULL ? comment : "(null)");
}

FIELD(features)
{
    GROUP;

    node_fields_add_features(g->object, out);
}

struct node_shape {
    size_t sockets, cores, threads; /* cores of a socket, threads of a core */
};

static struct node_shape
shape_of(const struct node_group *g)
{
    const struct json *tree = json_get_path(g->object, "status.topology");
    struct topology *topology = NULL;
    struct node_shape shape = {1, 1, 1};
    const size_t cpus = (size_t)json_get_int(g->node, "cpus", 1);

    if (tree == NULL || topology_decode(tree, &topology, NULL) < 0) {
        shape.cores = cpus;
        return shape;
    }
    shape.sockets = topology->n_packages > 0 ? topology->n_packages : 1;
    shape.cores = topology->n_cores > 0 ? topology->n_cores : cpus;
    shape.threads = shape.cores > 0 && cpus > shape.cores ? cpus / shape.cores : 1;
    shape.cores /= shape.sockets;
    topology_free(topology);
    return shape;
}

FIELD(sockets)
{
    strbuf_add_int(out, (int64_t)shape_of(context).sockets);
}

FIELD(cores)
{
    strbuf_add_int(out, (int64_t)shape_of(context).cores);
}

FIELD(threads)
{
    strbuf_add_int(out, (int64_t)shape_of(context).threads);
}

FIELD(shape)
{
    const struct node_shape shape = shape_of(context);

    strbuf_printf(out, "%zu:%zu:%zu", shape.sockets, shape.cores, shape.threads);
}

FIELD(cluster)
{
    add_na(context, out);
}

/* clang-format off */
static const struct output_column columns[] = {
    {0, "AllocMem", "ALLOCMEM", add_memory_used, 0},
    {'S', "AllocNodes", "ALLOCNODES", add_all, 0},
    {'a', "Available", "AVAIL", add_available, 0},
    {'V', "Cluster", "CLUSTER", add_cluster, 0},
    {0, "Comment", "COMMENT", add_comment, 0},
    {'Y', "Cores", "CORES", add_cores, 0},
    {'c', "CPUs", "CPUS", add_cpus, 0},
    {'O', "CPUsLoad", "CPU_LOAD", add_na, 0},
    {'C', "CPUsState", "CPUS(A/I/O/T)", add_cpu_counts, 0},
    {'L', "DefaultTime", "DEFAULTTIME", add_default_time, 0},
    {'d', "Disk", "TMP_DISK", add_zero, 0},
    {0, "Extra", "EXTRA", add_null, 0},
    {'f', "Features", "AVAIL_FEATURES", add_features, 0},
    {'b', "features_act", "ACTIVE_FEATURES", add_features, 0},
    {'e', "FreeMem", "FREE_MEM", add_na, 0},
    {'G', "Gres", "GRES", add_gres, 0},
    {0, "GresUsed", "GRES_USED", add_gres_used, 0},
    {'g', "Groups", "GROUPS", add_groups, 0},
    {'B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", add_unlimited, 0},
    {'m', "Memory", "MEMORY", add_memory, 0},
    {'o', "NodeAddr", "NODE_ADDR", add_name, 0},
    {'A', "NodeAI", "NODES(A/I)", add_allocated_and_idle, 0},
    {'F', "NodeAIOT", "NODES(A/I/O/T)", add_node_counts, 0},
    {'n', "NodeHost", "HOSTNAMES", add_name, 0},
    {'N', "NodeList", "NODELIST", add_node_list, 0},
    {'D', "Nodes", "NODES", add_count, 0},
    {'h', "OverSubscribe", "OVERSUBSCRIBE", add_sharing, 0},
    {'P', "Partition", "PARTITION", add_partition, 0},
    {'R', "PartitionName", "PARTITION", add_partition_name, 0},
    {0, "Port", "PORT", add_na, 0},
    {'M', "PreemptMode", "PREEMPT_MODE", add_preemption, 0},
    {'I', "PriorityJobFactor", "PRIO_JOB_FACTOR", add_one, 0},
    {'p', "PriorityTier", "PRIO_TIER", add_tier, 0},
    {'E', "Reason", "REASON", add_reason, 0},
    {'r', "Root", "ROOT", add_no, 0},
    {0, "Share", "OVERSUBSCRIBE", add_sharing, 0},
    {'s', "Size", "JOB_SIZE", add_job_size, 0},
    {'z', "SocketCoreThread", "S:C:T", add_shape, 0},
    {'X', "Sockets", "SOCKETS", add_sockets, 0},
    {0, "State", "STATE", add_state, 0},
    {'t', "StateCompact", "STATE", add_state_compact, 0},
    {0, "StateComplete", "STATECOMPLETE", add_state_complete, 0},
    {'T', "StateLong", "STATE", add_state, 0},
    {'Z', "Threads", "THREADS", add_threads, 0},
    {'l', "Time", "TIMELIMIT", add_limit, 0},
    {'H', "TimeStamp", "TIMESTAMP", add_since, 0},
    {'u', "User", "USER", add_user, 0},
    {'U', "UserLong", "USER", add_user_long, 0},
    {'v', "Version", "VERSION", add_version, 0},
    {'w', "Weight", "WEIGHT", add_one, 0},
};
/* clang-format on */

const struct output_columns node_fields = {columns, ARRAY_SIZE(columns)};

bool
node_fields_separates(const struct output_column *column, bool is_exact)
{
    static output_add_fn *const sums[] = {
        add_count, add_cpu_counts, add_node_counts, add_allocated_and_idle, add_node_list, add_all,
    };
    static output_add_fn *const exact[] = {
        add_cpus, add_memory, add_memory_used, add_shape, add_sockets, add_cores, add_threads,
    };

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
        if (sums[i] == column->add)
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(exact); i++)
        if (exact[i] == column->add)
            return is_exact;
    return true;
}

bool
node_fields_needs_object(const struct output_column *column)
{
    return column->add == add_features || column->add == add_comment || column->add == add_shape
           || column->add == add_sockets || column->add == add_cores || column->add == add_threads;
}

static void
set_text(struct arena *arena, struct json *out, const char *name, output_add_fn *add,
         const struct node_group *g)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    add(g, &text);
    json_set_string(arena, out, name, strcmp(text.text, "(null)") == 0 ? "" : text.text);
}

/* The values that Kiln does not know of a node, as Slurm shows it then. */
static void
set_unknown(struct arena *arena, struct json *out)
{
    static const char *const empty[] = {"burstbuffer_network_address", "comment", "extra",
                                        "mcs_label"};
    static const char *const none[] = {"cpu_load", "free_memory", "owner"};
    static const char *const zero[] = {"boot_time", "cpu_binding",       "last_busy",
                                       "port",      "slurmd_start_time", "tres_weighted"};

    for (size_t i = 0; i < ARRAY_SIZE(empty); i++)
        json_set_string(arena, out, empty[i], "");
    for (size_t i = 0; i < ARRAY_SIZE(none); i++)
        json_set(arena, out, none[i], json_null(arena));
    for (size_t i = 0; i < ARRAY_SIZE(zero); i++)
        json_set_int(arena, out, zero[i], 0);
    json_set_string(arena, out, "gres_drained", "N/A");
    json_set_string(arena, out, "next_state_after_reboot", "invalid");
    json_set(arena, out, "next_state_after_reboot_flags", json_array(arena));
}

static void
set_system(const struct node_group *g, struct arena *arena, struct json *out)
{
    const struct json *info = json_get_path(g->object, "status.nodeInfo");
    const char *arch = json_get_text(info, "architecture");
    const char *kernel = json_get_text(info, "kernelVersion");

    json_set_string(arena, out, "architecture",
                    arch != NULL && strcmp(arch, "amd64") == 0 ? "x86_64"
                    : arch != NULL                             ? arch
                                                               : "");
    json_set_string(arena, out, "operating_system",
                    kernel != NULL ? arena_printf(arena, "Linux %s", kernel) : "");
}

static void
set_tres(const struct node_group *g, struct arena *arena, struct json *out)
{
    CLEANUP_STRBUF struct strbuf all = STRBUF_INIT, used = STRBUF_INIT;

    slurm_words_add_tres(
        &(struct slurm_tres){
            .cpus = g->cpus.total,
            .bytes = json_get_int(g->node, "memory", 0),
            .gpus = json_get_int(g->node, "gpus", 0),
            .has_billing = true,
        },
        &all);
    slurm_words_add_tres(
        &(struct slurm_tres){
            .cpus = g->cpus.allocated,
            .bytes = json_get_int(g->node, "memoryUsed", 0),
            .gpus = json_get_int(g->node, "gpusUsed", 0),
        },
        &used);
    json_set_string(arena, out, "tres", all.text);
    json_set(arena, out, "tres_used",
             used.length > 0 ? json_string(arena, used.text) : json_null(arena));
}

struct json *
node_fields_json(const struct node_group *g, struct arena *arena)
{
    struct json *out = json_object(arena), *flags = json_array(arena);
    struct json *partitions = json_array(arena);
    const char *list = json_get_text(g->node, "partition");
    const char *since = json_get_text(g->node, "since");
    const struct node_shape shape = shape_of(g);
    int64_t us = 0;

    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        json_append(arena, partitions, json_string_n(arena, list, length));
    }
    set_text(arena, out, "name", add_name, g);
    set_text(arena, out, "hostname", add_name, g);
    set_text(arena, out, "address", add_name, g);
    json_set_int(arena, out, "cpus", g->cpus.total);
    json_set_int(arena, out, "boards", 1);
    json_set_int(arena, out, "sockets", (int64_t)shape.sockets);
    json_set_int(arena, out, "cores", (int64_t)shape.cores);
    json_set_int(arena, out, "threads", (int64_t)shape.threads);
    json_set_int(arena, out, "real_memory", g->memory.sum);
    json_set_int(arena, out, "alloc_memory", g->memory_used.sum);
    json_set_int(arena, out, "alloc_cpus", g->cpus.allocated);
    json_set_int(arena, out, "idle_cpus", g->cpus.total - g->cpus.allocated);
    if (json_get_path(g->object, "metadata.annotations") != NULL
        && json_get_text(json_get_path(g->object, "metadata.annotations"), ANNOTATION_COMMENT)
               != NULL)
        set_text(arena, out, "comment", add_comment, g);
    set_text(arena, out, "features", add_features, g);
    set_text(arena, out, "active_features", add_features, g);
    set_text(arena, out, "gres", add_gres, g);
    set_text(arena, out, "gres_used", add_gres_used, g);
    json_set(arena, out, "partitions", partitions);
    json_set_string(arena, out, "state",
                    strcmp(g->state->whole, "down*") == 0 ? "down"
                    : g->state->is_open                   ? g->state->whole
                    : g->state->is_allocated              ? "mixed"
                    : g->state->order > 16                ? "idle"
                                                          : "down");
    if (!g->state->is_responding)
        json_append(arena, flags, json_string(arena, "NOT_RESPONDING"));
    else if (!g->state->is_open && g->state->order > 16)
        json_append(arena, flags, json_string(arena, "DRAIN"));
    json_set(arena, out, "state_flags", flags);
    json_set_string(arena, out, "reason", reason_of(g) != NULL ? reason_of(g) : "");
    if (reason_of(g) != NULL && since != NULL)
        (void)time_parse(since, &us);
    json_set_int(arena, out, "reason_changed_at", us / 1000000);
    json_set_string(arena, out, "reason_set_by_user",
                    reason_of(g) != NULL && json_get_text(g->node, "by") != NULL
                        ? json_get_text(g->node, "by")
                        : "");
    set_unknown(arena, out);
    set_system(g, arena, out);
    set_tres(g, arena, out);
    json_set_int(arena, out, "temporary_disk", 0);
    json_set_int(arena, out, "weight", 1);
    json_set_string(arena, out, "slurmd_version", SLURM_CLIENT_RELEASE);
    return out;
}
