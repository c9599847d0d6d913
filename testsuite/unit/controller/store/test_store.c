/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/api/job/job.h"
#include "lib/base/random.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

START_TEST(a_change_is_published_when_it_is_durable_and_not_before)
{
    struct place p;

    place_init(&p);
    place_put(&p, "x", "n1");

    ck_assert_ptr_null(place_find(&p, "x"));
    ck_assert_ptr_nonnull(store_find(p.store, STORE_PENDING, &pod_kind, "a", "x"));
    place_settle(&p);
    ck_assert_ptr_nonnull(place_find(&p, "x"));
    ck_assert_int_eq(place_find(&p, "x")->revision, store_revision(p.store));
    ck_assert_uint_eq(store_count(p.store, &pod_kind), 1);
    place_fini(&p);
}
END_TEST

START_TEST(written_objects_are_there_after_a_restart)
{
    struct place p;
    int64_t revision;

    place_init(&p);
    place_put(&p, "x", "n1");
    place_put(&p, "y", "n1");
    place_remove(&p, "y");
    place_settle(&p);
    revision = place_find(&p, "x")->revision;

    place_reopen(&p);

    ck_assert_int_eq(place_find(&p, "x")->revision, revision);
    ck_assert_ptr_null(place_find(&p, "y"));
    ck_assert_int_ge(store_revision(p.store), revision + 2);
    place_fini(&p);
}
END_TEST

#define ROUNDS    12
#define IN_FLIGHT 16
#define MOST_JOBS 200000

/* A durable write of the child, reported to the parent. */
struct acknowledgement {
    int64_t id;
    int64_t revision;
    int64_t count; /* number of changes of the pod that all of them change */
};

struct child {
    struct place *place;
    int64_t count;
    int told; /* the pipe */
};

struct write {
    struct child *child;
    struct acknowledgement acknowledgement;
};

static void write_one(struct child *child);

static void
on_durable(int outcome, void *context)
{
    struct write *w = context;
    struct child *child = w->child;

    if (outcome != 0
        || write(child->told, &w->acknowledgement, sizeof(w->acknowledgement))
               != sizeof(w->acknowledgement))
        _exit(1);
    free(w);
    write_one(child);
}

static void
put_job(struct store_txn *txn, int64_t id)
{
    CLEANUP_FREE char *name = xasprintf("job-%" PRId64, id);
    CLEANUP_FREE char *more = xasprintf(",\"status\":{\"id\":%" PRId64 "}", id);

    store_txn_put_blob(txn, name, more, strlen(more));
    store_txn_put(txn, place_object(&job_kind, store_txn_revision(txn), "a", name, more), NULL);
}

/* Usually written as a delta; only the first writes the whole pod. */
static void
put_count(struct store_txn *txn, int64_t count)
{
    CLEANUP_FREE char *labels = xasprintf("\"labels\":{\"count\":\"%" PRId64 "\"}", count);
    CLEANUP_FREE char *delta = xasprintf("{\"metadata\":{%s}}", labels);
    CLEANUP_FREE char *text = xasprintf("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                                        "\"name\":\"counted\",\"namespace\":\"a\","
                                        "\"resourceVersion\":\"%" PRId64 "\",%s},\"spec\":{"
                                        "\"nodeName\":\"a-node-with-a-name-of-some-length\","
                                        "\"schedulerName\":\"a-scheduler-with-a-name-as-long\"}}",
                                        store_txn_revision(txn), labels);
    const struct object *object;

    ck_assert_int_eq(object_parse(&pod_kind, text, strlen(text), &object, NULL), 0);
    store_txn_put(txn, object, delta);
}

static void
write_one(struct child *child)
{
    struct store_txn *txn = store_begin(child->place->store);
    struct write *w = xnew(struct write);

    w->child = child;
    w->acknowledgement.id = store_txn_job_id(txn);
    w->acknowledgement.revision = store_txn_revision(txn);
    w->acknowledgement.count = ++child->count;
    put_job(txn, w->acknowledgement.id);
    put_count(txn, w->acknowledgement.count);
    store_commit(txn, on_durable, w);
}

static void NORETURN
write_until_killed(struct place *p, int64_t count, int told)
{
    struct child child = {p, count, told};

    p->loop = loop_new();
    place_open(p);
    for (int i = 0; i < IN_FLIGHT; i++)
        write_one(&child);
    loop_run(p->loop);
    _exit(1);
}

static int64_t
counted(const struct place *p)
{
    const struct object *pod = place_find(p, "counted");

    return pod != NULL ? atoll(string_map_find(&pod->meta->labels, "count")) : 0;
}

/* Checks that everything reported through the pipe exists, and that no id came
 * twice.
 */
static unsigned
check_acknowledged(struct place *p, int told, int64_t *revisions)
{
    struct acknowledgement a;
    unsigned n = 0;

    for (; read(told, &a, sizeof(a)) == sizeof(a); n++) {
        const struct object *job = store_find_job_id(p->store, STORE_PUBLISHED, a.id);

        ck_assert_ptr_nonnull(job);
        ck_assert_int_eq(job->revision, a.revision);
        ck_assert_int_lt(a.id, MOST_JOBS);
        ck_assert_int_eq(revisions[a.id], 0);
        revisions[a.id] = a.revision;
        ck_assert_int_ge(counted(p), a.count);
        ck_assert_int_gt(store_revision(p->store), a.revision);
    }
    return n;
}

static void
kill_soon(struct place *p, int64_t count, int told[2], unsigned after_us)
{
    pid_t pid;

    ck_assert_int_eq(pipe(told), 0);
    ck_assert_int_ne(fcntl(told[1], F_SETPIPE_SZ, 1 << 20), -1);
    pid = fork();
    if (pid == 0)
        write_until_killed(p, count, told[1]);
    close(told[1]);
    if (after_us % 4 != 0) /* otherwise it may be killed during its start */
        (void)poll(&(struct pollfd){.fd = told[0], .events = POLLIN}, 1, -1);
    usleep(after_us);
    kill(pid, SIGKILL);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

START_TEST(acknowledged_changes_outlive_kill_9_and_no_id_comes_twice)
{
    struct place p;
    struct random_source random = {(uint64_t)getpid()};
    int64_t *revisions = xnew_array(int64_t, MOST_JOBS);
    unsigned acknowledged = 0;

    place_init(&p);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t count = counted(&p);
        int told[2];

        store_close(p.store);
        kill_soon(&p, count, told, (unsigned)random_below(&random, 60000));
        place_open(&p);
        acknowledged += check_acknowledged(&p, told[0], revisions);
        close(told[0]);
    }

    ck_assert_uint_gt(acknowledged, 0);
    for (int64_t id = 1; id < MOST_JOBS; id++)
        if (revisions[id] != 0)
            ck_assert_int_eq(store_find_job_id(p.store, STORE_PUBLISHED, id)->revision,
                             revisions[id]);
    free(revisions);
    place_fini(&p);
}
END_TEST

SUITE("store", a_change_is_published_when_it_is_durable_and_not_before,
      written_objects_are_there_after_a_restart,
      acknowledged_changes_outlive_kill_9_and_no_id_comes_twice)
