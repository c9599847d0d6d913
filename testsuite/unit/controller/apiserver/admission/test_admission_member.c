/* SPDX-License-Identifier: Apache-2.0 */
#include "testsuite/unit/controller/apiserver/world.h"

#include "testsuite/lib/suite.h"

#define EVENTS "/api/v1/namespaces/default/events"
#define FORGED "\"annotations\":{\"a\":\"b\",\"kiln.hpc/uid\":\"2002\",\"kiln.hpc/user\":\"bob\"}"
#define EVENT(meta)                                                                      \
    "{\"metadata\":{\"name\":\"e\"," meta "},\"involvedObject\":{\"apiVersion\":\"v1\"," \
    "\"kind\":\"Pod\",\"namespace\":\"default\",\"name\":\"p\",\"uid\":\"1\"},"          \
    "\"reason\":\"Started\",\"message\":\"m\"}"

static void
has_only_its_own(const struct answer *a, int code)
{
    const struct json *annotations = json_get_path(a->body, "metadata.annotations");

    ck_assert_int_eq(a->code, code);
    ck_assert_str_eq(json_get_text(annotations, "a"), "b");
    ck_assert_ptr_null(json_get(annotations, "kiln.hpc/uid"));
    ck_assert_ptr_null(json_get(annotations, "kiln.hpc/user"));
}

/* A user may have an agent. Events count for the user whose uid they have. */
START_TEST(an_agent_signs_events_for_nobody)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    {
        CLEANUP_ANSWER struct answer made =
            world_ask(&w, &agent_n1, HTTP_POST, EVENTS, EVENT(FORGED));
        CLEANUP_ANSWER struct answer changed =
            world_ask(&w, &agent_n1, HTTP_PUT, EVENTS "/e", EVENT(FORGED));
        CLEANUP_ANSWER struct answer patched =
            world_ask(&w, &agent_n1, HTTP_PATCH, EVENTS "/e", "{\"metadata\":{" FORGED "}}");

        has_only_its_own(&made, 201);
        has_only_its_own(&changed, 200);
        has_only_its_own(&patched, 200);
    }
}
END_TEST

START_TEST(an_agent_leaves_the_signature_of_an_event)
{
    CLEANUP_WORLD struct world w;

    world_init(&w);
    ck_assert_int_eq(world_code(&w, &alice, HTTP_POST, EVENTS, EVENT("\"labels\":{}")), 201);
    {
        CLEANUP_ANSWER struct answer a =
            world_ask(&w, &agent_n1, HTTP_PUT, EVENTS "/e", EVENT(FORGED));

        ck_assert_int_eq(a.code, 200);
        ck_assert_str_eq(answer_get(&a, "metadata.annotations.a"), "b");
        ck_assert_str_eq(
            json_get_text(json_get_path(a.body, "metadata.annotations"), "kiln.hpc/uid"), "2001");
    }
}
END_TEST

SUITE("admission_member", an_agent_signs_events_for_nobody,
      an_agent_leaves_the_signature_of_an_event)
