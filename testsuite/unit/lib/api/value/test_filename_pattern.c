/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/filename_pattern.h"

#include <check.h>

#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(dictionary_objects_are_filled_in_and_the_rest_stays)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"kiln-%j.out", "kiln-1042.out"},
        {"%x-%u@%N", "sweep-ann@n7"},
        {"100%%", "100%"},
        {"%6j", "001042"},
        {"%99j", "0000001042"},
        {"%2j", "1042"},
        {"%q%", "%q%"},
        {"%5x", "sweep"},
        {"plain", "plain"},
        {"", ""},
    };
    static const struct filename_pattern_values values = {
        .job_id = "1042",
        .job_name = "sweep",
        .user = "ann",
        .node = "n7",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

        filename_pattern_expand(cases[i].in, &values, &out);
        ck_assert_str_eq(out.text, cases[i].out);
    }
}
END_TEST

START_TEST(a_name_with_slashes_is_no_way)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    filename_pattern_expand("logs/%x.out",
                            &(struct filename_pattern_values){
                                .job_id = "1042",
                                .job_name = "a/../../b",
                                .user = "ann",
                                .node = "n7",
                            },
                            &out);

    ck_assert_str_eq(out.text, "logs/a_.._.._b.out");
}
END_TEST

SUITE("filename_pattern", dictionary_objects_are_filled_in_and_the_rest_stays,
      a_name_with_slashes_is_no_way)
