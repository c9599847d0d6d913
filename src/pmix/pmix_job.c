/* SPDX-License-Identifier: Apache-2.0 */
#include "pmix/pmix_job.h"

#include <errno.h>
#include <inttypes.h>
#include <pmix.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/step/step_grant.h"
#include "pmix/pmix_calls.h"

/* --- calls that libpmix answers on its thread -------------------------------
 */

struct pmix_waiter {
    sem_t sem;
    pmix_status_t status;
};

static void
on_done(pmix_status_t status, void *context)
{
    struct pmix_waiter *w = context;

    w->status = status;
    sem_post(&w->sem);
}

/* Of a call that was accepted. */
static pmix_status_t
wait_for(struct pmix_waiter *w, pmix_status_t called)
{
    if (called == PMIX_OPERATION_SUCCEEDED)
        return PMIX_SUCCESS;
    if (called != PMIX_SUCCESS)
        return called;
    while (sem_wait(&w->sem) < 0)
        ;
    return w->status;
}

static int
fail(const char *what, pmix_status_t status, struct error *err)
{
    return error_set(err, -EIO, "libpmix: %s: %s", what, PMIx_Error_string(status));
}

/* --- the texts ----------------------------------------------------------------
 */

static void
add_ranks(struct strbuf *out, const struct step_layout_node *n)
{
    for (unsigned i = 0; i < n->n_tasks; i++)
        strbuf_printf(out, "%s%u", i > 0 ? "," : "", n->tasks[i]);
}

static int
make_maps(const struct step_layout *l, char **ret_nodes, char **ret_tasks, struct error *err)
{
    CLEANUP_STRBUF struct strbuf nodes = STRBUF_INIT, tasks = STRBUF_INIT;
    pmix_status_t r;

    for (unsigned i = 0; i < l->n_nodes; i++) {
        strbuf_printf(&nodes, "%s%s", i > 0 ? "," : "", l->nodes[i].name);
        strbuf_add_text(&tasks, i > 0 ? ";" : "");
        add_ranks(&tasks, &l->nodes[i]);
    }
    r = PMIx_generate_regex(nodes.text, ret_nodes);
    if (r == PMIX_SUCCESS)
        r = PMIx_generate_ppn(tasks.text, ret_tasks);
    return r == PMIX_SUCCESS ? 0 : fail("the map of the step", r, err);
}

/* --- the step -----------------------------------------------------------------
 */

static void
add_number(void *list, const char *key, uint32_t number)
{
    PMIx_Info_list_add(list, key, &number, PMIX_UINT32);
}

static void
add_rank(void *list, const char *key, uint32_t rank)
{
    const pmix_rank_t r = rank;

    PMIx_Info_list_add(list, key, &r, PMIX_PROC_RANK);
}

static void
add_task(void *list, const struct pmix_job *job, unsigned node, unsigned local, uint32_t rank)
{
    CLEANUP_FREE char *directory = NULL;
    const uint16_t number = (uint16_t)local;
    pmix_data_array_t data = {0};
    void *of_task = PMIx_Info_list_start();

    add_rank(of_task, PMIX_RANK, rank);
    add_rank(of_task, PMIX_GLOBAL_RANK, rank);
    add_number(of_task, PMIX_APPNUM, 0);
    add_number(of_task, PMIX_NODEID, node);
    PMIx_Info_list_add(of_task, PMIX_LOCAL_RANK, &number, PMIX_UINT16);
    PMIx_Info_list_add(of_task, PMIX_NODE_RANK, &number, PMIX_UINT16);
    PMIx_Info_list_add(of_task, PMIX_HOSTNAME, job->grant->layout.nodes[node].name, PMIX_STRING);
    if (node == job->grant->node) {
        directory = xasprintf("%s/%" PRIu32, job->directory, rank);
        PMIx_Info_list_add(of_task, PMIX_PROCDIR, directory, PMIX_STRING);
    }
    PMIx_Info_list_convert(of_task, &data);
    PMIx_Info_list_add(list, PMIX_PROC_DATA, &data, PMIX_DATA_ARRAY);
    PMIx_Data_array_destruct(&data);
    PMIx_Info_list_release(of_task);
}

static void
add_step(void *list, const struct pmix_job *job)
{
    const struct step_layout *l = &job->grant->layout;
    const struct step_layout_node *own = &l->nodes[job->grant->node];
    CLEANUP_STRBUF struct strbuf peers = STRBUF_INIT;
    const bool yes = true, no = false;

    add_ranks(&peers, own);
    PMIx_Info_list_add(list, PMIX_JOBID, job->space, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_SPAWNED, &no, PMIX_BOOL);
    add_number(list, PMIX_UNIV_SIZE, l->n_tasks);
    add_number(list, PMIX_JOB_SIZE, l->n_tasks);
    add_number(list, PMIX_MAX_PROCS, l->n_tasks);
    add_number(list, PMIX_APP_SIZE, l->n_tasks);
    add_number(list, PMIX_JOB_NUM_APPS, 1);
    add_number(list, PMIX_NUM_NODES, l->n_nodes);
    add_number(list, PMIX_LOCAL_SIZE, own->n_tasks);
    add_number(list, PMIX_NODE_SIZE, own->n_tasks);
    add_number(list, PMIX_NODEID, job->grant->node);
    add_rank(list, PMIX_LOCALLDR, own->n_tasks > 0 ? own->tasks[0] : 0);
    add_rank(list, PMIX_APPLDR, 0);
    PMIx_Info_list_add(list, PMIX_LOCAL_PEERS, peers.text, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_TMPDIR, job->directory, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_NSDIR, job->directory, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
}

static int
register_step(const struct pmix_job *job, struct error *err)
{
    const struct step_layout *l = &job->grant->layout;
    CLEANUP_FREE char *nodes = NULL, *tasks = NULL;
    void *list = PMIx_Info_list_start();
    pmix_data_array_t info = {0};
    struct pmix_waiter w = {0};
    pmix_status_t status;
    int r = make_maps(l, &nodes, &tasks, err);

    if (r == 0) {
        PMIx_Info_list_add(list, PMIX_NODE_MAP, nodes, PMIX_REGEX);
        PMIx_Info_list_add(list, PMIX_PROC_MAP, tasks, PMIX_REGEX);
        add_step(list, job);
        for (unsigned i = 0; i < l->n_nodes; i++)
            for (unsigned j = 0; j < l->nodes[i].n_tasks; j++)
                add_task(list, job, i, j, l->nodes[i].tasks[j]);
        PMIx_Info_list_convert(list, &info);
        sem_init(&w.sem, 0, 0);
        status = wait_for(&w, PMIx_server_register_nspace(job->space,
                                                          (int)l->nodes[job->grant->node].n_tasks,
                                                          info.array, info.size, on_done, &w));
        if (status != PMIX_SUCCESS)
            r = fail("the step is refused", status, err);
        PMIx_Data_array_destruct(&info);
    }
    PMIx_Info_list_release(list);
    return r;
}

static void
name_task(const struct pmix_job *job, uint32_t rank, pmix_proc_t *ret_task)
{
    memset(ret_task, 0, sizeof(*ret_task));
    snprintf(ret_task->nspace, sizeof(ret_task->nspace), "%s", job->space);
    ret_task->rank = rank;
}

static int
register_tasks(const struct pmix_job *job, struct error *err)
{
    const struct step_layout_node *own = &job->grant->layout.nodes[job->grant->node];

    for (unsigned i = 0; i < own->n_tasks; i++) {
        struct pmix_waiter w = {0};
        pmix_status_t status;
        pmix_proc_t task;

        name_task(job, own->tasks[i], &task);
        sem_init(&w.sem, 0, 0);
        status = wait_for(
            &w, PMIx_server_register_client(&task, geteuid(), getegid(), NULL, on_done, &w));
        if (status != PMIX_SUCCESS)
            return fail("a task is refused", status, err);
    }
    return 0;
}

/* All but the rank are the same for all tasks of the node. */
static int
add_variables(const struct pmix_job *job, struct strbuf *out, struct error *err)
{
    const struct step_layout_node *own = &job->grant->layout.nodes[job->grant->node];
    char **variables = NULL;
    pmix_proc_t task;
    pmix_status_t r;

    name_task(job, own->n_tasks > 0 ? own->tasks[0] : 0, &task);
    r = PMIx_server_setup_fork(&task, &variables);
    if (r != PMIX_SUCCESS)
        return fail("the environment of the tasks", r, err);
    for (char **v = variables; v != NULL && *v != NULL; v++) {
        if (strncmp(*v, "PMIX_RANK=", strlen("PMIX_RANK=")) != 0)
            strbuf_add(out, *v, strlen(*v) + 1);
        free(*v);
    }
    free(variables);
    return 0;
}

static int
begin_server(const struct pmix_job *job, struct error *err)
{
    const struct step_layout_node *own = &job->grant->layout.nodes[job->grant->node];
    CLEANUP_FREE char *space = xasprintf("kiln-pmix.%" PRId64, job->grant->step_id);
    void *list = PMIx_Info_list_start();
    pmix_data_array_t info = {0};
    pmix_status_t r;

    PMIx_Info_list_add(list, PMIX_SERVER_TMPDIR, job->directory, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_SYSTEM_TMPDIR, job->directory, PMIX_STRING);
    PMIx_Info_list_add(list, PMIX_SERVER_NSPACE, space, PMIX_STRING);
    add_rank(list, PMIX_SERVER_RANK, job->grant->node);
    PMIx_Info_list_add(list, PMIX_HOSTNAME, own->name, PMIX_STRING);
    PMIx_Info_list_convert(list, &info);
    r = PMIx_server_init(&pmix_calls_module, info.array, info.size);
    PMIx_Data_array_destruct(&info);
    PMIx_Info_list_release(list);
    return r == PMIX_SUCCESS ? 0 : fail("its server does not start", r, err);
}

int
pmix_job_begin(const struct pmix_job *job, struct strbuf *variables, struct error *err)
{
    int r = begin_server(job, err);

    if (r == 0)
        r = register_step(job, err);
    if (r == 0)
        r = register_tasks(job, err);
    return r == 0 ? add_variables(job, variables, err) : r;
}

/* libpmix now removes the files of tasks that did not end by themselves. */
void
pmix_job_end(const struct pmix_job *job)
{
    struct pmix_waiter w = {0};

    sem_init(&w.sem, 0, 0);
    PMIx_server_deregister_nspace(job->space, on_done, &w);
    (void)wait_for(&w, PMIX_SUCCESS);
    (void)PMIx_server_finalize();
}
