/* SPDX-License-Identifier: Apache-2.0 */
/* kiln-pmix - the server of PMIx for the tasks of one step on one node
 *
 * kiln-step starts it as the user, with its connection as descriptor 0, and ends it by
 * closing that. libpmix runs a thread here, which hands what tasks ask for over by a pipe
 * (pmix_calls.h).
 *
 * A fence of tasks of this node only is over at once; one of several nodes when krun has
 * sent what all of them give. A question for the data of a task on another node goes to
 * the kiln-pmix there.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/step/pmix_message.h"
#include "lib/step/step_frames.h"
#include "lib/step/step_grant.h"
#include "pmix/pmix_calls.h"
#include "pmix/pmix_job.h"

#define LINK_FD        0
#define NO_NODE        UINT32_MAX
/* Questions of other nodes and of tasks here that wait for an answer. */
#define QUESTIONS_MOST 65536u

/* A fence that other nodes take part in, or a question to another node. */
struct pmix_waiting {
    struct list link;
    bool is_fence;
    uint64_t id;
    struct strbuf data; /* as far as it has come */
    pmix_modex_cbfunc_t answered;
    void *context;
};

/* A question of another node. */
struct pmix_asked {
    struct list link;
    uint64_t id; /* here */
    uint32_t node, rank;
    uint64_t id_there;
};

struct pmix_server {
    struct arena *arena;
    struct step_grant grant;
    struct pmix_job job;
    struct step_reader in;
    uint32_t *node_of;   /* by rank */
    bool *has_ended;     /* by rank: tasks of this node */
    struct list waiting; /* fences and questions of tasks here */
    struct list asked;
    unsigned n_fences, n_waiting, n_asked;
    uint64_t next_id;
    bool is_over;
};

/* --- to kiln-step -------------------------------------------------------------
 */

/* kiln-step reads always, so this does not wait for long. */
static void
send_message(struct pmix_server *s, const struct pmix_message *m)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    pmix_message_add(&out, m);
    if (fd_write_all(LINK_FD, out.text, out.length) < 0)
        s->is_over = true;
}

static void
send_id(struct pmix_server *s, enum pmix_message_kind kind, uint64_t id, uint32_t number)
{
    send_message(s, &(struct pmix_message){.kind = kind, .id = id, .number = number});
}

static void __attribute__((format(printf, 2, 3)))
fail(struct pmix_server *s, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&words, format, args);
    va_end(args);
    send_message(s, &(struct pmix_message){
                        .kind = PMIX_FAILED, .bytes = words.text, .length = words.length});
}

/* --- what waits ---------------------------------------------------------------
 */

static struct pmix_waiting *
add_waiting(struct pmix_server *s, bool is_fence, uint64_t id, const struct pmix_call *c)
{
    struct pmix_waiting *w = xnew(struct pmix_waiting);

    w->is_fence = is_fence;
    w->id = id;
    w->answered = c->answered;
    w->context = c->context;
    strbuf_init(&w->data);
    list_add_last(&s->waiting, &w->link);
    s->n_fences += is_fence;
    s->n_waiting++;
    return w;
}

static struct pmix_waiting *
find_waiting(struct pmix_server *s, bool is_fence, uint64_t id)
{
    list_foreach(at, &s->waiting)
    {
        struct pmix_waiting *w = container_of(at, struct pmix_waiting, link);

        if (w->is_fence == is_fence && w->id == id)
            return w;
    }
    return NULL;
}

static void
answer_waiting(struct pmix_server *s, struct pmix_waiting *w, pmix_status_t status)
{
    pmix_calls_answer(w->answered, w->context, status, w->data.text,
                      status == PMIX_SUCCESS ? w->data.length : 0);
    list_remove(&w->link);
    s->n_fences -= w->is_fence;
    s->n_waiting--;
    strbuf_fini(&w->data);
    free(w);
}

/* --- fences -------------------------------------------------------------------
 */

/* The tasks that take part as a set, so that their order does not matter. Returns false if
 * there is one that the step does not have.
 */
static bool
mark_ranks(const struct pmix_server *s, const struct pmix_call *c, unsigned char *ranks)
{
    const unsigned n = s->grant.layout.n_tasks;

    for (size_t i = 0; i < c->n_ranks; i++) {
        if (c->ranks[i] == PMIX_RANK_WILDCARD)
            memset(ranks, 1, n);
        else if (c->ranks[i] < n)
            ranks[c->ranks[i]] = 1;
        else
            return false;
    }
    return !c->is_foreign;
}

/* FNV-1a, 64 bits. Only fences of this step are told apart by it. */
static uint64_t
hash(const unsigned char *bytes, size_t length)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < length; i++)
        h = (h ^ bytes[i]) * UINT64_C(1099511628211);
    return h;
}

static size_t
may_give(const struct pmix_server *s)
{
    const struct step_layout *l = &s->grant.layout;

    return (size_t)PMIX_FENCE_MOST / l->n_tasks * l->nodes[s->grant.node].n_tasks;
}

static void
begin_fence(struct pmix_server *s, const struct pmix_call *c, const unsigned char *ranks)
{
    const struct step_layout *l = &s->grant.layout;
    const size_t n_bytes = (l->n_nodes + 7) / 8;
    CLEANUP_FREE char *nodes = xnew_array(char, n_bytes + 1);
    const uint64_t id = hash(ranks, l->n_tasks);
    bool has_others = false, is_of_all = true;

    for (unsigned i = 0; i < l->n_tasks; i++) {
        const uint32_t node = s->node_of[i];

        is_of_all = is_of_all && ranks[i];
        if (!ranks[i] || node == NO_NODE)
            continue;
        has_others |= node != s->grant.node;
        nodes[node / 8] = (char)(nodes[node / 8] | 1 << node % 8);
    }
    if (!has_others) {
        pmix_calls_answer(c->answered, c->context, PMIX_SUCCESS, c->data, c->length);
        return;
    }
    if (s->n_fences >= PMIX_FENCES_MOST || find_waiting(s, true, id) != NULL) {
        pmix_calls_answer(c->answered, c->context, PMIX_ERR_RESOURCE_BUSY, NULL, 0);
        return;
    }
    add_waiting(s, true, id, c);
    send_message(
        s,
        &(struct pmix_message){
            .kind = PMIX_FENCE, .number = is_of_all, .id = id, .bytes = nodes, .length = n_bytes});
    send_message(s, &(struct pmix_message){
                        .kind = PMIX_DATA, .id = id, .bytes = c->data, .length = c->length});
}

static void
take_fence(struct pmix_server *s, const struct pmix_call *c)
{
    CLEANUP_FREE unsigned char *ranks = xnew_array(unsigned char, s->grant.layout.n_tasks + 1);

    if (!mark_ranks(s, c, ranks)) {
        pmix_calls_answer(c->answered, c->context, PMIX_ERR_NOT_SUPPORTED, NULL, 0);
    } else if (c->length > may_give(s)) {
        fail(s,
             "its tasks on %s gave %zu bytes to a fence of PMIx; %zu are allowed (%u MiB for all "
             "tasks of a step together)",
             s->grant.layout.nodes[s->grant.node].name, c->length, may_give(s),
             PMIX_FENCE_MOST >> 20);
        pmix_calls_answer(c->answered, c->context, PMIX_ERR_OUT_OF_RESOURCE, NULL, 0);
    } else {
        begin_fence(s, c, ranks);
    }
}

/* --- questions ----------------------------------------------------------------
 */

static void
take_question(struct pmix_server *s, const struct pmix_call *c)
{
    const uint32_t node = c->rank < s->grant.layout.n_tasks ? s->node_of[c->rank] : NO_NODE;
    char text[16];

    if (node == NO_NODE || node == s->grant.node || s->n_waiting >= QUESTIONS_MOST) {
        pmix_calls_answer(c->answered, c->context, PMIX_ERR_NOT_FOUND, NULL, 0);
        return;
    }
    add_waiting(s, false, s->next_id, c);
    send_message(s, &(struct pmix_message){
                        .kind = PMIX_GET,
                        .number = node,
                        .id = s->next_id++,
                        .bytes = text,
                        .length = (size_t)snprintf(text, sizeof(text), "%u", c->rank),
                    });
}

static void
answer_asked(struct pmix_server *s, struct pmix_asked *a, const char *data, size_t length,
             bool is_there)
{
    if (length > PMIX_FENCE_MOST)
        is_there = false;
    send_message(s, &(struct pmix_message){
                        .kind = is_there ? PMIX_GOT : PMIX_NONE,
                        .number = a->node,
                        .id = a->id_there,
                        .bytes = data,
                        .length = is_there ? length : 0,
                    });
    list_remove(&a->link);
    s->n_asked--;
    free(a);
}

/* A task that has ended gives nothing more. */
static void
take_get(struct pmix_server *s, const struct pmix_message *m)
{
    CLEANUP_FREE char *text = xstrndup(m->bytes, m->length);
    const unsigned long rank = strtoul(text, NULL, 10);
    struct pmix_asked *a;
    pmix_proc_t task = {0};

    if (rank >= s->grant.layout.n_tasks || s->node_of[rank] != s->grant.node
        || s->n_asked >= QUESTIONS_MOST) {
        send_id(s, PMIX_NONE, m->id, m->number);
        return;
    }
    a = xnew(struct pmix_asked);
    *a = (struct pmix_asked){
        .id = s->next_id++, .node = m->number, .rank = (uint32_t)rank, .id_there = m->id};
    list_add_last(&s->asked, &a->link);
    s->n_asked++;
    snprintf(task.nspace, sizeof(task.nspace), "%s", s->job.space);
    task.rank = (pmix_rank_t)rank;
    if (s->has_ended[rank] || pmix_calls_look_up(&task, a->id) != PMIX_SUCCESS)
        answer_asked(s, a, NULL, 0, false);
}

static void
take_answer(struct pmix_server *s, const struct pmix_call *c)
{
    list_foreach(at, &s->asked)
    {
        struct pmix_asked *a = container_of(at, struct pmix_asked, link);

        if (a->id == c->id) {
            answer_asked(s, a, c->data, c->length, c->status == PMIX_SUCCESS);
            return;
        }
    }
}

/* Nobody waits for a task that is gone. */
static void
take_ended(struct pmix_server *s, uint64_t rank)
{
    if (rank >= s->grant.layout.n_tasks)
        return;
    s->has_ended[rank] = true;
    list_foreach_safe(at, &s->asked)
    {
        struct pmix_asked *a = container_of(at, struct pmix_asked, link);

        if (a->rank == rank)
            answer_asked(s, a, NULL, 0, false);
    }
}

/* --- the loop -----------------------------------------------------------------
 */

/* The task goes on only when kiln-step can read what it is told about it. */
static void
take_call(struct pmix_server *s, struct pmix_call *c)
{
    switch (c->kind) {
    case PMIX_CALL_JOINED:
        send_id(s, PMIX_JOINED, c->rank, 0);
        break;
    case PMIX_CALL_LEFT:
        send_id(s, PMIX_LEFT, c->rank, 0);
        break;
    case PMIX_CALL_ABORT:
        send_id(s, PMIX_ABORT, c->rank, (uint32_t)c->status);
        break;
    case PMIX_CALL_FENCE:
        take_fence(s, c);
        break;
    case PMIX_CALL_QUESTION:
        take_question(s, c);
        break;
    case PMIX_CALL_ANSWER:
        take_answer(s, c);
        break;
    }
    if (c->done != NULL)
        c->done(PMIX_SUCCESS, c->context);
    pmix_call_free(c);
}

static int
take_data(struct pmix_server *s, const struct pmix_message *m, bool is_fence, pmix_status_t status)
{
    struct pmix_waiting *w = find_waiting(s, is_fence, m->id);

    if (w == NULL || w->data.length + m->length > PMIX_FENCE_MOST)
        return -EBADMSG;
    if (m->length > 0)
        strbuf_add(&w->data, m->bytes, m->length);
    if (!m->has_more)
        answer_waiting(s, w, status);
    return 0;
}

static int
take_message(struct pmix_server *s, const struct step_frame *f)
{
    struct pmix_message m;

    if (pmix_message_read(f, &m) < 0)
        return -EBADMSG;
    switch (m.kind) {
    case PMIX_ENDED:
        take_ended(s, m.id);
        return 0;
    case PMIX_DATA:
        return take_data(s, &m, true, PMIX_SUCCESS);
    case PMIX_GET:
        take_get(s, &m);
        return 0;
    case PMIX_GOT:
        return take_data(s, &m, false, PMIX_SUCCESS);
    case PMIX_NONE:
        return take_data(s, &m, false, PMIX_ERR_NOT_FOUND);
    default:
        return -EBADMSG;
    }
}

static bool
receive(struct pmix_server *s)
{
    size_t room;
    char *at = step_reader_space(&s->in, &room);
    ssize_t n;

    do {
        n = read(LINK_FD, at, room);
    } while (n < 0 && errno == EINTR);
    if (n <= 0)
        return false;
    step_reader_add(&s->in, (size_t)n);
    return true;
}

static int
take_messages(struct pmix_server *s)
{
    struct step_frame f;
    int r;

    while ((r = step_reader_next(&s->in, &f)) == 1)
        if (take_message(s, &f) < 0)
            return -EBADMSG;
    return r;
}

static void
run(struct pmix_server *s, int calls_fd)
{
    struct pollfd p[] = {{.fd = LINK_FD, .events = POLLIN}, {.fd = calls_fd, .events = POLLIN}};

    while (!s->is_over) {
        struct pmix_call *c;

        if (take_messages(s) < 0) {
            fail(s, "kiln-pmix was sent what is no message of this release");
            return;
        }
        if (poll(p, 2, -1) < 0 && errno != EINTR)
            return;
        while ((c = pmix_calls_take()) != NULL)
            take_call(s, c);
        if (p[0].revents != 0 && !receive(s))
            return;
    }
}

/* --- the beginning --------------------------------------------------------------
 */

static int
next_frame(struct pmix_server *s, struct step_frame *ret_frame)
{
    int r;

    while ((r = step_reader_next(&s->in, ret_frame)) == 0)
        if (!receive(s))
            return -EPIPE;
    return r > 0 ? 0 : r;
}

static int
take_setup(struct pmix_server *s, struct error *err)
{
    struct step_frame f;
    struct pmix_message m = {0};
    const char *second;
    int r = next_frame(s, &f);

    if (r == 0)
        r = step_grant_decode(s->arena, f.payload, f.length, &s->grant, err);
    if (r == 0)
        r = next_frame(s, &f);
    if (r == 0)
        r = pmix_message_read(&f, &m);
    second = r == 0 ? memchr(m.bytes, '\0', m.length) : NULL;
    if (second == NULL || m.kind != PMIX_SETUP || m.bytes[m.length - 1] != '\0'
        || second + 1 == m.bytes + m.length)
        return error_set(err, -EBADMSG, "kiln-pmix: its order is incomplete");
    s->job = (struct pmix_job){
        .grant = &s->grant,
        .space = arena_strdup(s->arena, m.bytes),
        .directory = arena_strdup(s->arena, second + 1),
    };
    return 0;
}

static void
index_tasks(struct pmix_server *s)
{
    const struct step_layout *l = &s->grant.layout;

    s->node_of = xnew_array(uint32_t, l->n_tasks + 1);
    s->has_ended = xnew_array(bool, l->n_tasks + 1);
    for (unsigned i = 0; i < l->n_tasks; i++)
        s->node_of[i] = NO_NODE;
    for (unsigned i = 0; i < l->n_nodes; i++)
        for (unsigned j = 0; j < l->nodes[i].n_tasks; j++)
            if (l->nodes[i].tasks[j] < l->n_tasks)
                s->node_of[l->nodes[i].tasks[j]] = i;
}

static int
begin(struct pmix_server *s, int *ret_fd, struct error *err)
{
    CLEANUP_STRBUF struct strbuf variables = STRBUF_INIT;
    int r = take_setup(s, err);

    if (r < 0)
        return r;
    if (geteuid() == 0 && getenv("KILN_ALLOW_ROOT") == NULL)
        return error_set(err, -EPERM, "--mpi=pmix is not for root: libpmix serves its tasks only");
    index_tasks(s);
    *ret_fd = pmix_calls_open();
    if (*ret_fd < 0)
        return error_set(err, *ret_fd, "kiln-pmix: pipe: %s", strerror(-*ret_fd));
    r = pmix_job_begin(&s->job, &variables, err);
    if (r < 0)
        return r;
    send_message(s, &(struct pmix_message){
                        .kind = PMIX_READY, .bytes = variables.text, .length = variables.length});
    return 0;
}

static int
print_usage(const char *option)
{
    if (strcmp(option, "--version") == 0) {
        printf("kiln-pmix %s\n", version_text());
        return EXIT_SUCCESS;
    }
    if (strcmp(option, "--help") == 0) {
        printf("Usage: kiln-pmix\n"
               "Is the server of PMIx for the tasks of one step on one node. Started by kiln-step\n"
               "for krun --mpi=pmix; not for use by hand.\n"
               "\n"
               "      --help     show this\n"
               "      --version  show the version\n");
        return EXIT_SUCCESS;
    }
    fprintf(stderr,
            "kiln-pmix: unexpected argument '%s'; kiln-step starts this program, without "
            "arguments\n",
            option);
    return EXIT_FAILURE;
}

int
main(int argc, char **argv)
{
    struct pmix_server *s;
    struct error err = {0};
    int calls_fd = -1;

    if (argc > 1)
        return print_usage(argv[1]);
    (void)prctl(PR_SET_NAME, "kiln-pmix"); /* it was executed by descriptor */
    s = xnew(struct pmix_server);
    s->arena = arena_new(0);
    s->next_id = 1;
    list_init(&s->waiting);
    list_init(&s->asked);
    if (begin(s, &calls_fd, &err) < 0) {
        fail(s, "%s", err.text);
        return EXIT_FAILURE;
    }
    run(s, calls_fd);
    pmix_job_end(&s->job);
    return EXIT_SUCCESS;
}
