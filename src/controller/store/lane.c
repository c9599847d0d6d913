/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/lane.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/loop/fdwatch.h"

struct line {
    struct lane_task *first;
    struct lane_task **end;
};

/* `lock` guards `waiting`, `finished` and `is_ending`. */
struct lane {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct line waiting;
    struct line finished;
    bool is_ending;
    int bell; /* eventfd: rung when something is finished */
    struct fdwatch *watch;
    size_t length; /* the loop's own count */
};

static void
line_init(struct line *line)
{
    line->first = NULL;
    line->end = &line->first;
}

static void
line_add(struct line *line, struct lane_task *task)
{
    task->next = NULL;
    *line->end = task;
    line->end = &task->next;
}

static struct lane_task *
line_take(struct line *line)
{
    struct lane_task *task = line->first;

    if (task == NULL)
        return NULL;
    line->first = task->next;
    if (line->first == NULL)
        line->end = &line->first;
    return task;
}

static struct lane_task *
next_task(struct lane *lane)
{
    struct lane_task *task;

    pthread_mutex_lock(&lane->lock);
    while ((task = line_take(&lane->waiting)) == NULL && !lane->is_ending)
        pthread_cond_wait(&lane->more, &lane->lock);
    pthread_mutex_unlock(&lane->lock);
    return task;
}

static void
finish(struct lane *lane, struct lane_task *task)
{
    static const uint64_t one = 1;
    bool was_empty;

    pthread_mutex_lock(&lane->lock);
    was_empty = lane->finished.first == NULL;
    line_add(&lane->finished, task);
    pthread_mutex_unlock(&lane->lock);
    if (was_empty && write(lane->bell, &one, sizeof(one)) < 0)
        log_debug("ringing a lane's bell failed: %m");
}

static void *
lane_main(void *arg)
{
    struct lane *lane = arg;
    struct lane_task *task;

    while ((task = next_task(lane)) != NULL) {
        task->work(task);
        finish(lane, task);
    }
    return NULL;
}

static struct lane_task *
take_finished(struct lane *lane)
{
    struct lane_task *task;

    pthread_mutex_lock(&lane->lock);
    task = line_take(&lane->finished);
    pthread_mutex_unlock(&lane->lock);
    return task;
}

static void
answer(struct lane *lane)
{
    struct lane_task *task;

    while ((task = take_finished(lane)) != NULL) {
        lane->length--;
        if (task->done != NULL)
            task->done(task);
    }
}

static void
on_bell(int fd, unsigned ready, void *arg)
{
    uint64_t count;

    (void)ready;
    /* Emptied first: what is finished after that rings again. */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_debug("reading a lane's bell failed: %m");
    answer(arg);
}

struct lane *
lane_new(struct loop *loop, const char *name)
{
    struct lane *lane = xnew(struct lane);
    sigset_t all, before;
    int r;

    pthread_mutex_init(&lane->lock, NULL);
    pthread_cond_init(&lane->more, NULL);
    line_init(&lane->waiting);
    line_init(&lane->finished);
    lane->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (lane->bell < 0) {
        log_error("Cannot make an eventfd: %m (raise the limit of open "
                  "files, LimitNOFILE= or ulimit -n)");
        abort();
    }
    lane->watch = fdwatch_new(loop, lane->bell, FDWATCH_READ, on_bell, lane);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(&lane->thread, NULL, lane_main, lane);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r != 0) {
        log_error("Cannot start a thread: %s", strerror(r));
        abort();
    }
    (void)pthread_setname_np(lane->thread, name);
    return lane;
}

void
lane_drain(struct lane *lane)
{
    struct pollfd bell = {.fd = lane->bell, .events = POLLIN};

    while (lane->length > 0) {
        if (poll(&bell, 1, -1) < 0 && errno != EINTR)
            log_debug("waiting for a lane failed: %m");
        on_bell(lane->bell, FDWATCH_READ, lane);
    }
}

void
lane_free(struct lane *lane)
{
    if (lane == NULL)
        return;
    lane_drain(lane);
    pthread_mutex_lock(&lane->lock);
    lane->is_ending = true;
    pthread_cond_signal(&lane->more);
    pthread_mutex_unlock(&lane->lock);
    pthread_join(lane->thread, NULL);
    fdwatch_free(lane->watch);
    close(lane->bell);
    pthread_cond_destroy(&lane->more);
    pthread_mutex_destroy(&lane->lock);
    free(lane);
}

void
lane_submit(struct lane *lane, struct lane_task *task)
{
    lane->length++;
    pthread_mutex_lock(&lane->lock);
    line_add(&lane->waiting, task);
    pthread_cond_signal(&lane->more);
    pthread_mutex_unlock(&lane->lock);
}

size_t
lane_length(const struct lane *lane)
{
    return lane->length;
}
