/* SPDX-License-Identifier: Apache-2.0 */
/* show_job_nodes.c - what a job holds on each of its nodes, for scontrol -d show job */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/job_pods.h"
#include "cli/kctl/client/kctl.h"
#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/record_text.h"
#include "cli/slurm_control/scontrol.h"
#include "cli/slurm_tables/queue_row.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/value/cpuset.h"
#include "lib/api/value/hostlist.h"
#include "lib/api/value/task_list.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

struct node_share {
    const char *node, *cpus, *gres;
};

static int
fetch(struct scontrol *c, const struct queue_row *row, struct json **ret_pods, struct error *err)
{
    const struct target_object job = {
        .kind = &job_kind,
        .namespace = json_path_text(row->object, "metadata.namespace"),
        .name = json_path_text(row->object, "metadata.name"),
    };
    const char *tasks = json_path_text(row->object, "spec.array.tasks");
    struct task_list list;

    if (row->task < 0 || tasks == NULL || task_list_parse(c->client->arena, tasks, &list, NULL) < 0)
        return job_pods(&c->client->kctl, &job, c->client->arena, ret_pods, err);
    return job_pods_of_index(&c->client->kctl, &job, task_list_index(&list, row->task),
                             c->client->arena, ret_pods, err);
}

static int64_t
attempt_of(const struct json *pod)
{
    const char *text =
        json_get_text(json_get_path(pod, "metadata.annotations"), ANNOTATION_ATTEMPT);

    return text != NULL ? atoll(text) : 0;
}

/* "gpu:a100:2(IDX:0-1)": the node's topology names them gpu0, gpu1, ... */
static const char *
gres_of(const struct json *pod, const char *model, struct arena *arena)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const struct json *devices = json_get_path(pod, "status.allocation.devices");
    struct bitset places = {0};
    int64_t count = 0;

    for (uint32_t i = 0; i < json_count(devices); i++) {
        const char *name = json_text(json_at(devices, i));

        if (name == NULL || strncmp(name, "gpu", 3) != 0)
            continue;
        count++;
        if (name[3] >= '0' && name[3] <= '9')
            bitset_add(&places, (unsigned)atoi(name + 3) % BITSET_BITS);
    }
    if (count > 0)
        cpuset_format(&places, &list);
    return count == 0
               ? ""
               : arena_printf(arena, "gpu:%s%s%" PRId64 "(IDX:%s)", model != NULL ? model : "",
                              model != NULL ? ":" : "", count, list.length > 0 ? list.text : "");
}

static int
compare(const void *a, const void *b)
{
    return strverscmp(((const struct node_share *)a)->node, ((const struct node_share *)b)->node);
}

/* Of the last attempt; those of an earlier one may still be there. */
static size_t
find_parts(struct scontrol *c, const struct queue_row *row, struct json *pods,
           struct node_share *parts)
{
    const char *model = NULL;
    int64_t last = 0;
    size_t count = 0;

    (void)queue_row_gpus(row, &model);
    for (uint32_t i = 0; i < json_count(pods); i++)
        if (attempt_of(json_at(pods, i)) > last)
            last = attempt_of(json_at(pods, i));
    for (uint32_t i = 0; i < json_count(pods); i++) {
        const struct json *pod = json_at(pods, i);
        const char *node = json_path_text(pod, "spec.nodeName");
        const char *cpus = json_path_text(pod, "status.allocation.cpus");

        if (attempt_of(pod) == last && node != NULL && node[0] != '\0')
            parts[count++] = (struct node_share){
                .node = node,
                .cpus = cpus != NULL ? cpus : "(null)", /* of the shared pool */
                .gres = gres_of(pod, model, c->client->arena),
            };
    }
    if (count > 1)
        qsort(parts, count, sizeof(*parts), compare);
    return count;
}

/* Nodes beside each other that have the same share a line. */
void
control_add_job_nodes(struct scontrol *c, const struct queue_row *row, struct record_text *out)
{
    struct arena *arena = c->client->arena;
    struct error err = {0};
    struct json *pods = NULL;
    struct node_share *parts;
    const char **names;
    size_t count = 0;

    if (fetch(c, row, &pods, &err) < 0)
        slurm_client_error(c->client, "the CPUs of job %" PRId64 " are not known: %s", row->id,
                           err.text);
    parts = arena_new_array(arena, struct node_share, json_count(pods) + 1);
    names = arena_new_array(arena, const char *, json_count(pods) + 1);
    count = find_parts(c, row, pods, parts);
    for (size_t i = 0, first = 0; i < count; i++) {
        CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT;

        names[i - first] = parts[i].node;
        if (i + 1 < count && strcmp(parts[i].cpus, parts[i + 1].cpus) == 0
            && strcmp(parts[i].gres, parts[i + 1].gres) == 0)
            continue;
        hostlist_format(names, i + 1 - first, 0, &nodes);
        record_text_add(out, "  Nodes=%s CPU_IDs=%s Mem=%" PRId64 " GRES=%s", nodes.text,
                        parts[i].cpus, queue_row_memory(row) >> 20, parts[i].gres);
        record_text_line(out);
        first = i + 1;
    }
}
