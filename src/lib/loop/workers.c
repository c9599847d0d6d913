/* SPDX-License-Identifier: Apache-2.0 */
/* Only work that blocks belongs here, and few threads suffice, because such work waits for
 * others. Threads are started when there is work for them: most programs never need the second
 * one.
 */
#include "lib/loop/workers.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/base/thread.h"

struct task {
    struct task *next;
    struct loop *loop;
    loop_fn work;
    loop_fn done;
    void *arg;
};

/* `lock` guards all members after it. */
struct workers {
    unsigned count;
    pthread_mutex_t lock;
    pthread_cond_t more;
    struct task *first;
    struct task **end;
    size_t waiting;
    unsigned idle;
    unsigned started;
    bool is_ending;
    pthread_t threads[];
};

static struct task *
next_task(struct workers *w)
{
    struct task *task;

    pthread_mutex_lock(&w->lock);
    w->idle++;
    while (w->first == NULL && !w->is_ending)
        pthread_cond_wait(&w->more, &w->lock);
    w->idle--;
    task = w->first;
    if (task != NULL) {
        w->first = task->next;
        if (w->first == NULL)
            w->end = &w->first;
        w->waiting--;
    }
    pthread_mutex_unlock(&w->lock);
    return task;
}

static void *
worker_main(void *arg)
{
    struct workers *w = arg;
    struct task *task;

    while ((task = next_task(w)) != NULL) {
        task->work(task->arg);
        if (task->done != NULL)
            loop_post(task->loop, task->done, task->arg);
        free(task);
    }
    return NULL;
}

/* Called with the lock held. */
static void
start_one(struct workers *w)
{
    int r = thread_start(&w->threads[w->started], "worker", worker_main, w);

    if (r == 0) {
        w->started++;
        return;
    }
    if (w->started > 0) /* the other threads do the work */
        return;
    log_error("Cannot start a worker thread: %s", strerror(r));
    abort();
}

struct workers *
workers_new(unsigned count)
{
    struct workers *w;

    if (count == 0)
        count = 1;
    w = xcalloc(1, sizeof(*w) + count * sizeof(w->threads[0]));
    w->count = count;
    w->end = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    return w;
}

void
workers_free(struct workers *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->is_ending = true;
    pthread_cond_broadcast(&w->more);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->started; i++)
        pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void
workers_submit(struct workers *w, struct loop *loop, loop_fn work, loop_fn done, void *arg)
{
    struct task *task = xnew(struct task);
    bool has_idle;

    task->loop = loop;
    task->work = work;
    task->done = done;
    task->arg = arg;
    pthread_mutex_lock(&w->lock);
    *w->end = task;
    w->end = &task->next;
    w->waiting++;
    if (w->idle < w->waiting && w->started < w->count)
        start_one(w);
    has_idle = w->idle > 0;
    pthread_mutex_unlock(&w->lock);
    /* Signal without the lock, for which the woken thread would have to wait.
     */
    if (has_idle)
        pthread_cond_signal(&w->more);
}
