/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/job_table_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object/table.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define MOST_BYTES 60

/* The nodes that its pods have, or had if it has ended. */
void
job_table_nodes_add(struct job_table_nodes *nodes, const struct job *job, const struct pod *pod)
{
    if (pod->spec.node_name == NULL || pod->spec.node_name[0] == '\0'
        || (pod_is_finished(pod) && !job_is_finished(job)))
        return;
    xgrow(nodes->names, nodes->count, nodes->capacity);
    nodes->names[nodes->count++] = pod->spec.node_name;
}

static size_t
remove_equal(const char **names, size_t count)
{
    size_t kept = 0;

    if (count > 0)
        qsort(names, count, sizeof(*names), hostlist_compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(names[i], names[kept - 1]) != 0)
            names[kept++] = names[i];
    return kept;
}

/* The group of the attempt that ran last: that of the first has the job's name, another
 * "job-5-r1", and its pods "job-5-0-r1".
 */
static const char *
group_name(const struct table_row *row)
{
    const struct job_run *run = job_of(row->object)->status.last_run;
    const char *attempt = run != NULL && run->pod_name != NULL ? strrchr(run->pod_name, '-') : NULL;

    return attempt != NULL && attempt[1] == 'r'
               ? arena_printf(row->arena, "%s%s", row->object->meta->name, attempt)
               : row->object->meta->name;
}

/* Those of its group; 0: none are recorded. */
static size_t
read_recorded(const struct table_row *row, const char ***ret_names)
{
    const struct object *job = row->object, *group = NULL;
    const char *text = NULL;
    size_t count;

    if (job_of(job)->spec.scheduling != NULL && job_is_finished(job_of(job)))
        group = table_find(row, &pod_group_kind, job->meta->namespace, group_name(row));
    if (group != NULL && meta_is_controlled_by(group->meta, job))
        text = json_get_text(json_get(object_tree(group, row->arena), "status"), "nodes");
    return text != NULL && hostlist_expand(row->arena, text, ret_names, &count, NULL) == 0 ? count
                                                                                           : 0;
}

const char *
job_table_nodes_take(struct job_table_nodes *nodes, const struct table_row *row, size_t *ret_count)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const size_t count = remove_equal(nodes->names, nodes->count);
    const char **recorded = NULL;
    const size_t n_recorded = read_recorded(row, &recorded);

    if (n_recorded > count)
        hostlist_format(recorded, n_recorded, MOST_BYTES, &list);
    else if (count > 0)
        hostlist_format(nodes->names, count, MOST_BYTES, &list);
    *ret_count = n_recorded > count ? n_recorded : count;
    free(nodes->names);
    *nodes = (struct job_table_nodes){.names = NULL};
    return list.length > 0 ? arena_strdup(row->arena, list.text) : NULL;
}
