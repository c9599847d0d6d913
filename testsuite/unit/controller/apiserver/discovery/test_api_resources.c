/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/discovery/api_resources.h"

#include <string.h>

#include "controller/apiserver/request/api_profile.h"
#include "lib/api/object/kind.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

static const struct api_profile whole = {.has_additions = true}, upstream;

static bool
is_listed(const struct kind *kind)
{
    const struct kind *versions[API_RESOURCES_MAX_VERSIONS];
    const struct kind *list[API_RESOURCES_MAX_KINDS];

    for (const char *const *group = api_resources_groups; *group != NULL; group++)
        for (unsigned v = api_resources_versions(*group, &whole, versions); v-- > 0;) {
            unsigned n = api_resources_kinds(*group, versions[v]->version, &whole, list);

            for (unsigned i = 0; i < n; i++)
                if (list[i] == kind)
                    return true;
        }
    return false;
}

START_TEST(every_kind_is_in_a_group_that_is_told)
{
    for (unsigned i = 0; i < n_kinds; i++)
        ck_assert_msg(is_listed(kinds[i]), "%s", kinds[i]->name);
    for (unsigned i = 0; i < n_answered_kinds; i++)
        ck_assert_msg(is_listed(answered_kinds[i]), "%s", answered_kinds[i]->name);
    for (unsigned i = 0; i < n_measured_kinds; i++)
        ck_assert_msg(is_listed(measured_kinds[i]), "%s", measured_kinds[i]->name);
}
END_TEST

START_TEST(kinds_and_subresources_come_by_name)
{
    const struct kind *list[API_RESOURCES_MAX_KINDS];
    enum subresource parts[N_SUBRESOURCES];
    unsigned n = api_resources_kinds("", "v1", &whole, list);

    ck_assert_uint_gt(n, 5);
    for (unsigned i = 1; i < n; i++)
        ck_assert_int_lt(strcmp(list[i - 1]->plural, list[i]->plural), 0);
    n = api_resources_parts(&pod_kind, &whole, parts);
    ck_assert_uint_gt(n, 3);
    for (unsigned i = 1; i < n; i++)
        ck_assert_int_lt(strcmp(subresource_name(parts[i - 1]), subresource_name(parts[i])), 0);
}
END_TEST

START_TEST(upstream_alone_leaves_out_what_is_kilns)
{
    enum subresource parts[N_SUBRESOURCES];
    unsigned n = api_resources_parts(&node_kind, &upstream, parts);

    const struct kind *list[API_RESOURCES_MAX_KINDS];

    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(parts[0], SUBRESOURCE_STATUS);
    ck_assert_uint_eq(api_resources_versions("metrics.k8s.io", &upstream, list), 0);
    ck_assert_uint_gt(api_resources_parts(&node_kind, &whole, parts), 1);
}
END_TEST

START_TEST(a_group_has_its_versions_with_the_stable_one_first)
{
    const struct kind *list[API_RESOURCES_MAX_VERSIONS];

    ck_assert_uint_eq(api_resources_versions("scheduling.k8s.io", &whole, list), 2);
    ck_assert_str_eq(list[0]->version, "v1");
    ck_assert_str_eq(list[1]->version, "v1beta1");
    ck_assert_uint_eq(api_resources_versions("scheduling.k8s.io", &upstream, list), 1);
    ck_assert_uint_eq(api_resources_versions("none.example.com", &whole, list), 0);
}
END_TEST

SUITE("api_resources", a_group_has_its_versions_with_the_stable_one_first,
      every_kind_is_in_a_group_that_is_told, kinds_and_subresources_come_by_name,
      upstream_alone_leaves_out_what_is_kilns)
