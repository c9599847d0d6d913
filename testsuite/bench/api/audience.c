/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/bench/api/audience.h"

#include <limits.h>
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

#define PIECE    (256u << 10)
#define REST_US  1000
#define STUCK_S  60
#define PER_HOST 2000

/* One watcher in this number counts its events. The kernel discards the data of
 * the others, which have received everything when their data is as long as that
 * of a counting watcher: readers must be cheap, because they have no CPU of
 * their own.
 */
#define COUNTS_ONE_IN 16

struct watcher {
    int fd;
    bool counts;
    char last;   /* the last byte received */
    size_t line; /* bytes of the incomplete line */
};

struct audience {
    pthread_t thread;
    int poll_fd;
    struct watcher *watchers;
    unsigned n_watchers, n_counting;
    atomic_ulong counted;
    atomic_ullong counted_bytes;
    atomic_ullong thrown_bytes;
    atomic_ullong first_us;
    atomic_ullong last_us;
    atomic_bool is_over;
};

/* The line of an event ends with "}\n"; the lines of HTTP chunks do not. */
static void
count_events(struct audience *a, struct watcher *w, const char *bytes, size_t n)
{
    const char *at = bytes, *end = bytes + n, *stop;

    while ((stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        if ((stop > bytes ? stop[-1] : w->last) == '}') {
            atomic_fetch_add(&a->counted, 1);
            atomic_fetch_add(&a->counted_bytes, w->line + (size_t)(stop + 1 - at));
        }
        at = stop + 1;
        w->line = 0;
    }
    w->line += (size_t)(end - at);
    w->last = bytes[n - 1];
}

static void
hear(struct audience *a, struct watcher *w, char *piece)
{
    ssize_t n = w->counts ? recv(w->fd, piece, PIECE, 0) : recv(w->fd, NULL, INT_MAX, MSG_TRUNC);
    unsigned long long now = (unsigned long long)clock_monotonic_us(&clock_system);

    if (n <= 0) {
        fprintf(stderr, "api: a watch ended\n");
        exit(1);
    }
    if (w->counts)
        count_events(a, w, piece, (size_t)n);
    else
        atomic_fetch_add(&a->thrown_bytes, (unsigned long long)n);
    if (atomic_load(&a->first_us) == 0)
        atomic_store(&a->first_us, now);
    atomic_store(&a->last_us, now);
}

/* Polls, so that it reads the data of a millisecond at once and the server need
 * not wake it.
 */
static void *
listen_all(void *arg)
{
    struct audience *a = arg;
    char *piece = xmalloc(PIECE);
    struct epoll_event ready[256];

    while (!atomic_load(&a->is_over)) {
        int n = epoll_wait(a->poll_fd, ready, ARRAY_SIZE(ready), 0);

        for (int i = 0; i < n; i++)
            hear(a, ready[i].data.ptr, piece);
        if (n == 0)
            usleep(REST_US);
    }
    free(piece);
    return NULL;
}

/* Waits for the response head: then the watch is established and misses
 * nothing.
 */
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
    limit.rlim_cur = watchers + 256 < limit.rlim_max ? watchers + 256 : limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

struct audience *
audience_new(const struct served *server, unsigned watchers)
{
    CLEANUP_STRBUF struct strbuf request = STRBUF_INIT;
    struct audience *a = xnew(struct audience);

    allow_files(watchers);
    a->n_watchers = watchers;
    a->watchers = xnew_array(struct watcher, watchers);
    a->poll_fd = epoll_create1(0);
    population_add_head(&request, "GET",
                        "/api/v1/namespaces/bench/pods?watch=true"
                        "&resourceVersion=%.0f",
                        population_metric(server, "kiln_store_revision"));
    strbuf_add_text(&request, "\r\n");
    for (unsigned i = 0; i < watchers; i++) {
        struct watcher *w = &a->watchers[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

        w->fd = asker_connect_from(server, i / PER_HOST);
        w->counts = i % COUNTS_ONE_IN == 0;
        a->n_counting += w->counts;
        asker_send(w->fd, request.text, request.length);
        await_head(w->fd);
        epoll_ctl(a->poll_fd, EPOLL_CTL_ADD, w->fd, &event);
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
    for (unsigned i = 0; i < a->n_watchers; i++)
        close(a->watchers[i].fd);
    close(a->poll_fd);
    free(a->watchers);
    free(a);
}

/* Lines are the same for all watchers; the bytes between them are not. */
static bool
has_all(const struct audience *a, unsigned long events)
{
    return atomic_load(&a->counted) >= events * a->n_counting
           && atomic_load(&a->thrown_bytes) * a->n_counting
                  >= atomic_load(&a->counted_bytes) * (a->n_watchers - a->n_counting);
}

double
audience_wait(struct audience *a, unsigned long events)
{
    unsigned long before = 0;
    int64_t since = clock_monotonic_us(&clock_system);

    while (!has_all(a, events)) {
        int64_t now = clock_monotonic_us(&clock_system);

        if (atomic_load(&a->counted) != before) {
            before = atomic_load(&a->counted);
            since = now;
        } else if (now - since > STUCK_S * 1000000LL) {
            fprintf(stderr, "api: %lu events of %lu came\n", before / a->n_counting, events);
            exit(1);
        }
        usleep(REST_US);
    }
    return (double)(atomic_load(&a->last_us) - atomic_load(&a->first_us)) / 1e6;
}
