/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/request/accept.h"

#include "controller/apiserver/request/reply.h"
#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define TABLE "application/json;as=Table;v=v1;g=meta.k8s.io"

static const struct {
    const char *header;
    bool is_fine;
    enum accept_form form;
    bool is_kiln;
    bool is_yaml;
} headers[] = {
    {NULL, true, ACCEPT_WHOLE, false, false},
    {"", true, ACCEPT_WHOLE, false, false},
    {"*/*", true, ACCEPT_WHOLE, false, false},
    {"application/json;stream=watch", true, ACCEPT_WHOLE, false, false},
    {"application/json;q=0.5,text/plain", true, ACCEPT_WHOLE, false, false},
    {"application/yaml", true, ACCEPT_WHOLE, false, true},
    {TABLE, true, ACCEPT_TABLE, false, false},
    {TABLE ";profile=kiln", true, ACCEPT_TABLE, true, false},
    {TABLE ",application/json", true, ACCEPT_TABLE, false, false},
    {"application/json;as=Table;v=v9;g=meta.k8s.io,application/json", true, ACCEPT_WHOLE, false,
     false},
    {"application/json; as = PartialObjectMetadata; v=v1; g=meta.k8s.io", true, ACCEPT_METADATA,
     false, false},
    {"application/vnd.kubernetes.protobuf,application/json", true, ACCEPT_WHOLE, false, false},
    {"application/json;as=Nonsense;v=v1;g=meta.k8s.io", false, 0, 0, 0},
    {"application/json;as=Table;v=v9;g=meta.k8s.io", false, 0, 0, 0},
    {"application/json;as=Table", false, 0, 0, 0},
    {"application/*", false, 0, 0, 0},
    {"text/html", false, 0, 0, 0},
    {",,;;=", false, 0, 0, 0},
};

START_TEST(the_first_form_that_can_be_served_is)
{
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct accept accept;
        struct reply reply;

        reply_init(&reply, arena);
        ck_assert_msg(accept_parse(headers[i].header, &accept, &reply) == headers[i].is_fine,
                      "'%s'", headers[i].header);
        if (headers[i].is_fine) {
            ck_assert_int_eq(accept.form, headers[i].form);
            ck_assert_int_eq(accept.is_kiln, headers[i].is_kiln);
            ck_assert_int_eq(accept.is_yaml, headers[i].is_yaml);
        } else
            ck_assert_int_eq(reply.code, 406);
        reply_fini(&reply);
    }
}
END_TEST

SUITE("accept", the_first_form_that_can_be_served_is)
