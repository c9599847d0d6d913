/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/self_check.h"

#include <check.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static struct {
    struct loop *loop;
    struct workers *workers;
    unsigned changes;
} world;

static void
changed(void *context)
{
    (void)context;
    world.changes++;
}

static void
nothing(void *arg)
{
    (void)arg;
}

static void
stop(void *arg)
{
    (void)arg;
    loop_stop(world.loop);
}

/* Waits for the check, because there is only one worker. */
static void
await_look(void)
{
    workers_submit(world.workers, world.loop, nothing, stop, NULL);
    loop_run(world.loop);
}

START_TEST(the_words_stay_in_place_until_there_are_others)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *missing = xasprintf("%s/missing", dir);
    struct self_check *check;
    const char *reason, *words, *later;

    world.loop = loop_new();
    world.workers = workers_new(1);
    check = self_check_new(&(struct self_check_settings){
        .loop = world.loop,
        .workers = world.workers,
        .state_dir = missing,
        .run_dir = missing,
        .shepherd = missing,
        .changed = changed,
    });
    self_check_start(check);
    await_look();
    ck_assert_uint_eq(world.changes, 1);
    ck_assert(self_check_has_failed(check, &reason, &words));
    ck_assert_str_eq(reason, "StateDirUnusable");
    self_check_note_start(check, "no room");
    await_look();
    ck_assert_uint_eq(world.changes, 1);
    ck_assert(self_check_has_failed(check, &reason, &later));
    ck_assert_ptr_eq(later, words);
    self_check_free(check);
    workers_free(world.workers);
    loop_free(world.loop);
}
END_TEST

SUITE("self_check", the_words_stay_in_place_until_there_are_others)
