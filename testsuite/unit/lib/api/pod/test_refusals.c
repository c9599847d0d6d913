/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/pod/refusals.h"

#include <check.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define NOBODY                                                             \
    " preemption: 0/5 nodes are available: 5 No preemption victims found " \
    "for incoming pod."

static void
assert_brief(const char *message, const char *brief)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    refusals_format_brief(message, &out);
    ck_assert_str_eq(out.text, brief);
}

START_TEST(one_reason_stands_alone)
{
    assert_brief("0/5 nodes are available: 5 Insufficient cpu." NOBODY, "Insufficient cpu");
    assert_brief("0/1 nodes are available: 1 node(s) were unschedulable.", "were unschedulable");
}
END_TEST

START_TEST(a_refusal_that_time_can_change_comes_first_then_the_commonest)
{
    assert_brief("0/9 nodes are available: 2 Insufficient cpu, 3 Insufficient "
                 "memory, 7 node(s) were unschedulable." NOBODY,
                 "Insufficient memory (3 of 9 nodes)");
    assert_brief("0/3 nodes are available: 1 node(s) had untolerated taint "
                 "{a: b}, 2 node(s) were unschedulable.",
                 "were unschedulable (2 of 3 nodes)");
}
END_TEST

START_TEST(a_reason_may_have_commas_and_numbers)
{
    struct refusals r;

    ck_assert(refusals_parse("0/4 nodes are available: 1 node(s) had "
                             "untolerated taint {k: v, w}, 3 Insufficient "
                             "example.com/a, 2 of them.",
                             &r));
    ck_assert_uint_eq(r.total, 4);
    ck_assert_uint_eq(r.count, 3);
    ck_assert_uint_eq(r.items[0].nodes, 3);
    ck_assert(strncmp(r.items[0].text, "Insufficient example.com/a", r.items[0].length) == 0);
    ck_assert_uint_eq(r.items[2].nodes, 1);
    ck_assert(!r.items[2].may_pass);
}
END_TEST

START_TEST(a_reason_of_all_nodes_has_no_count)
{
    struct refusals r;

    ck_assert(refusals_parse("0/4 nodes are available: pod has unbound "
                             "claims.",
                             &r));
    ck_assert_uint_eq(r.count, 1);
    ck_assert_uint_eq(r.items[0].nodes, 0);
    assert_brief("0/4 nodes are available: pod has unbound claims.", "pod has unbound claims");
}
END_TEST

START_TEST(other_messages_stay_as_they_are)
{
    static const char *const messages[] = {
        "",
        "0/",
        "0/x nodes are available: 1 a.",
        "1/2 nodes are available: 1 a.",
        "0/2 nodes are free: 1 a.",
        "no nodes available to schedule pods",
        "0/0 nodes are available: .",
    };

    for (size_t i = 0; i < ARRAY_SIZE(messages); i++)
        assert_brief(messages[i], messages[i]);
}
END_TEST

START_TEST(more_reasons_than_there_is_room_for_are_left_out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct refusals r;

    strbuf_add_text(&text, "0/99 nodes are available: ");
    for (unsigned i = 0; i < 3 * REFUSALS_MAX; i++)
        strbuf_printf(&text, "%s1 reason%u", i > 0 ? ", " : "", i);

    ck_assert(refusals_parse(text.text, &r));
    ck_assert_uint_eq(r.count, REFUSALS_MAX);
}
END_TEST

START_TEST(each_reason_has_a_code_that_stays)
{
    static const struct {
        const char *reason, *code;
    } cases[] = {
        {"Insufficient cpu", "InsufficientCPU"},
        {"Insufficient memory", "InsufficientMemory"},
        {"Insufficient example.com/a", "InsufficientResource"},
        {"Too many pods", "TooManyPods"},
        {"node(s) had untolerated taint {a: b}", "UntoleratedTaint"},
        {"node(s) were unschedulable", "NodeUnschedulable"},
        {"node(s) didn't match Pod's node affinity/selector", "NodeAffinity"},
        {"node(s) didn't match the requested node name", "NodeName"},
        {"node(s) didn't have free ports for the requested pod ports", "NodePorts"},
        {"node(s) didn't match pod topology spread constraints (missing "
         "required label)",
         "TopologySpread"},
        {"node(s) didn't match pod affinity rules", "PodAffinity"},
        {"node(s) didn't match pod anti-affinity rules", "PodAntiAffinity"},
        {"node(s) didn't satisfy existing pods anti-affinity rules", "ExistingPodsAntiAffinity"},
        {"node(s) didn't have enough free whole cores", "NoFreeCores"},
        {"node(s) couldn't align cores, memory and devices to NUMA nodes", "NotAligned"},
        {"node(s) were too small for the requested placement", "NodeTooSmall"},
        {"node(s) didn't have the requested devices at all", "NoSuchDevices"},
        {"node(s) didn't satisfy plugin(s) [NodeAffinity]", "NodeAffinity"},
        {"node(s) had volume node affinity conflict", "VolumeNodeAffinity"},
        {"node(s) were filtered out by extender \"http://x\"", "Extender"},
        {"persistentvolumeclaim \"a\" not found", "VolumeClaim"},
        {"pod has unbound immediate PersistentVolumeClaims", "VolumeClaim"},
        {"pod affinity terms conflict", "NodeAffinity"},
        {"node(s) had the flu", "Other"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_FREE char *message = xasprintf("0/2 nodes are available: 2 %s.", cases[i].reason);
        struct refusals r;

        ck_assert(refusals_parse(message, &r));
        ck_assert_uint_eq(r.count, 1);
        ck_assert_str_eq(r.items[0].code, cases[i].code);
    }
}
END_TEST

SUITE("refusals", each_reason_has_a_code_that_stays, one_reason_stands_alone,
      a_refusal_that_time_can_change_comes_first_then_the_commonest,
      a_reason_may_have_commas_and_numbers, a_reason_of_all_nodes_has_no_count,
      other_messages_stay_as_they_are, more_reasons_than_there_is_room_for_are_left_out)
