/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/node/registration.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/hardware/machine.h"
#include "agent/node/node_status.h"
#include "lib/api/node/node.h"
#include "lib/api/node/topology.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/auth/node_secret.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/scratch.h"
#include "testsuite/unit/agent/run_loop.h"

#define SECRET                         \
    "00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff"

static struct topology topology;
static char word[] = "w";
static struct machine machine = {
    .hostname = word,
    .boot_id = word,
    .machine_id = word,
    .system_uuid = word,
    .kernel_version = word,
    .os_image = word,
    .architecture = word,
};
static struct node_facts facts = {
    .name = "n1",
    .machine = &machine,
    .topology = &topology,
    .max_pods = 100,
};

static struct {
    char *place, *secret_path;
    struct fake_client *api;
    struct registration *registration;
    unsigned ready, proven, unproven; /* numbers of callbacks */
} world;

static void
ready(void *context)
{
    (void)context;
    world.ready++;
}

static void
reconnect(enum registration_mode mode, void *context)
{
    (void)context;
    if (mode == REGISTRATION_PROVEN)
        world.proven++;
    else
        world.unproven++;
}

static void
begin(void)
{
    memset(&world, 0, sizeof(world));
    world.place = scratch_new();
    world.secret_path = xasprintf("%s/secret", world.place);
    world.api = fake_client_new();
}

static void
put_secret(const char *text)
{
    ck_assert_int_eq(file_write_atomic(world.secret_path, 0600, text, strlen(text), NULL), 0);
}

static void
start(void)
{
    world.registration = registration_new(&(struct registration_settings){
        .loop = fake_client_client(world.api)->loop,
        .client = fake_client_client(world.api),
        .clock = &clock_system,
        .facts = &facts,
        .secret_path = world.secret_path,
        .mode = REGISTRATION_PROVEN,
        .reconnect = reconnect,
        .ready = ready,
    });
    registration_start(world.registration);
}

static void
end(void)
{
    registration_free(world.registration);
    fake_client_free(world.api);
    free(world.secret_path);
    scratch_freep(&world.place);
}

static const struct node *
find_node(void)
{
    return node_of(fake_client_find(world.api, &node_kind, NULL, "n1"));
}

START_TEST(a_node_on_its_first_day_is_made_enrolled_and_keeps_its_secret)
{
    CLEANUP_STRBUF struct strbuf kept = STRBUF_INIT;
    struct stat st;

    begin();
    fake_client_answer(world.api, CLIENT_CREATE, "enrol", 200, "{\"secret\":\"" SECRET "\"}");
    start();

    run_loop_until(world.api, world.proven > 0);

    ck_assert_str_eq(find_node()->meta.name, "n1");
    ck_assert_int_eq(file_read(world.secret_path, 1024, &kept, NULL), 0);
    ck_assert_str_eq(kept.text, SECRET);
    ck_assert_int_eq(stat(world.secret_path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
    ck_assert_uint_eq(world.ready, 0); /* not before the node is proven */
    end();
}
END_TEST

/* Resources that the node no longer has are removed from the former status. */
START_TEST(a_proven_node_says_what_it_is_and_is_ready)
{
    const struct string_map *capacity;

    begin();
    put_secret(SECRET "\n");
    fake_client_put(world.api, &node_kind,
                    "{\"metadata\":{\"name\":\"n1\"},\"status\":{\"capacity\":"
                    "{\"kiln.hpc/gpu\":\"2\",\"pods\":\"7\"}}}");
    start();

    run_loop_until(world.api, world.ready > 0);

    capacity = &find_node()->status.capacity;
    ck_assert_str_eq(string_map_find(capacity, "pods"), "100");
    ck_assert_ptr_null(string_map_find(capacity, "kiln.hpc/gpu"));
    ck_assert(node_is_ready(find_node()));
    ck_assert_uint_eq(world.proven + world.unproven, 0);
    end();
}
END_TEST

START_TEST(a_controller_without_space_keeps_no_node_from_its_pods)
{
    begin();
    put_secret(SECRET);
    fake_client_put(world.api, &node_kind, "{\"metadata\":{\"name\":\"n1\"},\"status\":{}}");
    fake_client_fail(world.api, CLIENT_MERGE_PATCH, "status", 507, "InsufficientStorage");
    start();

    run_loop_until(world.api, world.ready > 0);
    ck_assert(!node_is_ready(find_node()));

    run_loop_until(world.api, node_is_ready(find_node()));
    ck_assert_uint_eq(world.ready, 1);
    end();
}
END_TEST

START_TEST(one_that_changes_is_written_again)
{
    unsigned before;

    begin();
    put_secret(SECRET);
    fake_client_put(world.api, &node_kind, "{\"metadata\":{\"name\":\"n1\"},\"status\":{}}");
    start();
    run_loop_until(world.api, world.ready > 0);
    before = fake_client_calls(world.api, CLIENT_MERGE_PATCH, "status");

    registration_update(world.registration);
    run_loop_until(world.api, fake_client_calls(world.api, CLIENT_MERGE_PATCH, "status") > before);

    ck_assert_uint_eq(world.ready, 1);
    end();
}
END_TEST

START_TEST(one_that_was_deleted_begins_anew_without_proof)
{
    begin();
    put_secret(SECRET);
    start();

    run_loop_until(world.api, world.unproven > 0);

    ck_assert_uint_eq(fake_client_count(world.api, &node_kind), 0);
    ck_assert_int_eq(access(world.secret_path, F_OK), 0);
    end();
}
END_TEST

START_TEST(a_registration_without_an_answer_is_tried_again)
{
    begin();
    put_secret(SECRET);
    fake_client_put(world.api, &node_kind, "{\"metadata\":{\"name\":\"n1\"},\"status\":{}}");
    fake_client_fail(world.api, CLIENT_GET, NULL, 503, "ServiceUnavailable");
    start();

    run_loop_until(world.api, world.ready > 0);
    end();
}
END_TEST

START_TEST(a_kept_secret_is_checked)
{
    struct node_secret secret;
    struct error err = {0};

    begin();
    ck_assert_int_eq(registration_read_secret(world.secret_path, &secret, &err), -ENOENT);
    put_secret("not a secret");
    ck_assert_int_eq(registration_read_secret(world.secret_path, &secret, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "kctl reset node"));
    put_secret(SECRET "\n");
    ck_assert_int_eq(registration_read_secret(world.secret_path, &secret, &err), 0);
    end();
}
END_TEST

SUITE("registration", a_node_on_its_first_day_is_made_enrolled_and_keeps_its_secret,
      a_proven_node_says_what_it_is_and_is_ready,
      a_controller_without_space_keeps_no_node_from_its_pods, one_that_changes_is_written_again,
      one_that_was_deleted_begins_anew_without_proof,
      a_registration_without_an_answer_is_tried_again, a_kept_secret_is_checked)
