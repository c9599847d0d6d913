/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/engine/engine_sqlite.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "controller/store/engine/sql.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/store/place.h"

struct bed {
    char *directory;
    char *path;
    struct engine *engine;
    struct engine_counters counters;
};

static int
try_open(struct bed *b, struct error *err)
{
    const struct engine_sqlite_settings settings = {.path = b->path};

    return engine_sqlite_open(&settings, &b->engine, &b->counters, err);
}

static void
init(struct bed *b)
{
    *b = (struct bed){.directory = scratch_new()};
    b->path = xasprintf("%s/kiln.db", b->directory);
    ck_assert_int_eq(try_open(b, NULL), 0);
}

static void
fini(struct bed *b)
{
    b->engine->ops->close(b->engine);
    free(b->path);
    scratch_freep(&b->directory);
}

static enum engine_outcome
apply(struct bed *b, int64_t revision, const struct engine_op *ops, size_t n, struct error *err)
{
    struct engine_batch batch = {
        .expected_revision = b->counters.revision,
        .after = b->counters,
        .ops = ops,
        .n_ops = n,
    };
    enum engine_outcome outcome;

    batch.after.revision = revision;
    outcome = b->engine->ops->apply(b->engine, &batch, err);
    if (outcome == ENGINE_COMMITTED)
        b->counters = batch.after;
    return outcome;
}

static struct engine_op
insert(int64_t row)
{
    return (struct engine_op){
        .verb = ENGINE_INSERT,
        .row = row,
        .revision = row,
        .kind = "pods",
        .namespace = "a",
        .name = "x",
        .bytes = "{}",
        .length = 2,
    };
}

static int64_t
count_rows(const struct bed *b)
{
    int64_t rows = -1;

    ck_assert_int_eq(
        sql_number(engine_sqlite_of(b->engine)->db, "SELECT count(*) FROM objects", &rows, NULL),
        0);
    return rows;
}

START_TEST(a_batch_is_applied_whole_or_not_at_all)
{
    struct bed b;
    struct error err = {0};

    init(&b);
    ck_assert_int_eq(apply(&b, 2, (struct engine_op[]){insert(1), insert(2)}, 2, NULL),
                     ENGINE_COMMITTED);

    ck_assert_int_eq(apply(&b, 4, (struct engine_op[]){insert(3), insert(2)}, 2, &err),
                     ENGINE_UNKNOWN);

    ck_assert_int_eq(count_rows(&b), 2);
    ck_assert_ptr_nonnull(strstr(err.text, b.path));
    ck_assert_int_eq(apply(&b, 5, NULL, 0, NULL), ENGINE_COMMITTED);
    fini(&b);
}
END_TEST

START_TEST(a_change_of_what_is_not_there_is_refused)
{
    struct bed b;
    const struct engine_op ops[] = {
        {.verb = ENGINE_UPDATE, .row = 9, .revision = 1, .bytes = "{}"},
        {.verb = ENGINE_DELETE, .row = 9},
        {.verb = ENGINE_DROP_DELTA, .revision = 9},
        {.verb = ENGINE_COUNT_BLOB, .row = 9},
        {.verb = ENGINE_DROP_SECRET, .name = "none"},
    };

    init(&b);
    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        ck_assert_int_eq(apply(&b, 1, &ops[i], 1, NULL), ENGINE_UNKNOWN);
    fini(&b);
}
END_TEST

START_TEST(a_fenced_engine_can_commit_nothing_more)
{
    struct bed first, second;
    struct error err = {0};

    init(&first);
    second = first;
    ck_assert_int_eq(try_open(&second, NULL), 0);

    ck_assert_int_eq(apply(&first, 1, (struct engine_op[]){insert(1)}, 1, &err), ENGINE_FENCED);

    ck_assert_ptr_nonnull(strstr(err.text, "taken over"));
    ck_assert_int_eq(count_rows(&second), 0);
    ck_assert_int_eq(apply(&second, 1, (struct engine_op[]){insert(1)}, 1, NULL), ENGINE_COMMITTED);
    second.engine->ops->close(second.engine);
    fini(&first);
}
END_TEST

START_TEST(the_log_is_copied_back_and_begun_anew)
{
    struct bed b;
    int64_t row = 0;
    char body[3000];
    size_t before;

    init(&b);
    memset(body, 'x', sizeof(body));
    for (int i = 0; i < 100; i++) {
        struct engine_op op = insert(++row);

        op.bytes = body;
        op.length = sizeof(body);
        ck_assert_int_eq(apply(&b, row, &op, 1, NULL), ENGINE_COMMITTED);
    }
    before = b.engine->ops->backlog(b.engine);
    ck_assert_uint_gt(before, 100 * sizeof(body));

    ck_assert_int_eq(b.engine->ops->checkpoint(b.engine, NULL), 0);
    ck_assert_int_eq(b.engine->ops->finish_checkpoint(b.engine, NULL), 0);
    ck_assert_int_eq(apply(&b, ++row, NULL, 0, NULL), ENGINE_COMMITTED);

    ck_assert_uint_lt(b.engine->ops->backlog(b.engine), before / 10);
    ck_assert_int_eq(count_rows(&b), 100);
    fini(&b);
}
END_TEST

/* Overwrites a part of the file. */
static void
damage(const char *path, off_t from, size_t length)
{
    CLEANUP_FREE char *block = xmalloc(length);
    int fd = open(path, O_RDWR);

    ck_assert_int_ge(fd, 0);
    memset(block, 'x', length);
    ck_assert_int_eq(pwrite(fd, block, length, from), (ssize_t)length);
    close(fd);
}

static const struct {
    off_t from;
    size_t length;
} damages[] = {{0, 100}, {0, 4096}, {4096, 4096}, {8192, 4096}, {12288, 64}};

START_TEST(a_damaged_file_is_refused_with_a_remedy)
{
    for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
        struct bed b;
        struct error err = {0};
        int64_t row = 0;

        init(&b);
        while (row < 200) {
            struct engine_op op = insert(++row);

            ck_assert_int_eq(apply(&b, row, &op, 1, NULL), ENGINE_COMMITTED);
        }
        b.engine->ops->close(b.engine);
        damage(b.path, damages[i].from, damages[i].length);

        ck_assert_int_eq(try_open(&b, &err), -EUCLEAN);

        ck_assert_ptr_nonnull(strstr(err.text, b.path));
        ck_assert_ptr_nonnull(strstr(err.text, "backup"));
        free(b.path);
        scratch_freep(&b.directory);
    }
}
END_TEST

static void
look_for_lock(const char *path)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR);

    lock.l_start = 0x40000000; /* the position of SQLite's locks */
    lock.l_len = 512;
    _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 0 : 1);
}

static int
open_relaxed(struct bed *b, struct error *err)
{
    const struct engine_sqlite_settings settings = {
        .path = b->path,
        .is_relaxed = true,
    };

    return engine_sqlite_open(&settings, &b->engine, &b->counters, err);
}

/* As after a full disk: the insert of row 2 was refused, its change was not. */
START_TEST(a_change_of_a_row_that_was_left_out_is_forgotten)
{
    const struct engine_op late = {
        .verb = ENGINE_ADD_DELTA,
        .row = 2,
        .revision = 3,
        .bytes = "{}",
        .length = 2,
    };
    struct bed b = {.directory = scratch_new()};
    struct engine_op ops[] = {insert(1), late, insert(3)};
    struct engine_scan *scan;
    struct engine_row row;

    b.path = xasprintf("%s/events.db", b.directory);
    ck_assert_int_eq(open_relaxed(&b, NULL), 0);
    ck_assert_int_eq(apply(&b, 3, ops, 3, NULL), ENGINE_COMMITTED);
    b.engine->ops->close(b.engine);

    ck_assert_int_eq(open_relaxed(&b, NULL), 0);
    ck_assert_int_eq(apply(&b, 4, (struct engine_op[]){insert(2)}, 1, NULL), ENGINE_COMMITTED);
    ck_assert_int_eq(b.engine->ops->scan_open(b.engine, &scan, NULL), 0);
    for (int64_t i = 1; i <= 3; i++) {
        ck_assert_int_eq(b.engine->ops->scan_next(scan, &row, NULL), 1);
        ck_assert_int_eq(row.row, i);
        ck_assert_uint_eq(row.n_deltas, 0);
    }
    b.engine->ops->scan_close(scan);
    fini(&b);
}
END_TEST

START_TEST(the_file_stays_locked_with_all_its_connections)
{
    struct bed b;
    int status;
    pid_t child;

    init(&b);
    ck_assert_int_eq(apply(&b, 1, NULL, 0, NULL), ENGINE_COMMITTED);

    child = fork();
    if (child == 0)
        look_for_lock(b.path);
    ck_assert_int_eq(waitpid(child, &status, 0), child);

    ck_assert_int_eq(status, 0);
    fini(&b);
}
END_TEST

START_TEST(a_file_that_may_not_be_opened_is_named)
{
    struct bed b = {.directory = scratch_new()};
    struct error err = {0};

    b.path = xasprintf("%s/missing/kiln.db", b.directory);

    ck_assert_int_eq(try_open(&b, &err), -ENOENT);

    ck_assert_ptr_nonnull(strstr(err.text, b.path));
    free(b.path);
    scratch_freep(&b.directory);
}
END_TEST

/* Mounts a small file system, which is unmounted with the process. */
static bool
mount_small_disk(const char *where)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
           && mount("kiln-test", where, "tmpfs", 0, "size=48m") == 0;
}

#define BIG 400000 /* bytes of a row: two hundred pages of the log */

static enum engine_outcome
write_big(struct bed *b)
{
    static char bytes[BIG];
    struct engine_op update = {
        .verb = ENGINE_UPDATE,
        .row = 1,
        .revision = b->counters.revision + 1,
        .bytes = bytes,
        .length = sizeof(bytes),
    };

    memset(bytes, 'a' + (int)(b->counters.revision % 26), sizeof(bytes));
    return apply(b, update.revision, &update, 1, NULL);
}

/* The log is long, and was restarted: later frames overwrite it. */
static void
fill_log_and_die(struct bed *b)
{
    struct engine_op first = insert(1);

    ck_assert_int_eq(apply(b, 1, &first, 1, NULL), ENGINE_COMMITTED);
    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(write_big(b), ENGINE_COMMITTED);
    ck_assert_int_eq(b->engine->ops->finish_checkpoint(b->engine, NULL), 0);
    ck_assert_int_eq(write_big(b), ENGINE_COMMITTED);
    _exit(0);
}

static void
fill_disk(const struct bed *b)
{
    CLEANUP_FREE char *path = xasprintf("%s/filler", b->directory);
    CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    static const char zeros[4096];

    while (write(fd, zeros, sizeof(zeros)) > 0)
        continue;
}

START_TEST(a_log_that_is_written_over_needs_no_space)
{
    struct bed b = {.directory = scratch_new()};
    pid_t child;
    int status;

    if (!mount_small_disk(b.directory)) {
        scratch_freep(&b.directory);
        return; /* only root can mount */
    }
    b.path = xasprintf("%s/kiln.db", b.directory);
    child = fork();
    if (child == 0) {
        ck_assert_int_eq(try_open(&b, NULL), 0);
        fill_log_and_die(&b);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(try_open(&b, NULL), 0);
    fill_disk(&b);

    for (int i = 0; i < 30; i++)
        ck_assert_int_eq(write_big(&b), ENGINE_COMMITTED);

    umount2(b.directory, MNT_DETACH);
    fini(&b);
}
END_TEST

SUITE("engine_sqlite", a_log_that_is_written_over_needs_no_space,
      a_batch_is_applied_whole_or_not_at_all, a_change_of_what_is_not_there_is_refused,
      a_fenced_engine_can_commit_nothing_more, the_log_is_copied_back_and_begun_anew,
      a_damaged_file_is_refused_with_a_remedy, a_change_of_a_row_that_was_left_out_is_forgotten,
      the_file_stays_locked_with_all_its_connections, a_file_that_may_not_be_opened_is_named)
