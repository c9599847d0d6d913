/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/name.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(each_form_takes_its_own)
{
    static const struct {
        enum name_form form;
        const char *good, *bad;
    } cases[] = {
        {NAME_DNS_LABEL, "job-7", "job.7"},
        {NAME_DNS_LABEL, "a", "Job"},
        {NAME_DNS_LABEL, "7", ""},
        {NAME_DNS_SUBDOMAIN, "n1.example.com", "n1..com"},
        {NAME_DNS_SUBDOMAIN, "a-b", "a/b"},
        {NAME_DNS_1035, "a7", "7a"},
        {NAME_QUALIFIED, "example.com/Key_1", "example.com/"},
        {NAME_QUALIFIED, "key", "/key"},
        {NAME_QUALIFIED, "a/b", "a/b/c"},
        {NAME_LABEL_VALUE, "", "-"},
        {NAME_LABEL_VALUE, "v1.0_x", "a b"},
        {NAME_PORT, "http-alt", "80"},
        {NAME_PORT, "a", "a--b"},
        {NAME_PORT, "x1", "sixteen-letters-"},
        {NAME_ENV, "1 A", "A=B"},
        {NAME_CONFIG_KEY, "a.txt", ".."},
        {NAME_CONFIG_KEY, ".hidden", "a/b"},
        {NAME_PATH_SEGMENT, "anything goes", "a%b"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_msg(name_is_valid(cases[i].form, cases[i].good), "%s", cases[i].good);
        ck_assert_msg(!name_is_valid(cases[i].form, cases[i].bad), "%s", cases[i].bad);
    }
}
END_TEST

START_TEST(names_have_a_longest_length)
{
    char name[300];

    memset(name, 'a', sizeof(name));
    name[64] = '\0';
    ck_assert_str_eq(name_refuse(NAME_DNS_LABEL, name), "must be no more than 63 characters");
    ck_assert(!name_is_valid(NAME_LABEL_VALUE, name));
    ck_assert(name_is_valid(NAME_DNS_SUBDOMAIN, name));
    name[64] = 'a';
    name[254] = '\0';
    ck_assert(!name_is_valid(NAME_DNS_SUBDOMAIN, name));
    ck_assert(!name_is_valid(NAME_CONFIG_KEY, name));
}
END_TEST

START_TEST(all_that_is_wrong_is_said)
{
    static const struct {
        enum name_form form;
        const char *name;
        unsigned n_faults;
    } cases[] = {
        {NAME_QUALIFIED, "a/b", 0},
        {NAME_QUALIFIED, "", 2},
        {NAME_QUALIFIED, "/", 3},
        {NAME_QUALIFIED, "A/!", 2},
        {NAME_QUALIFIED, "a/b/c", 1},
        {NAME_PORT, "UPPER", 2},
        {NAME_PORT, "-a--b-longer-than-it", 3},
        {NAME_DNS_LABEL, "a.b", 1},
        {NAME_CONFIG_KEY, "..", 1},
        {NAME_CONFIG_KEY, "../", 2},
        {NAME_PATH_SEGMENT, "a/%", 2},
        {NAME_ENV, "", 1},
    };
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct name_faults faults;

        name_find_faults(cases[i].form, cases[i].name, &faults);
        ck_assert_msg(faults.count == cases[i].n_faults, "%s: %u", cases[i].name, faults.count);
    }
    ck_assert_str_eq(name_refuse_all(arena, NAME_PORT, "0", "; "),
                     "must contain at least one letter (a-z)");
    ck_assert_str_eq(name_refuse_all(arena, NAME_PORT, "0--0", "; "),
                     "must contain at least one letter (a-z); must not "
                     "contain consecutive hyphens");
    ck_assert_ptr_null(name_refuse_all(arena, NAME_PORT, "a", "; "));
}
END_TEST

SUITE("name", each_form_takes_its_own, names_have_a_longest_length, all_that_is_wrong_is_said)
