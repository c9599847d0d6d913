/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/directory/initialize.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/store/store.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/loop/loop.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static void
write_file(const char *directory, const char *name, const char *text)
{
    CLEANUP_FREE char *path = xasprintf("%s/%s", directory, name);
    struct error err = {0};

    ck_assert_msg(file_write_atomic(path, 0600, text, strlen(text), &err) == 0, "%s", err.text);
}

/* Opens the store like a controller, and closes it. */
static int
try_to_start(const char *directory, struct error *err)
{
    struct loop *loop = loop_new();
    struct store *store = NULL;
    int r = store_open(
        &(struct store_settings){
            .loop = loop,
            .clock = &clock_system,
            .location.directory = directory,
            .must_exist = true,
        },
        &store, err);

    store_close(store);
    loop_free(loop);
    return r;
}

START_TEST(a_directory_without_a_store_is_refused_and_left_alone)
{
    CLEANUP(scratch_freep) char *place = scratch_new();
    CLEANUP_FREE char *missing = xasprintf("%s/missing", place);
    struct error err = {0};

    ck_assert_int_eq(try_to_start(missing, &err), -ENOENT);

    ck_assert_ptr_nonnull(strstr(err.text, missing));
    ck_assert_ptr_nonnull(strstr(err.text, "--init"));
    ck_assert_int_eq(access(missing, F_OK), -1);
}
END_TEST

START_TEST(an_initialized_directory_is_started)
{
    CLEANUP(scratch_freep) char *place = scratch_new();
    CLEANUP_FREE char *directory = xasprintf("%s/state", place);
    struct error err = {0};
    bool was_there = true;

    ck_assert_int_eq(store_initialize(&(struct store_location){directory, NULL}, &was_there, &err),
                     0);

    ck_assert(!was_there);
    ck_assert_msg(try_to_start(directory, &err) == 0, "%s", err.text);
}
END_TEST

START_TEST(a_store_that_is_there_stays)
{
    CLEANUP(scratch_freep) char *place = scratch_new();
    struct error err = {0};
    bool was_there = false;

    ck_assert_int_eq(store_initialize(&(struct store_location){place, NULL}, &was_there, &err), 0);
    ck_assert_int_eq(store_initialize(&(struct store_location){place, NULL}, &was_there, &err), 0);

    ck_assert(was_there);
}
END_TEST

/* The file system has lost the data, or only the log is left. */
START_TEST(a_store_without_tables_is_none)
{
    CLEANUP(scratch_freep) char *place = scratch_new();
    struct error err = {0};
    bool was_there = true;

    write_file(place, "kiln.db", "");
    ck_assert_int_eq(try_to_start(place, &err), -ENOENT);

    ck_assert_int_eq(store_initialize(&(struct store_location){place, NULL}, &was_there, &err), 0);
    ck_assert(!was_there);
    ck_assert_int_eq(try_to_start(place, &err), 0);
}
END_TEST

START_TEST(no_store_is_made_beside_the_rest_of_another)
{
    static const char *const rests[] = {
        "events.db",
        "kiln.db-wal",
        "kiln.db.before-restore",
    };

    for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
        CLEANUP(scratch_freep) char *place = scratch_new();
        CLEANUP_FREE char *store = xasprintf("%s/kiln.db", place);
        struct error err = {0};
        bool was_there;

        write_file(place, rests[i], "what was");

        ck_assert_int_eq(store_initialize(&(struct store_location){place, NULL}, &was_there, &err),
                         -EEXIST);
        ck_assert_ptr_nonnull(strstr(err.text, rests[i]));
        ck_assert_int_eq(access(store, F_OK), -1);
    }
}
END_TEST

SUITE("initialize", a_directory_without_a_store_is_refused_and_left_alone,
      an_initialized_directory_is_started, a_store_that_is_there_stays,
      a_store_without_tables_is_none, no_store_is_made_beside_the_rest_of_another)
