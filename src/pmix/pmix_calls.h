/* SPDX-License-Identifier: Apache-2.0 */
/* pmix_calls.h - what libpmix asks of its host, handed over from its thread to ours
 *
 * libpmix calls the functions of its host on a thread of its own. Each of them only writes
 * a call into a pipe; the program's loop reads it there and does the rest, so nothing else
 * of this program is shared between threads. A fence, a question and a client are
 * answered by functions of libpmix that may be called on any thread.
 *
 * Thread: `take` and the answers on the main one; the writers on libpmix's.
 */
#pragma once

#include <pmix_server.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pmix_call_kind {
    PMIX_CALL_JOINED,
    PMIX_CALL_LEFT,
    PMIX_CALL_ABORT,
    PMIX_CALL_FENCE,
    PMIX_CALL_QUESTION, /* a task here asks for what one of another node has given */
    PMIX_CALL_ANSWER,   /* to pmix_calls_look_up */
};

struct pmix_call {
    enum pmix_call_kind kind;
    uint32_t rank; /* of the caller; of QUESTION and ANSWER: whose data */
    int status;    /* of ABORT and ANSWER */
    /* Of FENCE: the tasks that take part, PMIX_RANK_WILDCARD for all. */
    uint32_t *ranks;
    size_t n_ranks;
    bool is_foreign; /* a task of another namespace takes part */
    char *data;      /* of FENCE and ANSWER */
    size_t length;
    uint64_t id; /* of ANSWER */
    pmix_op_cbfunc_t done;
    pmix_modex_cbfunc_t answered;
    void *context; /* of these two */
};

/* The functions for PMIx_server_init. */
extern pmix_server_module_t pmix_calls_module;

/* Before PMIx_server_init. Returns the descriptor to wait for. */
int pmix_calls_open(void);

/* The next call, or NULL if there is none now. */
struct pmix_call *pmix_calls_take(void);
void pmix_call_free(struct pmix_call *c);

/* Asks libpmix for what a task of this node gives; the answer is a call with the id. */
pmix_status_t pmix_calls_look_up(const pmix_proc_t *task, uint64_t id);

/* Answers a fence or a question with a copy of the data. */
void pmix_calls_answer(pmix_modex_cbfunc_t answered, void *context, pmix_status_t status,
                       const char *data, size_t length);
