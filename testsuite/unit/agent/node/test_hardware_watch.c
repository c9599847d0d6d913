/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/hardware_watch.h"

#include <check.h>
#include <string.h>

#include "agent/hardware/hardware.h"
#include "lib/api/node/topology.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "lib/loop/loop.h"
#include "lib/loop/workers.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/lib/suite.h"

static struct {
    struct loop *loop;
    struct workers *workers;
    struct topology *topology;
    unsigned changes;
    bool is_less;
    char words[256];
} world;

static void
changed(struct topology *is TAKES, const char *words, bool is_less, void *context)
{
    (void)context;
    topology_free(world.topology);
    world.topology = is;
    world.changes++;
    world.is_less = is_less;
    snprintf(world.words, sizeof(world.words), "%s", words);
    loop_stop(world.loop);
}

static void
put_machine(const char *path, const char *name)
{
    const char *top = getenv("top_srcdir");
    CLEANUP_FREE char *data =
        xasprintf("%s/testsuite/data/topology/%s.xml", top != NULL ? top : ".", name);
    CLEANUP_STRBUF struct strbuf xml = STRBUF_INIT;

    ck_assert_int_eq(file_read(data, 16u << 20, &xml, NULL), 0);
    ck_assert_int_eq(file_write_atomic(path, 0644, xml.text, xml.length, NULL), 0);
}

static void
put_text(const char *path, const char *text)
{
    ck_assert_int_eq(file_write_atomic(path, 0644, text, strlen(text), NULL), 0);
}

START_TEST(a_machine_that_changes_is_noticed_whether_asked_or_not)
{
    CLEANUP(scratch_freep) char *dir = scratch_new();
    CLEANUP_FREE char *path = xasprintf("%s/machine.xml", dir);
    const struct hardware_request request = {.given = path};
    CLEANUP(hardware_watch_freep) struct hardware_watch *hardware_watch = NULL;
    struct hardware_watch_settings settings = {
        .request = &request,
        .every_ms = 20,
        .changed = changed,
    };

    put_machine(path, "epyc-2s-nps1");
    ck_assert_int_eq(hardware_discover(&request, &world.topology, NULL), 0);
    world.loop = settings.loop = loop_new();
    world.workers = settings.workers = workers_new(1);
    settings.topology = world.topology;
    hardware_watch = hardware_watch_new(&settings);

    put_machine(path, "a64fx");
    loop_run(world.loop);
    ck_assert_uint_eq(world.changes, 1);
    ck_assert(world.is_less);
    ck_assert_ptr_nonnull(strstr(world.words, "are gone"));

    /* A description that cannot be read changes nothing. */
    put_text(path, "<topology");
    hardware_watch_check(hardware_watch);
    for (int i = 0; i < 200; i++)
        loop_drain(world.loop);
    ck_assert_uint_eq(world.changes, 1);

    put_machine(path, "epyc-2s-nps1");
    hardware_watch_check(hardware_watch);
    loop_run(world.loop);
    ck_assert_uint_eq(world.changes, 2);

    hardware_watch_free(hardware_watch);
    hardware_watch = NULL;
    workers_free(world.workers);
    loop_drain(world.loop);
    loop_free(world.loop);
    topology_free(world.topology);
}
END_TEST

SUITE("hardware_watch", a_machine_that_changes_is_noticed_whether_asked_or_not)
