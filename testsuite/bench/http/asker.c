/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/http/asker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "testsuite/bench/http/served.h"

#define PIECE (256u << 10)

/* One connection, with the received part of its response. */
struct line {
    int fd;
    int64_t asked_us;
    struct strbuf head;
    size_t left; /* bytes of the body, once the head is complete */
    bool in_body;
    bool is_asking;
};

struct asker {
    const struct asker_plan *plan;
    struct line *lines;
    struct strbuf request;
    unsigned long asked;
    int64_t began_us;
    float *took_us;
    size_t n_took, capacity;
    double bytes;
};

static void
give_up(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

int
asker_connect(const struct served *server)
{
    return asker_connect_from(server, 0);
}

static int
connect_unix(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        give_up(strerror(errno));
    return fd;
}

int
asker_connect_from(const struct served *server, unsigned host)
{
    struct sockaddr_in from = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + host),
    };
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)server->port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd;

    if (server->path != NULL)
        return connect_unix(server->path);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || (host > 0 && bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0)
        || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
        give_up(strerror(errno));
    return fd;
}

void
asker_send(int fd, const void *bytes, size_t length)
{
    const char *from = bytes;

    while (length > 0) {
        ssize_t n = send(fd, from, length, MSG_NOSIGNAL);

        if (n < 0)
            give_up(strerror(errno));
        from += n;
        length -= (size_t)n;
    }
}

/* The body's length, from a complete head. */
static size_t
length_of(const char *head)
{
    static const char name[] = "\r\nContent-Length:";
    const char *field = strcasestr(head, name);

    if (field == NULL)
        give_up("an answer without a length");
    return strtoull(field + sizeof(name) - 1, NULL, 10);
}

static void
check_status(const struct line *l, int expected, const char *body_end, size_t n)
{
    if (atoi(l->head.text + strlen("HTTP/1.1 ")) == expected)
        return;
    fprintf(stderr, "bench: %s%.*s\n", l->head.text, (int)n, body_end - n);
    exit(1);
}

/* Takes bytes of a response; *ret_body is how many of them belong to its body.
 * True when the response is complete.
 */
static bool
take(struct line *l, const char *bytes, size_t n, size_t *ret_body)
{
    size_t before = l->head.length, head_length;
    const char *end;

    *ret_body = 0;
    if (!l->in_body) {
        strbuf_add(&l->head, bytes, n);
        end = strstr(l->head.text, "\r\n\r\n");
        if (end == NULL)
            return false;
        head_length = (size_t)(end + 4 - l->head.text);
        n -= head_length - before;
        strbuf_truncate(&l->head, head_length);
        l->left = length_of(l->head.text);
        l->in_body = true;
    }
    if (n > l->left)
        give_up("an answer longer than it says");
    l->left -= n;
    *ret_body = n;
    return l->left == 0;
}

static void
ask(struct asker *a, struct line *l)
{
    strbuf_truncate(&a->request, 0);
    a->plan->ask(&a->request, a->asked++, a->plan->arg);
    strbuf_truncate(&l->head, 0);
    l->in_body = false;
    l->is_asking = true;
    l->asked_us = clock_monotonic_us(&clock_system);
    asker_send(l->fd, a->request.text, a->request.length);
}

static bool
may_ask(const struct asker *a)
{
    const struct asker_plan *p = a->plan;
    int64_t since_us = clock_monotonic_us(&clock_system) - a->began_us;

    if (p->most > 0 && a->asked >= p->most)
        return false;
    return p->per_second <= 0 || (double)a->asked < (double)since_us / 1e6 * p->per_second;
}

static void
hear(struct asker *a, struct line *l)
{
    static char piece[PIECE];
    ssize_t n = recv(l->fd, piece, sizeof(piece), 0);
    size_t body;
    bool is_whole;

    if (n <= 0)
        give_up("a connection ended");
    is_whole = take(l, piece, (size_t)n, &body);
    a->bytes += (double)body;
    if (!is_whole)
        return;
    check_status(l, a->plan->status, piece + n, body);
    xgrow(a->took_us, a->n_took, a->capacity);
    a->took_us[a->n_took++] = (float)(clock_monotonic_us(&clock_system) - l->asked_us);
    l->is_asking = false;
    if (may_ask(a))
        ask(a, l);
}

static void
ask_idle(struct asker *a)
{
    for (unsigned i = 0; i < a->plan->connections && may_ask(a); i++)
        if (!a->lines[i].is_asking)
            ask(a, &a->lines[i]);
}

static bool
is_done(const struct asker *a)
{
    const struct asker_plan *p = a->plan;

    if (p->most > 0 && a->n_took >= p->most)
        return true;
    return p->seconds > 0
           && clock_monotonic_us(&clock_system) - a->began_us > (int64_t)(p->seconds * 1e6);
}

static void
run(struct asker *a, int poll_fd)
{
    struct epoll_event ready[64];
    int wait_ms = a->plan->per_second > 0 ? 1 : 1000;

    while (!is_done(a)) {
        int n = epoll_wait(poll_fd, ready, 64, wait_ms);

        for (int i = 0; i < n; i++)
            hear(a, &a->lines[ready[i].data.u32]);
        ask_idle(a);
    }
}

static int
compare(const void *a, const void *b)
{
    const float *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void
sum_up(struct asker *a, double cpu_us, struct asker_answers *ret)
{
    int64_t took = clock_monotonic_us(&clock_system) - a->began_us;

    if (a->n_took == 0)
        give_up("no answer at all");
    qsort(a->took_us, a->n_took, sizeof(*a->took_us), compare);
    *ret = (struct asker_answers){
        .count = a->n_took,
        .seconds = (double)took / 1e6,
        .per_second = (double)a->n_took / ((double)took / 1e6),
        .p50_us = (double)a->took_us[a->n_took / 2],
        .p99_us = (double)a->took_us[a->n_took * 99 / 100],
        .cpu_us = cpu_us / (double)a->n_took,
        .bytes = a->bytes,
    };
}

void
asker_run(const struct asker_plan *plan, struct asker_answers *ret_answers)
{
    struct asker a = {.plan = plan};
    int poll_fd = epoll_create1(0);
    double cpu_us = served_cpu_us(plan->server);

    strbuf_init(&a.request);
    a.lines = xnew_array(struct line, plan->connections);
    for (uint32_t i = 0; i < plan->connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

        strbuf_init(&a.lines[i].head);
        a.lines[i].fd = asker_connect(plan->server);
        epoll_ctl(poll_fd, EPOLL_CTL_ADD, a.lines[i].fd, &event);
    }
    a.began_us = clock_monotonic_us(&clock_system);
    ask_idle(&a);
    run(&a, poll_fd);
    sum_up(&a, served_cpu_us(plan->server) - cpu_us, ret_answers);
    for (unsigned i = 0; i < plan->connections; i++) {
        close(a.lines[i].fd);
        strbuf_fini(&a.lines[i].head);
    }
    close(poll_fd);
    free(a.lines);
    free(a.took_us);
    strbuf_fini(&a.request);
}

int
asker_ask_once(const struct served *server, const struct strbuf *request, struct strbuf *body)
{
    static char piece[PIECE];
    struct line l = {.fd = asker_connect(server)};
    bool is_whole = false;
    int status;

    strbuf_init(&l.head);
    asker_send(l.fd, request->text, request->length);
    while (!is_whole) {
        ssize_t n = recv(l.fd, piece, sizeof(piece), 0);
        size_t part;

        if (n <= 0)
            give_up("a connection ended");
        is_whole = take(&l, piece, (size_t)n, &part);
        if (body != NULL)
            strbuf_add(body, piece + (size_t)n - part, part);
    }
    status = atoi(l.head.text + strlen("HTTP/1.1 "));
    close(l.fd);
    strbuf_fini(&l.head);
    return status;
}
