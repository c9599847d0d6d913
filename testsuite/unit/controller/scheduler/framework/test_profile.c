/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins that record their calls, in a real scheduler. */
#include "controller/scheduler/framework/profile.h"

#include "controller/scheduler/framework/framework.h"
#include "controller/scheduler/plugins/plugin_registry.h"
#include "testsuite/lib/suite.h"
#include "testsuite/unit/controller/scheduler/world.h"

static char diary[256];
static bool is_refusing;

static void
note(const char *what, const void *self)
{
    size_t length = strlen(diary);

    snprintf(diary + length, sizeof(diary) - length, "%s%s ", what, (const char *)self);
}

static int
make_one(struct handle *handle, const struct json *args, void **ret_self, struct error *err)
{
    static unsigned n;
    static char names[][2] = {"a", "b", "c"};

    (void)handle, (void)args, (void)err;
    *ret_self = names[n++ % 3];
    return 0;
}

static void
drop_one(void *self)
{
    note("drop-", self);
}

static enum verdict
reserve_one(void *self, struct cycle *c, const struct node_view *node, uint32_t *ret_reason)
{
    (void)c, (void)node, (void)ret_reason;
    note("+", self);
    return is_refusing && *(char *)self == 'b' ? VERDICT_REJECT : VERDICT_OK;
}

static void
unreserve_one(void *self, struct cycle *c, const struct node_view *node)
{
    (void)c, (void)node;
    note("-", self);
}

#define DIARIST(title)                                                             \
    {                                                                              \
        .name = title, .make = make_one, .drop = drop_one, .reserve = reserve_one, \
        .unreserve = unreserve_one                                                 \
    }
static const struct plugin diarists[] = {
    DIARIST("A"),
    DIARIST("B"),
    DIARIST("C"),
};

static struct world *
world_with_diarists(void)
{
    static struct profile_plugin plugins[PROFILE_MAX_PLUGINS];
    struct profile_settings profile = {
        .scheduler_name = "default-scheduler",
        .plugins = plugins,
        .n_plugins = n_default_profile + 3,
        .percentage_of_nodes = 100,
    };

    memcpy(plugins, default_profile, n_default_profile * sizeof(*plugins));
    for (unsigned i = 0; i < 3; i++)
        plugins[n_default_profile + i] = (struct profile_plugin){.plugin = &diarists[i]};
    diary[0] = '\0';
    return world_new(&(struct scheduler_settings){
        .profiles = &profile,
        .n_profiles = 1,
        .without_forecast = true, /* a simulation would write into the diary, too */
    });
}

START_TEST(reservations_of_plugins_are_undone_in_reverse_order)
{
    struct world *w;

    is_refusing = true;
    w = world_with_diarists();
    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", "");
    world_settle(w);

    ck_assert_str_eq(diary, "+a +b -c -b -a ");
    ck_assert_str_eq(world_node_of(w, "a"), "");
    world_free(w);
}
END_TEST

START_TEST(a_bound_pod_keeps_its_reservations_and_plugins_are_closed)
{
    struct world *w;

    is_refusing = false;
    w = world_with_diarists();
    world_add_node(w, "n1", 4);
    world_add_pod(w, "a", "1", "1Gi", "");
    world_settle(w);

    ck_assert_str_eq(diary, "+a +b +c ");
    ck_assert_str_eq(world_node_of(w, "a"), "n1");
    world_free(w);
    ck_assert_ptr_nonnull(strstr(diary, "drop-a"));
    ck_assert_ptr_nonnull(strstr(diary, "drop-b"));
    ck_assert_ptr_nonnull(strstr(diary, "drop-c"));
}
END_TEST

SUITE("profile", reservations_of_plugins_are_undone_in_reverse_order,
      a_bound_pod_keeps_its_reservations_and_plugins_are_closed)
