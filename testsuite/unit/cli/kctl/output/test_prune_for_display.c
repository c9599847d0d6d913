/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/prune_for_display.h"

#include <check.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"
#include "testsuite/lib/tree.h"

static void
assert_pruned(const char *object, const char *pruned)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    struct json *value = tree(arena, object);

    prune_for_display(value);
    ck_assert_str_eq(printed(arena, value), pruned);
}

START_TEST(defaults_go_and_choices_stay)
{
    assert_pruned("{'spec':{'dnsPolicy':'ClusterFirst','nodeName':'n'}}",
                  "{'spec':{'nodeName':'n'}}");
    assert_pruned("{'spec':{'dnsPolicy':'None'}}", "{'spec':{'dnsPolicy':'None'}}");
    assert_pruned("{'spec':{'containers':[{'name':'a',"
                  "'imagePullPolicy':'Always'}]}}",
                  "{'spec':{'containers':[{'name':'a'}]}}");
}
END_TEST

START_TEST(ties_between_objects_go_and_the_users_own_keys_stay)
{
    assert_pruned("{'metadata':{'labels':{'job-name':'job-1','a':'b',"
                  "'selector':'x'},'annotations':{'kiln.hpc/uid':'7'}}}",
                  "{'metadata':{'labels':{'a':'b','selector':'x'},"
                  "'annotations':{}}}");
}
END_TEST

START_TEST(the_limits_of_the_shell_go_and_those_of_resources_stay)
{
    assert_pruned("{'spec':{'execution':{'umask':'0022','limits':[{}]},"
                  "'containers':[{'resources':{'limits':{'cpu':'1'}}}]}}",
                  "{'spec':{'execution':{'umask':'0022'},"
                  "'containers':[{'resources':{'limits':{'cpu':'1'}}}]}}");
}
END_TEST

SUITE("prune_for_display", defaults_go_and_choices_stay,
      ties_between_objects_go_and_the_users_own_keys_stay,
      the_limits_of_the_shell_go_and_those_of_resources_stay)
