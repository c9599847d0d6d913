/* SPDX-License-Identifier: Apache-2.0 */
#include "pmix/pmix_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"

static int ends[2] = {-1, -1};

/* The addresses of calls, which are written whole. */
int
pmix_calls_open(void)
{
    if (pipe2(ends, O_CLOEXEC) < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
        return -errno;
    return ends[0];
}

static void
hand_over(const struct pmix_call *call)
{
    struct pmix_call *c = xmemdup(call, sizeof(*call));
    ssize_t n;

    do {
        n = write(ends[1], &c, sizeof(c));
    } while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(c))
        abort();
}

struct pmix_call *
pmix_calls_take(void)
{
    struct pmix_call *c = NULL;

    return read(ends[0], &c, sizeof(c)) == (ssize_t)sizeof(c) ? c : NULL;
}

void
pmix_call_free(struct pmix_call *c)
{
    if (c == NULL)
        return;
    free(c->ranks);
    free(c->data);
    free(c);
}

/* --- from libpmix's thread ----------------------------------------------------
 */

static pmix_status_t
on_joined(const pmix_proc_t *task, UNUSED void *object, pmix_op_cbfunc_t done, void *context)
{
    hand_over(&(struct pmix_call){
        .kind = PMIX_CALL_JOINED, .rank = task->rank, .done = done, .context = context});
    return PMIX_SUCCESS;
}

static pmix_status_t
on_left(const pmix_proc_t *task, UNUSED void *object, pmix_op_cbfunc_t done, void *context)
{
    hand_over(&(struct pmix_call){
        .kind = PMIX_CALL_LEFT, .rank = task->rank, .done = done, .context = context});
    return PMIX_SUCCESS;
}

static pmix_status_t
on_abort(const pmix_proc_t *task, UNUSED void *object, int status, UNUSED const char words[],
         UNUSED pmix_proc_t tasks[], UNUSED size_t n_tasks, pmix_op_cbfunc_t done, void *context)
{
    hand_over(&(struct pmix_call){
        .kind = PMIX_CALL_ABORT,
        .rank = task->rank,
        .status = status,
        .done = done,
        .context = context,
    });
    return PMIX_SUCCESS;
}

static pmix_status_t
on_fence(const pmix_proc_t tasks[], size_t n_tasks, UNUSED const pmix_info_t info[],
         UNUSED size_t n_info, char *data, size_t length, pmix_modex_cbfunc_t answered,
         void *context)
{
    struct pmix_call c = {
        .kind = PMIX_CALL_FENCE,
        .ranks = xnew_array(uint32_t, n_tasks + 1),
        .n_ranks = n_tasks,
        .data = length > 0 ? xmemdup(data, length) : NULL,
        .length = length,
        .answered = answered,
        .context = context,
    };

    for (size_t i = 0; i < n_tasks; i++) {
        c.ranks[i] = tasks[i].rank;
        c.is_foreign |= strncmp(tasks[i].nspace, tasks[0].nspace, PMIX_MAX_NSLEN) != 0;
    }
    hand_over(&c);
    return PMIX_SUCCESS;
}

static pmix_status_t
on_question(const pmix_proc_t *task, UNUSED const pmix_info_t info[], UNUSED size_t n_info,
            pmix_modex_cbfunc_t answered, void *context)
{
    hand_over(&(struct pmix_call){
        .kind = PMIX_CALL_QUESTION, .rank = task->rank, .answered = answered, .context = context});
    return PMIX_SUCCESS;
}

/* Events of the machine, of which there are none here: a task that waits for one waits. */
static pmix_status_t
on_events(UNUSED pmix_status_t *codes, UNUSED size_t n_codes, UNUSED const pmix_info_t info[],
          UNUSED size_t n_info, UNUSED pmix_op_cbfunc_t done, UNUSED void *context)
{
    return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t
on_no_events(UNUSED pmix_status_t *codes, UNUSED size_t n_codes, UNUSED pmix_op_cbfunc_t done,
             UNUSED void *context)
{
    return PMIX_OPERATION_SUCCEEDED;
}

pmix_server_module_t pmix_calls_module = {
    .client_connected = on_joined,
    .client_finalized = on_left,
    .abort = on_abort,
    .fence_nb = on_fence,
    .direct_modex = on_question,
    .register_events = on_events,
    .deregister_events = on_no_events,
};

/* --- questions and answers ----------------------------------------------------
 */

struct pmix_look_up {
    uint64_t id;
    uint32_t rank;
};

static void
on_answer(pmix_status_t status, char *data, size_t length, void *context)
{
    struct pmix_look_up *l = context;

    hand_over(&(struct pmix_call){
        .kind = PMIX_CALL_ANSWER,
        .rank = l->rank,
        .status = status,
        .id = l->id,
        .data = length > 0 ? xmemdup(data, length) : NULL,
        .length = length,
    });
    free(l);
}

pmix_status_t
pmix_calls_look_up(const pmix_proc_t *task, uint64_t id)
{
    struct pmix_look_up *l = xnew(struct pmix_look_up);
    pmix_status_t r;

    *l = (struct pmix_look_up){.id = id, .rank = task->rank};
    r = PMIx_server_dmodex_request(task, on_answer, l);
    if (r != PMIX_SUCCESS)
        free(l);
    return r;
}

void
pmix_calls_answer(pmix_modex_cbfunc_t answered, void *context, pmix_status_t status,
                  const char *data, size_t length)
{
    char *copy = length > 0 ? xmemdup(data, length) : NULL;

    answered(status, copy, length, context, free, copy);
}
