/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/value/quota_refusal.h"

#include <check.h>
#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

/* "QUOTA: name asks/has/most ...", or "no". */
static const char *
read_words(const char *words)
{
    static struct strbuf out;
    struct quota_refusal r;
    struct quota_pair p;
    const char *at = NULL;

    strbuf_fini(&out);
    strbuf_init(&out);
    if (!quota_refusal_parse(words, &r))
        return "no";
    strbuf_printf(&out, "%d %.*s", (int)r.kind, (int)r.n_quota, r.quota);
    while (quota_refusal_next(&r, &at, &p))
        strbuf_printf(&out, " %.*s %.*s/%.*s/%.*s", (int)p.n_name, p.name, (int)p.n_asks, p.asks,
                      (int)p.n_has, p.has, (int)p.n_most, p.most);
    return out.text;
}

START_TEST(the_three_messages_of_quotas_are_read)
{
    ck_assert_str_eq(read_words("pods \"p\" is forbidden: exceeded quota: chem, requested: "
                                "pods=1,requests.cpu=2, used: pods=9,requests.cpu=63, limited: "
                                "pods=9,requests.cpu=64"),
                     "0 chem pods 1/9/9 requests.cpu 2/63/64");
    ck_assert_str_eq(read_words("status unknown for quota: chem, resources: pods,cpu"), "1 chem");
    ck_assert_str_eq(read_words("failed quota: chem: must specify memory for: main"), "2 chem");
}
END_TEST

START_TEST(other_messages_are_not_taken_for_those_of_quotas)
{
    ck_assert_str_eq(read_words(""), "no");
    ck_assert_str_eq(read_words("exceeded quota: "), "no");
    ck_assert_str_eq(read_words("pods \"p\" is forbidden: Partition: it is closed"), "no");
    ck_assert_str_eq(read_words("exceeded quota: q"), "0 q");
    ck_assert_str_eq(read_words("exceeded quota: q, requested: pods, used: , limited: "), "0 q");
    ck_assert_str_eq(read_words("exceeded quota: q, requested: a=1, used: b=1, limited: a=1"),
                     "0 q");
    ck_assert_str_eq(read_words("exceeded quota: q, limited: a=1, used: a=1, requested: a=1"),
                     "0 q");
}
END_TEST

SUITE("quota_refusal", the_three_messages_of_quotas_are_read,
      other_messages_are_not_taken_for_those_of_quotas)
