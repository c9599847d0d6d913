/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/resource_name.h"

#include <check.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(a_name_tells_what_its_resource_is)
{
    static const struct {
        const char *name;
        bool native, extended, container, quota, counted, overcommit;
    } cases[] = {
        {"cpu", true, false, true, true, false, true},
        {"memory", true, false, true, true, false, true},
        {"hugepages-2Mi", true, false, true, true, false, false},
        {"pods", true, false, false, true, true, true},
        {"requests.cpu", true, false, false, true, false, true},
        {"storage", true, false, false, false, false, true},
        {"example.com/gpu", false, true, false, false, true, false},
        {"kubernetes.io/x", true, false, false, false, false, true},
        {"requests.example.com/gpu", false, false, false, false, false, false},
        {"cores", true, false, false, false, false, true},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *n = cases[i].name;

        ck_assert_msg(resource_name_is_native(n) == cases[i].native
                          && resource_name_is_extended(n) == cases[i].extended
                          && resource_name_is_for_containers(n) == cases[i].container
                          && resource_name_is_for_quotas(n) == cases[i].quota
                          && resource_name_is_counted(n) == cases[i].counted
                          && resource_name_may_overcommit(n) == cases[i].overcommit,
                      "%s", n);
    }
}
END_TEST

SUITE("resource_name", a_name_tells_what_its_resource_is)
