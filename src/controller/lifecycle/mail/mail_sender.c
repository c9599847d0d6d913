/* SPDX-License-Identifier: Apache-2.0 */
/* Sending mail and remembering that it was sent are two steps, and a kill may come between
 * them. The mark is written after the mail, so that a mail may come twice, with the same
 * Message-ID, and is never lost. A mail program may hang or be slow, so a few run at a time,
 * each with a limit; and a user who submits ten thousand jobs with --mail-type=ALL gets a
 * bounded number an hour instead of using up everybody's turns.
 */
#include "controller/lifecycle/mail/mail_sender.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sysexits.h>
#include <unistd.h>

#include "controller/lifecycle/mail/mail_due.h"
#include "controller/lifecycle/mail/mail_text.h"
#include "controller/lifecycle/reconcile/object_cache.h"
#include "controller/lifecycle/reconcile/pending_calls.h"
#include "controller/lifecycle/reconcile/workqueue.h"
#include "lib/api/job/job.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/object_owner.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/pod_times.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/list.h"
#include "lib/base/log.h"
#include "lib/base/map.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/loop/timed_program.h"

#define AT_A_TIME     4u
#define FIRST_ADDRESS 3 /* among the arguments */
#define LIMIT_MS      30000
#define SECOND_US     INT64_C(1000000)
#define HOUR_US       (3600 * SECOND_US)
#define USERS_MOST    100000u /* whose mails are counted; then all begin anew */
#define MS_MOST       INT64_C(86400000)

/* Mails of a user that may be sent now: a bucket that fills in an hour. */
struct mail_account {
    double left;
    int64_t at_us;
};

struct mail_run_program {
    struct list link;
    struct mail_sender *sender;
    struct timed_program *program;
    char *key;
    char *mark;
};

struct mail_sender {
    struct mail_sender_settings s;
    struct workqueue *queue;
    struct map *users; /* by uid */
    struct list running;
};

/* ---- How much a user gets ---- */

static void
forget_users(struct mail_sender *m)
{
    size_t at = 0;
    void *account;

    while (map_next(m->users, &at, NULL, &account))
        free(account);
    map_clear(m->users);
}

/* The user's, filled up to now. */
static struct mail_account *
find_account(struct mail_sender *m, const struct object *job)
{
    const int64_t now_us = clock_monotonic_us(m->s.clock);
    const double most = (double)m->s.most_an_hour;
    struct mail_account *a;
    char key[24] = "nobody";
    uid_t uid;

    if (object_owner(job, &uid))
        snprintf(key, sizeof(key), "%u", (unsigned)uid);
    a = map_find(m->users, key);
    if (a == NULL) {
        if (map_count(m->users) >= USERS_MOST)
            forget_users(m);
        a = xnew(struct mail_account);
        *a = (struct mail_account){.left = most, .at_us = now_us};
        map_put(m->users, key, a);
    }
    a->left += most * (double)(now_us - a->at_us) / (double)HOUR_US;
    a->left = a->left > most ? most : a->left;
    a->at_us = now_us;
    return a;
}

/* Whether the program says that it will never take this mail. If it were tried again for
 * hours, mail to addresses that do not exist would take the turns of other users' mail.
 */
static bool
is_refused(const struct timed_program *program)
{
    switch (timed_program_exit_status(program)) {
    case EX_USAGE:
    case EX_DATAERR:
    case EX_NOUSER:
    case EX_NOHOST:
        return true;
    default:
        return false;
    }
}

/* A mail that the program did not take is not one that the user got. */
static void
refund(struct mail_sender *m, const struct object *job)
{
    if (job != NULL)
        find_account(m, job)->left += 1;
}

/* ---- The mark ---- */

static void
record(struct mail_sender *m, const struct object *job, const char *key, const char *mark)
{
    struct arena *arena = arena_new(0);
    struct json *body = json_object(arena);
    struct pending_calls *calls = pending_calls_begin(m->s.client, m->queue, key);

    json_set_string(
        arena, json_make_object(arena, json_make_object(arena, body, "metadata"), "annotations"),
        ANNOTATION_MAILED, mail_due_add_mark(job_of(job), mark, arena));
    pending_calls_patch(calls, arena, job, NULL, body);
    pending_calls_end(calls);
}

/* ---- The program ---- */

static void
program_free(struct mail_run_program *p)
{
    list_remove(&p->link);
    timed_program_free(p->program);
    free(p->key);
    free(p->mark);
    free(p);
}

static void
on_done(const char *failure, void *context)
{
    struct mail_run_program *p = context;
    struct mail_sender *m = p->sender;
    const struct object *job = object_cache_find_key(m->s.cache, &job_kind, p->key);

    if (failure != NULL && is_refused(p->program)) {
        log_warning("mail about job '%s': '%s': %s; it is not sent", p->key, m->s.program, failure);
        failure = NULL;
    }
    if (failure != NULL) {
        log_warning("mail about job '%s': '%s': %s; trying again", p->key, m->s.program, failure);
        refund(m, job);
        workqueue_done(m->queue, p->key, WORKQUEUE_FAILED);
    } else if (job == NULL) {
        workqueue_done(m->queue, p->key, WORKQUEUE_OK);
    } else {
        record(m, job, p->key, p->mark);
    }
    program_free(p);
}

/* The message as a file without a name. */
static int
open_message(const struct strbuf *text, struct error *err)
{
    int fd = memfd_create("mail", MFD_CLOEXEC);

    if (fd < 0)
        return error_set(err, -errno, "making a message: %s", strerror(errno));
    if (write(fd, text->text, text->length) == (ssize_t)text->length && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return error_set(err, -EIO, "writing a message failed");
}

static int
start_program(struct mail_sender *m, const char *key, const struct mail_facts *facts,
              struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char *argv[FIRST_ADDRESS + JOB_MAIL_ADDRESSES + 1] = {
        arena_strdup(arena, m->s.program), arena_strdup(arena, "-i"), arena_strdup(arena, "--")};
    char *rest = NULL, *address;
    size_t n = FIRST_ADDRESS;
    struct mail_run_program *p;
    int fd, r;

    address = strtok_r(arena_strdup(arena, facts->address), ",", &rest);
    for (; address != NULL && n < FIRST_ADDRESS + JOB_MAIL_ADDRESSES;
         address = strtok_r(NULL, ",", &rest))
        argv[n++] = address;
    mail_text_write(facts, arena, &text);
    fd = open_message(&text, err);
    if (fd < 0)
        return fd;
    p = xnew(struct mail_run_program);
    *p = (struct mail_run_program){
        .sender = m, .key = xstrdup(key), .mark = xstrdup(facts->due->mark)};
    list_add_last(&m->running, &p->link);
    r = timed_program_start(
        m->s.loop,
        &(struct timed_program_plan){
            .path = m->s.program, .argv = argv, .input = fd, .limit_ms = LIMIT_MS},
        on_done, p, &p->program, err);
    close(fd);
    if (r < 0)
        program_free(p);
    return r;
}

/* ---- What is due ---- */

static void
read_pod(const struct object *object, void *context)
{
    const struct pod *pod = pod_of(object);
    struct mail_run *run = context;

    if (pod_is_finished(pod) || pod_began_us(pod, 0) == 0)
        return;
    run->began_us = pod_began_us(pod, 0);
    run->limit_us = pod_limit_us(pod) != INT64_MAX ? pod_limit_us(pod) : 0;
    run->frozen_us = pod->status.frozen_us;
}

static bool
wants_mail(const struct object *job)
{
    return job != NULL && string_map_find(&job->meta->annotations, ANNOTATION_MAIL_TYPE) != NULL;
}

static const char *
find_address(const struct object *job)
{
    const char *address = string_map_find(&job->meta->annotations, ANNOTATION_MAIL_USER);

    if (address == NULL)
        address = string_map_find(&job->meta->annotations, ANNOTATION_USER);
    return address != NULL && job_mail_check_addresses(address, NULL) == 0 ? address : NULL;
}

static void
send_due(struct mail_sender *m, const struct object *job, const char *key, const char *address,
         const struct mail_due *due)
{
    struct mail_facts facts = {
        .job = job_of(job),
        .due = due,
        .address = address,
        .cluster = m->s.cluster,
        .now_us = clock_real_us(m->s.clock),
    };
    struct mail_account *account = find_account(m, job);
    struct error err = {0};

    if (account->left < 1) {
        record(m, job, key, due->mark);
        return;
    }
    account->left -= 1;
    facts.is_last = account->left < 1;
    if (start_program(m, key, &facts, &err) == 0)
        return;
    refund(m, job);
    log_warning("mail about job '%s': %s; trying again", key, err.text);
    workqueue_done(m->queue, key, WORKQUEUE_FAILED);
}

static void
work(const char *key, void *context)
{
    struct mail_sender *m = context;
    const struct object *job = object_cache_find_key(m->s.cache, &job_kind, key);
    const char *address = wants_mail(job) ? find_address(job) : NULL;
    struct mail_run run = {0};
    struct mail_due due;
    int64_t after_us = 0;

    if (address != NULL) {
        if (mail_due_needs_run(job_of(job)))
            object_cache_visit_owned(m->s.cache, job->meta->uid, read_pod, &run);
        if (mail_due_find(job_of(job), &run, clock_real_us(m->s.clock), &due, &after_us)) {
            send_due(m, job, key, address, &due);
            return;
        }
    }
    if (after_us > 0)
        workqueue_add_after(m->queue, key,
                            after_us / 1000 < MS_MOST ? after_us / 1000 + 1 : MS_MOST);
    workqueue_done(m->queue, key, WORKQUEUE_OK);
}

static void
on_job(const struct object *old_object, const struct object *new_object, void *context)
{
    struct mail_sender *m = context;
    char key[OBJECT_KEY_SIZE];

    (void)old_object;
    if (!wants_mail(new_object) || !object_cache_has_synced(m->s.cache))
        return;
    object_key(new_object, key);
    workqueue_add(m->queue, key);
}

static void
add_if_wanted(const struct object *job, void *context)
{
    struct mail_sender *m = context;
    char key[OBJECT_KEY_SIZE];

    if (!wants_mail(job))
        return;
    object_key(job, key);
    workqueue_add(m->queue, key);
}

static void
on_synced(void *context)
{
    struct mail_sender *m = context;

    object_cache_visit(m->s.cache, &job_kind, add_if_wanted, m);
}

struct mail_sender *
mail_sender_new(const struct mail_sender_settings *settings)
{
    struct mail_sender *m = xnew(struct mail_sender);

    m->s = *settings;
    m->users = map_new();
    list_init(&m->running);
    m->queue = workqueue_new(m->s.loop, AT_A_TIME, work, m);
    workqueue_follow_clock(m->queue, m->s.clock);
    object_cache_listen(m->s.cache, &job_kind, on_job, m);
    object_cache_on_synced(m->s.cache, on_synced, m);
    return m;
}

void
mail_sender_free(struct mail_sender *m)
{
    if (m == NULL)
        return;
    while (!list_is_empty(&m->running))
        program_free(container_of(m->running.next, struct mail_run_program, link));
    forget_users(m);
    map_free(m->users);
    workqueue_free(m->queue);
    free(m);
}
