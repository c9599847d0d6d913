/* SPDX-License-Identifier: Apache-2.0 */
/* Programs look at SLURM_* and at variables of MPI, OpenMP and GPUs that the agent has set for
 * the job. A step has other numbers than its job, so these are set anew for the step, but only
 * as far as they still have the value of the agent: what a user has changed is left alone.
 */
#include "lib/step/step_environment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/api/node/gpu_vendor.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/bitset.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_layout.h"
#include "lib/step/step_request.h"

/* The last occurrence of a name counts, as it would for getenv() after putenv(). */
struct variable_list {
    char **items;
    unsigned count, capacity;
};

struct step_environment {
    struct arena *arena;
    const struct step_request *request;
    const struct step_layout *layout;
    const struct step_layout_node *node;
    unsigned node_index;
    bool has_slurm_names, has_pmi, has_pmix;
    struct variable_list common;
};

#define PID_NAME "SLURM_TASK_PID="
#define PID_ROOM "0000000000"

static void
add(struct step_environment *e, struct variable_list *list, char *item)
{
    if (list->count == list->capacity) {
        char **longer;

        list->capacity = list->capacity > 0 ? list->capacity * 2 : 64;
        longer = arena_new_array(e->arena, char *, list->capacity);
        if (list->count > 0)
            memcpy(longer, list->items, list->count * sizeof(*longer));
        list->items = longer;
    }
    list->items[list->count++] = item;
}

static char **
find(const struct variable_list *list, const char *name, size_t length)
{
    for (unsigned i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=')
            return &list->items[i];
    return NULL;
}

static const char *
find_value(const struct variable_list *list, const char *name)
{
    char **place = find(list, name, strlen(name));

    return place != NULL ? *place + strlen(name) + 1 : NULL;
}

static void
put(struct step_environment *e, struct variable_list *list, const char *name, const char *value)
{
    char *item = arena_printf(e->arena, "%s=%s", name, value);
    char **place = find(list, name, strlen(name));

    if (place != NULL)
        *place = item;
    else
        add(e, list, item);
}

static void
put_number(struct step_environment *e, struct variable_list *list, const char *name, int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, n);
    put(e, list, name, text);
}

/* Both names of a number or text. */
static void
put_both(struct step_environment *e, struct variable_list *list, const char *name,
         const char *value)
{
    CLEANUP_FREE char *ours = xasprintf("KILN_%s", name), *theirs = xasprintf("SLURM_%s", name);

    put(e, list, ours, value);
    if (e->has_slurm_names)
        put(e, list, theirs, value);
}

static void
put_both_numbers(struct step_environment *e, struct variable_list *list, const char *name,
                 int64_t n)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, n);
    put_both(e, list, name, text);
}

/* --- of all tasks ----------------------------------------------------------
 */

static void
add_slurm_step(struct step_environment *e, const char *step_id, const char *tasks)
{
    const struct step_request *q = e->request;
    const struct step_layout *l = e->layout;
    struct variable_list *v = &e->common;
    CLEANUP_STRBUF struct strbuf ranks = STRBUF_INIT;
    char mask[16];

    for (unsigned i = 0; i < e->node->n_tasks; i++)
        strbuf_printf(&ranks, "%s%u", i > 0 ? "," : "", e->node->tasks[i]);
    snprintf(mask, sizeof(mask), "%04o", (unsigned)q->umask);
    put(e, v, "SLURM_STEPID", step_id);
    put(e, v, "SLURM_GTIDS", ranks.text != NULL ? ranks.text : "");
    put_number(e, v, "SLURM_STEP_NUM_NODES", l->n_nodes);
    put(e, v, "SLURM_STEP_TASKS_PER_NODE", tasks);
    put(e, v, "SLURM_TASKS_PER_NODE", tasks);
    put_number(e, v, "SLURM_NNODES", l->n_nodes);
    put_number(e, v, "SLURM_NTASKS", l->n_tasks);
    put_number(e, v, "SLURM_NPROCS", l->n_tasks);
    if (q->tasks_per_node > 0)
        put_number(e, v, "SLURM_NTASKS_PER_NODE", q->tasks_per_node);
    if (q->cpus_per_task > 0)
        put_number(e, v, "SLURM_CPUS_PER_TASK", q->cpus_per_task);
    put(e, v, "SLURM_DISTRIBUTION", q->distribution != NULL ? q->distribution : "block");
    put(e, v, "SLURM_UMASK", mask);
    put(e, v, "SLURMD_NODENAME", e->node->name);
    put(e, v, "SLURM_TOPOLOGY_ADDR", e->node->name);
    put(e, v, "SLURM_TOPOLOGY_ADDR_PATTERN", "node");
    put_number(e, v, "SLURM_CPUS_ON_NODE", bitset_count(&e->node->cpus));
}

static void
add_step(struct step_environment *e, const char *step_id)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, tasks = STRBUF_INIT, cpus = STRBUF_INIT;
    struct variable_list *v = &e->common;

    step_layout_format_nodes(e->layout, &nodes);
    step_layout_format_tasks(e->layout, &tasks);
    cpuset_format(&e->node->cpus, &cpus);
    put_both(e, v, "STEP_ID", step_id);
    put_both(e, v, "STEP_NODELIST", nodes.text);
    put_both_numbers(e, v, "STEP_NUM_TASKS", e->layout->n_tasks);
    put_both_numbers(e, v, "NODEID", e->node_index);
    put(e, v, "KILN_NODE_NAME", e->node->name);
    if (e->has_slurm_names)
        add_slurm_step(e, step_id, tasks.text);
}

/* The job has variables for its own -c. Tasks of a step with another number should start
 * as many threads as they have CPUs.
 */
static void
fit_threads(struct step_environment *e)
{
    struct variable_list *v = &e->common;
    const char *threads = find_value(v, "OMP_NUM_THREADS");
    const char *per_task = find_value(v, "KILN_CPUS_PER_TASK");
    const unsigned cpus = e->layout->cpus_per_task;

    if (cpus == 0 || per_task == NULL)
        return;
    if (threads != NULL && strcmp(threads, per_task) == 0)
        put_number(e, v, "OMP_NUM_THREADS", cpus);
    put_both_numbers(e, v, "CPUS_PER_TASK", cpus);
}

/* A krun in a task of a step has those of the outer step. */
static bool
is_of_pmi(const char *name)
{
    return strcmp(name, "PMI_FD") == 0 || strcmp(name, "PMI_RANK") == 0
           || strcmp(name, "PMI_SIZE") == 0 || strcmp(name, "JSM_JSRUN_PORT") == 0
           || (strncmp(name, "PMIX_", strlen("PMIX_")) == 0
               && strncmp(name, "PMIX_MCA_", strlen("PMIX_MCA_")) != 0);
}

struct step_environment *
step_environment_new(struct arena *arena, const struct step_request *request,
                     const struct step_layout *layout, unsigned node, const char *step_id)
{
    struct step_environment *e = arena_alloc(arena, sizeof(*e));
    CLEANUP(map_freep) struct map *seen = map_new();

    *e = (struct step_environment){
        .arena = arena,
        .request = request,
        .layout = layout,
        .node = &layout->nodes[node],
        .node_index = node,
        .has_slurm_names = step_request_variable(request, "SLURM_JOB_ID") != NULL,
    };
    for (unsigned i = 0; i < request->environment.count; i++) {
        char *item = arena_strdup(arena, request->environment.items[i]);
        const char *name = arena_strndup(arena, item, strcspn(item, "="));

        if (is_of_pmi(name))
            continue;
        if (map_find(seen, name) == NULL) {
            add(e, &e->common, item);
            map_put(seen, name, (void *)(uintptr_t)e->common.count);
        } else {
            e->common.items[(uintptr_t)map_find(seen, name) - 1] = item;
        }
    }
    add_step(e, step_id);
    fit_threads(e);
    return e;
}

void
step_environment_set_pmi(struct step_environment *e, int fd)
{
    e->has_pmi = true;
    put_number(e, &e->common, "PMI_FD", fd);
    put_number(e, &e->common, "PMI_SIZE", e->layout->n_tasks);
}

void
step_environment_set_pmix(struct step_environment *e)
{
    e->has_pmix = true;
}

void
step_environment_set(struct step_environment *e, const char *name, const char *value)
{
    put(e, &e->common, name, value);
}

/* --- of one task -----------------------------------------------------------
 */

static unsigned
count_items(const char *list)
{
    unsigned n = *list != '\0' ? 1 : 0;

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

/* The items of a list that stand at the places of the set. */
static void
choose_items(const char *list, const struct bitset *places, struct strbuf *out)
{
    for (unsigned i = 0; *list != '\0'; i++) {
        const size_t length = strcspn(list, ",");

        if (bitset_has(places, i)) {
            strbuf_add_text(out, out->length > 0 ? "," : "");
            strbuf_add(out, list, length);
        }
        list += length + (list[length] == ',');
    }
}

/* The agent has set a variable of GPUs to the job's, in the order of their places. If
 * the user has changed it, so that it does not have them, it stays. `own` is the
 * variable with those of the task.
 */
static void
choose_listed(struct step_environment *e, struct variable_list *v, const struct bitset *gpus,
              const char *name, const char *own)
{
    CLEANUP_STRBUF struct strbuf chosen = STRBUF_INIT;
    const char *list = find_value(v, name);
    unsigned needed = 0;

    bitset_foreach(gpu, gpus) needed = gpu + 1;
    if (list == NULL || count_items(list) < needed)
        return;
    choose_items(list, gpus, &chosen);
    put(e, v, own, chosen.text);
}

static void
choose_gpus(struct step_environment *e, struct variable_list *v, const struct bitset *gpus)
{
    for (unsigned i = 0; i < GPU_VENDOR_COUNT; i++)
        choose_listed(e, v, gpus, gpu_vendors[i].variable, gpu_vendors[i].variable);
    choose_listed(e, v, gpus, "SLURM_JOB_GPUS", "SLURM_STEP_GPUS");
    if (e->has_slurm_names)
        put_number(e, v, "SLURM_GPUS_ON_NODE", bitset_count(gpus));
}

/* With gpus_per_task, the n-th task has the n-th part of the step's GPUs. */
static struct bitset
find_gpus(const struct step_environment *e, unsigned local)
{
    const int64_t each = e->request->gpus_per_task;
    struct bitset set = {0};
    int64_t place = 0;

    if (each == 0)
        return e->node->gpus;
    bitset_foreach(gpu, &e->node->gpus)
    {
        if (place / each == local)
            bitset_add(&set, gpu);
        place++;
    }
    return set;
}

/* Only a job of one task, which asked for it, has thread places that the agent set. */
static void
put_cpus(struct step_environment *e, struct variable_list *v, const struct bitset *cpus)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;
    const char *places = find_value(v, "GOMP_CPU_AFFINITY");
    const char *job = find_value(v, "KILN_CPUS");
    bool is_places;

    if (job == NULL)
        return;
    is_places = places != NULL && strcmp(places, job) == 0;
    cpuset_format(cpus, &list);
    put(e, v, "KILN_CPUS", list.text);
    put_number(e, v, "KILN_CPUS_ON_NODE", bitset_count(&e->node->cpus));
    if (is_places)
        put(e, v, "GOMP_CPU_AFFINITY", list.text);
}

char **
step_environment_of_task(struct step_environment *e, unsigned local, const struct bitset *cpus)
{
    struct variable_list v = {.capacity = e->common.count + 16};
    const struct bitset gpus = find_gpus(e, local);

    v.items = arena_new_array(e->arena, char *, v.capacity);
    memcpy(v.items, e->common.items, e->common.count * sizeof(*v.items));
    v.count = e->common.count;
    put_both_numbers(e, &v, "PROCID", e->node->tasks[local]);
    put_both_numbers(e, &v, "LOCALID", local);
    if (e->has_pmi)
        put_number(e, &v, "PMI_RANK", e->node->tasks[local]);
    if (e->has_pmix)
        put_number(e, &v, "PMIX_RANK", e->node->tasks[local]);
    if (cpus != NULL && !bitset_is_empty(cpus))
        put_cpus(e, &v, cpus);
    if (!bitset_is_empty(&gpus))
        choose_gpus(e, &v, &gpus);
    if (e->has_slurm_names)
        put(e, &v, "SLURM_TASK_PID", PID_ROOM);
    add(e, &v, NULL);
    return v.items;
}

void
step_environment_put_pid(char **variables, pid_t pid)
{
    const size_t length = sizeof(PID_NAME) - 1;

    for (; *variables != NULL; variables++) {
        char digits[sizeof(PID_ROOM)];
        size_t n = 0;

        if (strncmp(*variables, PID_NAME, length) != 0)
            continue;
        for (unsigned rest = (unsigned)pid; (rest > 0 || n == 0) && n < sizeof(digits) - 1;
             rest /= 10)
            digits[n++] = (char)('0' + rest % 10);
        for (size_t i = 0; i < n; i++)
            (*variables)[length + i] = digits[n - 1 - i];
        (*variables)[length + n] = '\0';
        return;
    }
}
