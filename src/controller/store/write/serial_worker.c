/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/write/serial_worker.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"
#include "lib/loop/fdwatch.h"

struct tasks {
    struct serial_worker_task *first;
    struct serial_worker_task **end;
};

/* `lock` guards `waiting`, `finished` and `is_ending`. */
struct serial_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct tasks waiting;
    struct tasks finished;
    bool is_ending;
    int wake_fd; /* eventfd, written when a task is finished */
    struct fdwatch *watch;
    size_t length; /* pending tasks, as the loop counts them */
};

static void
tasks_init(struct tasks *tasks)
{
    tasks->first = NULL;
    tasks->end = &tasks->first;
}

static void
tasks_add(struct tasks *tasks, struct serial_worker_task *task)
{
    task->next = NULL;
    *tasks->end = task;
    tasks->end = &task->next;
}

static struct serial_worker_task *
tasks_take(struct tasks *tasks)
{
    struct serial_worker_task *task = tasks->first;

    if (task == NULL)
        return NULL;
    tasks->first = task->next;
    if (tasks->first == NULL)
        tasks->end = &tasks->first;
    return task;
}

static struct serial_worker_task *
next_task(struct serial_worker *worker)
{
    struct serial_worker_task *task;

    pthread_mutex_lock(&worker->lock);
    while ((task = tasks_take(&worker->waiting)) == NULL && !worker->is_ending)
        pthread_cond_wait(&worker->more, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
    return task;
}

static void
finish(struct serial_worker *worker, struct serial_worker_task *task)
{
    static const uint64_t one = 1;
    bool was_empty;

    pthread_mutex_lock(&worker->lock);
    was_empty = worker->finished.first == NULL;
    tasks_add(&worker->finished, task);
    pthread_mutex_unlock(&worker->lock);
    if (was_empty && write(worker->wake_fd, &one, sizeof(one)) < 0)
        log_debug("waking the loop failed: %m");
}

static void *
serial_worker_main(void *arg)
{
    struct serial_worker *worker = arg;
    struct serial_worker_task *task;

    while ((task = next_task(worker)) != NULL) {
        task->work(task);
        finish(worker, task);
    }
    return NULL;
}

static struct serial_worker_task *
take_finished(struct serial_worker *worker)
{
    struct serial_worker_task *task;

    pthread_mutex_lock(&worker->lock);
    task = tasks_take(&worker->finished);
    pthread_mutex_unlock(&worker->lock);
    return task;
}

static void
answer(struct serial_worker *worker)
{
    struct serial_worker_task *task;

    while ((task = take_finished(worker)) != NULL) {
        worker->length--;
        if (task->done != NULL)
            task->done(task);
    }
}

static void
on_wake(int fd, unsigned ready, void *arg)
{
    uint64_t count;

    (void)ready;
    /* The eventfd is emptied first: a task that finishes after that writes to
     * it again.
     */
    if (read(fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
        log_debug("reading a worker's wake-up failed: %m");
    answer(arg);
}

struct serial_worker *
serial_worker_new(struct loop *loop, const char *name)
{
    struct serial_worker *worker = xnew(struct serial_worker);
    int r;

    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->more, NULL);
    tasks_init(&worker->waiting);
    tasks_init(&worker->finished);
    worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (worker->wake_fd < 0) {
        log_error("Cannot make an eventfd: %m (raise the limit of open "
                  "files, LimitNOFILE= or ulimit -n)");
        abort();
    }
    worker->watch = fdwatch_new(loop, worker->wake_fd, FDWATCH_READ, on_wake, worker);
    r = thread_start(&worker->thread, name, serial_worker_main, worker);
    if (r != 0) {
        log_error("Cannot start a thread: %s", strerror(r));
        abort();
    }
    return worker;
}

void
serial_worker_drain(struct serial_worker *worker)
{
    struct pollfd wake_fd = {.fd = worker->wake_fd, .events = POLLIN};

    while (worker->length > 0) {
        if (poll(&wake_fd, 1, -1) < 0 && errno != EINTR)
            log_debug("waiting for a worker failed: %m");
        on_wake(worker->wake_fd, FDWATCH_READ, worker);
    }
}

void
serial_worker_free(struct serial_worker *worker)
{
    if (worker == NULL)
        return;
    serial_worker_drain(worker);
    pthread_mutex_lock(&worker->lock);
    worker->is_ending = true;
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
    pthread_join(worker->thread, NULL);
    fdwatch_free(worker->watch);
    close(worker->wake_fd);
    pthread_cond_destroy(&worker->more);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

void
serial_worker_submit(struct serial_worker *worker, struct serial_worker_task *task)
{
    worker->length++;
    pthread_mutex_lock(&worker->lock);
    tasks_add(&worker->waiting, task);
    pthread_cond_signal(&worker->more);
    pthread_mutex_unlock(&worker->lock);
}

size_t
serial_worker_length(const struct serial_worker *worker)
{
    return worker->length;
}
