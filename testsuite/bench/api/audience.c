/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/api/audience.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "testsuite/bench/api/population.h"
#include "testsuite/bench/http/asker.h"
#include "testsuite/bench/http/served.h"

#define PIECE    (1u << 20)
#define STUCK_S  60
#define PER_HOST 2000

struct audience {
    pthread_t thread;
    int poll_fd;
    int *fds;
    char *last; /* byte that each has read */
    unsigned watchers;
    atomic_ulong seen;
    atomic_ullong first_us;
    atomic_ullong last_us;
    atomic_bool is_over;
};

static unsigned long
count_events(char *last, const char *bytes, size_t n)
{
    unsigned long events = 0;
    const char *at = bytes, *end = bytes + n;

    /* The line of an event ends with "}\n"; lines of chunks do not. */
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if ((at > bytes ? at[-1] : *last) == '}')
            events++;
        at++;
    }
    *last = bytes[n - 1];
    return events;
}

static void
hear(struct audience *a, unsigned i, char *piece)
{
    ssize_t n = recv(a->fds[i], piece, PIECE, 0);
    unsigned long events;
    unsigned long long now;

    if (n <= 0) {
        fprintf(stderr, "api: a watch ended\n");
        exit(1);
    }
    events = count_events(&a->last[i], piece, (size_t)n);
    if (events == 0)
        return;
    now = (unsigned long long)clock_monotonic_us(&clock_system);
    if (atomic_load(&a->first_us) == 0)
        atomic_store(&a->first_us, now);
    atomic_store(&a->last_us, now);
    atomic_fetch_add(&a->seen, events);
}

static void *
listen_all(void *arg)
{
    struct audience *a = arg;
    char *piece = xmalloc(PIECE);
    struct epoll_event ready[256];

    while (!atomic_load(&a->is_over)) {
        int n = epoll_wait(a->poll_fd, ready, 256, 100);

        for (int i = 0; i < n; i++)
            hear(a, ready[i].data.u32, piece);
    }
    free(piece);
    return NULL;
}

/* The head has come: the watch is there, and misses nothing. */
static void
await_head(int fd)
{
    char head[4096];
    size_t n = 0;

    while (n < sizeof(head) - 1) {
        ssize_t part = recv(fd, head + n, 1, 0);

        if (part <= 0)
            break;
        n++;
        head[n] = '\0';
        if (strstr(head, "\r\n\r\n") != NULL)
            return;
    }
    fprintf(stderr, "api: a watch is refused\n");
    exit(1);
}

static void
allow_files(unsigned watchers)
{
    struct rlimit limit;

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur =
        watchers + 256 < limit.rlim_max ? watchers + 256 : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct audience *
audience_new(const struct served *server, unsigned watchers)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    struct audience *a = xnew(struct audience);

    allow_files(watchers);
    a->watchers = watchers;
    a->fds = xnew_array(int, watchers);
    a->last = xnew_array(char, watchers);
    a->poll_fd = epoll_create1(0);
    population_add_head(&request,
                        "GET",
                        "/api/v1/namespaces/bench/pods?watch=true"
                        "&resourceVersion=%.0f",
                        population_metric(server, "kiln_store_revision"));
    strbuf_add_text(&request, "\r\n");
    for (uint32_t i = 0; i < watchers; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = i};

        a->fds[i] = asker_connect_from(server, i / PER_HOST);
        asker_send(a->fds[i], request.text, request.length);
        await_head(a->fds[i]);
        epoll_ctl(a->poll_fd, EPOLL_CTL_ADD, a->fds[i], &event);
    }
    pthread_create(&a->thread, NULL, listen_all, a);
    return a;
}

void
audience_free(struct audience *a)
{
    if (a == NULL)
        return;
    atomic_store(&a->is_over, true);
    pthread_join(a->thread, NULL);
    for (unsigned i = 0; i < a->watchers; i++)
        close(a->fds[i]);
    close(a->poll_fd);
    free(a->fds);
    free(a->last);
    free(a);
}

double
audience_wait(struct audience *a, unsigned long events)
{
    unsigned long wanted = events * a->watchers, before = 0;
    int64_t since = clock_monotonic_us(&clock_system);

    while (atomic_load(&a->seen) < wanted) {
        int64_t now = clock_monotonic_us(&clock_system);

        if (atomic_load(&a->seen) != before) {
            before = atomic_load(&a->seen);
            since = now;
        } else if (now - since > STUCK_S * 1000000LL) {
            fprintf(stderr,
                    "api: %lu of %lu deliveries came\n",
                    before,
                    wanted);
            exit(1);
        }
        usleep(1000);
    }
    return (double)(atomic_load(&a->last_us) - atomic_load(&a->first_us)) / 1e6;
}
