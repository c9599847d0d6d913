/* SPDX-License-Identifier: Apache-2.0 */
/* A question for all rows of a large file takes seconds, and anybody may ask. So one thread answers
 * one question at a time, a page of rows takes a fifth of a second at most and says where to go on,
 * and a user has at most two questions here: however many one asks, others wait for two slices.
 */
#include "controller/history/history_questions.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/history/history_question.h"
#include "controller/history/history_reader.h"
#include "controller/store/write/serial_worker.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define OF_ONE_USER 2
#define OF_ALL      32
#define SLICE_US    200000 /* for a page of rows */
#define REPORT_US   3000000
#define READERS     4 /* threads at most, and one for each CPU */

struct asked {
    struct serial_worker_task task;
    struct history_questions *questions;
    const struct history_question *question;
    int64_t uid;
    history_answer_fn *done;
    void *context;
    struct strbuf text;
    int result;
    struct error err;
};

struct history_questions {
    struct serial_worker *worker;
    char *path;
    atomic_uint generation; /* counts the files opened */
    int64_t uids[OF_ALL];   /* of the askers whose questions are pending */
    size_t count;

    /* Used only by the reader's thread. */
    struct history_reader *reader;
    unsigned reader_generation;
};

/* ---- The thread ---- */

static unsigned
least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

static unsigned
count_cpus(void)
{
    cpu_set_t cpus;

    if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0)
        return 1;
    return (unsigned)CPU_COUNT(&cpus);
}

/* The number of CPUs on which no thread runs now, from proc_loadavg(5), whose
 * count includes this thread. Without an idle CPU the reader is faster alone,
 * and takes no time from the loop, the scheduler or a job.
 */
static unsigned
count_idle_cpus(void)
{
    const unsigned cpus = count_cpus();
    unsigned running = cpus;
    FILE *file = fopen("/proc/loadavg", "re");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*f %*f %*f %u/", &running) != 1)
        running = cpus;
    (void)fclose(file);
    return running < cpus ? cpus - running : 0;
}

static int
open_reader(struct history_questions *qs, struct error *err)
{
    const unsigned generation = atomic_load(&qs->generation);

    if (qs->reader != NULL && qs->reader_generation == generation)
        return 0;
    history_reader_close(qs->reader);
    qs->reader = NULL;
    qs->reader_generation = generation;
    return history_reader_open(qs->path, least(count_cpus(), READERS) - 1, &qs->reader, err);
}

static void
work(struct serial_worker_task *task)
{
    struct asked *a = container_of(task, struct asked, task);
    struct history_questions *qs = a->questions;

    a->result = open_reader(qs, &a->err);
    if (a->result < 0)
        return;
    if (a->question->by == HISTORY_BY_NOTHING)
        history_reader_use_helpers(qs->reader, least(count_idle_cpus(), READERS - 1));
    a->result = history_reader_answer(qs->reader, a->question,
                                      a->question->by == HISTORY_BY_NOTHING ? SLICE_US : REPORT_US,
                                      &a->text, &a->err);
}

/* ---- The loop ---- */

static void
forget(struct history_questions *qs, int64_t uid)
{
    for (size_t i = 0; i < qs->count; i++)
        if (qs->uids[i] == uid) {
            qs->uids[i] = qs->uids[--qs->count];
            return;
        }
}

static void
done(struct serial_worker_task *task)
{
    struct asked *a = container_of(task, struct asked, task);

    forget(a->questions, a->uid);
    if (a->result < 0)
        a->done(NULL, 0, &a->err, a->context);
    else
        a->done(a->text.text, a->text.length, NULL, a->context);
    strbuf_fini(&a->text);
    free(a);
}

int
history_questions_ask(struct history_questions *qs, const struct history_question *question,
                      history_answer_fn *done_fn, void *context, struct error *err)
{
    const int64_t uid = question->rights.uid;
    struct asked *a;
    unsigned of_user = 0;

    for (size_t i = 0; i < qs->count; i++)
        of_user += qs->uids[i] == uid;
    if (of_user >= OF_ONE_USER)
        return error_set(err, -EAGAIN,
                         "%d queries of yours to history are already running; "
                         "wait for them",
                         OF_ONE_USER);
    if (qs->count >= OF_ALL)
        return error_set(err, -EAGAIN,
                         "too many queries to history are running; ask again "
                         "in a moment");
    a = xnew(struct asked);
    a->questions = qs;
    a->question = question;
    a->uid = uid;
    a->done = done_fn;
    a->context = context;
    a->task.work = work;
    a->task.done = done;
    strbuf_init(&a->text);
    qs->uids[qs->count++] = uid;
    serial_worker_submit(qs->worker, &a->task);
    return 0;
}

void
history_questions_open(struct history_questions *qs)
{
    atomic_fetch_add(&qs->generation, 1);
}

struct history_questions *
history_questions_new(struct loop *loop, const char *path)
{
    struct history_questions *qs = xnew(struct history_questions);

    qs->path = xstrdup(path);
    qs->worker = serial_worker_new(loop, "history-read");
    return qs;
}

void
history_questions_stop(struct history_questions *qs)
{
    serial_worker_drain(qs->worker);
}

void
history_questions_free(struct history_questions *qs)
{
    if (qs == NULL)
        return;
    serial_worker_free(qs->worker);
    history_reader_close(qs->reader);
    free(qs->path);
    free(qs);
}
