/* SPDX-License-Identifier: Apache-2.0 */
/* Threads share nothing but messages. The mailbox is a stack that any thread pushes onto with
 * one atomic operation, and only the thread that finds it empty wakes the loop; the loop takes
 * all at once and reverses them. Posted calls have a bound of time in each turn, so that a
 * thread which posts without an end cannot keep timers and sockets waiting.
 */
#include "lib/loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/loop/base.h"

struct posted_call {
    struct posted_call *next;
    loop_fn fn;
    void *arg;
};

/* The time that one turn spends on posted calls, so that descriptors and timers
 * get their turn when another thread posts many.
 */
#define ANSWER_READER_US 250

/* The mailbox is a stack: any thread pushes onto it, and the loop takes all of
 * it and reverses it, so that neither side ever waits for the other. `unread`
 * has the calls taken but not run yet, `deferred` is the loop's own queue.
 */
struct loop {
    struct event_base *base;
    struct event wake;
    struct event deferred_run;
    int wake_fd;
    bool stopped;
    _Atomic(struct posted_call *) mailbox;
    struct posted_call *unread;
    struct posted_call **unread_end;
    struct posted_call *deferred;
    struct posted_call **deferred_end;
};

static struct posted_call *
call_new(loop_fn fn, void *arg)
{
    struct posted_call *call = xmalloc(sizeof(*call));

    call->next = NULL;
    call->fn = fn;
    call->arg = arg;
    return call;
}

static struct posted_call *
reverse(struct posted_call *call)
{
    struct posted_call *turned = NULL;

    while (call != NULL) {
        struct posted_call *next = call->next;

        call->next = turned;
        turned = call;
        call = next;
    }
    return turned;
}

static void
discard(struct posted_call *call)
{
    while (call != NULL) {
        struct posted_call *next = call->next;

        free(call);
        call = next;
    }
}

static void
ring(struct loop *loop)
{
    static const uint64_t one = 1;

    if (write(loop->wake_fd, &one, sizeof(one)) < 0)
        log_debug("waking a loop failed: %m");
}

static void
open_mailbox(struct loop *loop)
{
    *loop->unread_end = reverse(atomic_exchange(&loop->mailbox, NULL));
    while (*loop->unread_end != NULL)
        loop->unread_end = &(*loop->unread_end)->next;
}

/* Runs posted calls until there are none, the loop is stopped, or the time is
 * over; the rest waits for the next turn or run.
 */
static bool
run_mailbox(struct loop *loop, int64_t until_us)
{
    bool any;

    open_mailbox(loop);
    any = loop->unread != NULL;
    while (loop->unread != NULL) {
        struct posted_call *call = loop->unread;

        loop->unread = call->next;
        if (loop->unread == NULL)
            loop->unread_end = &loop->unread;
        call->fn(call->arg);
        free(call);
        if (loop->unread != NULL
            && (loop->stopped || clock_monotonic_us(&clock_system) >= until_us)) {
            ring(loop);
            break;
        }
    }
    return any;
}

/* When a call stops the loop, the calls after it are put back at the front of
 * the queue, for the next run.
 */
static bool
run_deferred(struct loop *loop)
{
    struct posted_call *call = loop->deferred;
    bool any = call != NULL;

    loop->deferred = NULL;
    loop->deferred_end = &loop->deferred;
    while (call != NULL) {
        struct posted_call *next = call->next;

        call->fn(call->arg);
        free(call);
        call = next;
        if (loop->stopped && call != NULL) {
            struct posted_call *last = call;

            while (last->next != NULL)
                last = last->next;
            last->next = loop->deferred;
            if (loop->deferred == NULL)
                loop->deferred_end = &last->next;
            loop->deferred = call;
            event_active(&loop->deferred_run, EV_TIMEOUT, 0);
            break;
        }
    }
    return any;
}

static void
on_wake(evutil_socket_t fd, short events, void *arg)
{
    uint64_t count;

    (void)events;
    /* Empty the eventfd first: a post that comes after the exchange writes it
     * again.
     */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_debug("reading a loop's eventfd failed: %m");
    (void)run_mailbox(arg, clock_monotonic_us(&clock_system) + ANSWER_READER_US);
}

static void
on_deferred(evutil_socket_t fd, short events, void *arg)
{
    (void)fd;
    (void)events;
    (void)run_deferred(arg);
}

/* No locks: a base is used by one thread, and loop_post does not touch it. The
 * change list spares system calls for changes that are undone within a turn.
 * With it, a descriptor may be removed from epoll after it was closed, when
 * another thread may already have the same number; the kernel then reports that
 * it is not registered, which libevent expects. ThreadSanitizer goes by the
 * numbers and would report a race.
 */
#ifdef __SANITIZE_THREAD__
#define CHANGE_LIST 0
#else
#define CHANGE_LIST EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST
#endif

static struct event_base *
base_new(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL) {
        event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
        event_config_set_flag(config, EVENT_BASE_FLAG_IGNORE_ENV);
        event_config_set_flag(config, CHANGE_LIST);
        base = event_base_new_with_config(config);
        event_config_free(config);
    }
    return base;
}

struct loop *
loop_new(void)
{
    struct loop *loop = xnew(struct loop);

    signal(SIGPIPE, SIG_IGN);
    loop->base = base_new();
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->base == NULL || loop->wake_fd < 0) {
        log_error("Cannot make an event loop: %m (raise the limit of open "
                  "files, LimitNOFILE= or ulimit -n)");
        abort();
    }
    loop->deferred_end = &loop->deferred;
    loop->unread_end = &loop->unread;
    event_assign(&loop->wake, loop->base, loop->wake_fd, EV_READ | EV_PERSIST, on_wake, loop);
    event_add(&loop->wake, NULL);
    event_assign(&loop->deferred_run, loop->base, -1, 0, on_deferred, loop);
    return loop;
}

void
loop_free(struct loop *loop)
{
    if (loop == NULL)
        return;
    event_del(&loop->wake);
    event_del(&loop->deferred_run);
    close(loop->wake_fd);
    discard(atomic_exchange(&loop->mailbox, NULL));
    discard(loop->unread);
    discard(loop->deferred);
    event_base_free(loop->base);
    free(loop);
}

void
loop_run(struct loop *loop)
{
    while (!loop->stopped)
        event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
    loop->stopped = false;
}

static void
stop_now(void *arg)
{
    struct loop *loop = arg;

    loop->stopped = true;
    event_base_loopbreak(loop->base);
}

void
loop_stop(struct loop *loop)
{
    loop_post(loop, stop_now, loop);
}

void
loop_drain(struct loop *loop)
{
    bool any;

    do {
        any = run_mailbox(loop, INT64_MAX);
        any = run_deferred(loop) || any;
        loop->stopped = false;
    } while (any);
}

void
loop_post(struct loop *loop, loop_fn fn, void *arg)
{
    struct posted_call *call = call_new(fn, arg);
    struct posted_call *top = atomic_load(&loop->mailbox);

    do
        call->next = top;
    while (!atomic_compare_exchange_weak(&loop->mailbox, &top, call));

    /* The thread that finds the mailbox empty wakes the loop; calls posted
     * after that are run in the same turn.
     */
    if (top == NULL)
        ring(loop);
}

void
loop_defer(struct loop *loop, loop_fn fn, void *arg)
{
    struct posted_call *call = call_new(fn, arg);

    if (loop->deferred == NULL)
        event_active(&loop->deferred_run, EV_TIMEOUT, 0);
    *loop->deferred_end = call;
    loop->deferred_end = &call->next;
}

int64_t
loop_now_ms(void)
{
    return clock_monotonic_us(&clock_system) / 1000;
}

struct event_base *
loop_base(const struct loop *loop)
{
    return loop->base;
}
