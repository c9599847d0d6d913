/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/protocol.h"

#include <errno.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const struct protocol_claim welcome = {
    .purpose = CLAIM_WELCOME,
    .cluster = "north",
    .nonce = "n0",
    .session = "s1",
    .key = "k2",
    .lifetime_s = 43200,
};

static const char welcome_text[] = "kiln-claim 1\n"
                                   "purpose=welcome\n"
                                   "cluster=north\n"
                                   "nonce=n0\n"
                                   "session=s1\n"
                                   "key=k2\n"
                                   "lifetime=43200\n";

START_TEST(a_claim_is_written_and_read_back)
{
    struct strbuf out = STRBUF_INIT;
    struct protocol_claim back = {0};

    ck_assert_int_eq(protocol_claim_format(&welcome, &out), 0);
    ck_assert_str_eq(out.text, welcome_text);
    ck_assert_int_eq(protocol_claim_parse(out.text, out.length, CLAIM_WELCOME, &back, NULL), 0);

    ck_assert_str_eq(back.cluster, "north");
    ck_assert_str_eq(back.session, "s1");
    ck_assert_str_eq(back.key, "k2");
    ck_assert_int_eq(back.lifetime_s, 43200);
    protocol_claim_fini(&back);
    strbuf_fini(&out);
}
END_TEST

START_TEST(a_request_and_its_answer_are_written_and_read_back)
{
    struct protocol_claim request = {
        .purpose = CLAIM_REQUEST,
        .cluster = "c",
        .nonce = "n",
        .method = "POST",
        .target = "/a?b=c=d",
        .body = "00",
    };
    struct protocol_claim answer = {
        .purpose = CLAIM_ANSWER,
        .cluster = "c",
        .nonce = "n",
        .status = 201,
        .content_type = "application/json",
        .body = "00",
    };
    struct strbuf out = STRBUF_INIT;
    struct protocol_claim back = {0};

    ck_assert_int_eq(protocol_claim_format(&request, &out), 0);
    ck_assert_int_eq(protocol_claim_parse(out.text, out.length, CLAIM_REQUEST, &back, NULL), 0);
    ck_assert_str_eq(back.target, "/a?b=c=d");
    ck_assert_str_eq(back.content_type, "");
    protocol_claim_fini(&back);
    strbuf_truncate(&out, 0);
    ck_assert_int_eq(protocol_claim_format(&answer, &out), 0);
    ck_assert_int_eq(protocol_claim_parse(out.text, out.length, CLAIM_ANSWER, &back, NULL), 0);

    ck_assert_int_eq(back.status, 201);
    protocol_claim_fini(&back);
    strbuf_fini(&out);
}
END_TEST

START_TEST(a_claim_with_a_newline_is_not_written)
{
    struct protocol_claim evil = welcome;
    struct strbuf out = STRBUF_INIT;

    evil.session = "s\nkey=mine";

    ck_assert_int_eq(protocol_claim_format(&evil, &out), -EINVAL);
    ck_assert_uint_eq(out.length, 0);
    strbuf_fini(&out);
}
END_TEST

static const char *const bad_claims[] = {
    "",
    "kiln-claim 2\npurpose=welcome\n",
    "kiln-claim 1\n",
    "kiln-claim 1\npurpose=hello\ncluster=c\nnonce=n\nnode=\nproof=\n",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=\n",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=-1\n",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=9223372036854775808\n",
    "kiln-claim 1\npurpose=welcome\ncluster=\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=1\n",
    "kiln-claim 1\npurpose=welcome\nnonce=n\ncluster=c\nsession=s\nkey=k\n"
    "lifetime=1\n",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=1",
    "kiln-claim 1\npurpose=welcome\ncluster=c\nnonce=n\nsession=s\nkey=k\n"
    "lifetime=1\nmore=1\n",
};

START_TEST(a_malformed_claim_is_refused_with_words)
{
    for (size_t i = 0; i < ARRAY_SIZE(bad_claims); i++) {
        struct error err = {0};
        struct protocol_claim back = {0};

        ck_assert_msg(
            protocol_claim_parse(bad_claims[i], strlen(bad_claims[i]), CLAIM_WELCOME, &back, &err)
                == -EPROTO,
            "%s", bad_claims[i]);
        ck_assert_ptr_null(back.memory);
        ck_assert_str_ne(err.text, "");
    }
    ck_assert_int_eq(protocol_claim_parse("kiln-claim 1\n\0x", 15, CLAIM_HELLO, NULL, NULL),
                     -EPROTO);
}
END_TEST

START_TEST(a_mac_covers_every_part_of_a_request)
{
    struct digest key = {{1}}, other_key = {{2}}, body, other_body;
    struct digest mac, changed[6];

    digest_of("body", 4, &body);
    digest_of("bodz", 4, &other_body);
    protocol_request_mac(&key, 7, "GET", "/a", "t", &body, NULL, &mac);
    protocol_request_mac(&other_key, 7, "GET", "/a", "t", &body, NULL, &changed[0]);
    protocol_request_mac(&key, 8, "GET", "/a", "t", &body, NULL, &changed[1]);
    protocol_request_mac(&key, 7, "PUT", "/a", "t", &body, NULL, &changed[2]);
    protocol_request_mac(&key, 7, "GET", "/b", "t", &body, NULL, &changed[3]);
    protocol_request_mac(&key, 7, "GET", "/a", NULL, &body, NULL, &changed[4]);
    protocol_request_mac(&key, 7, "GET", "/a", "t", &other_body, NULL, &changed[5]);

    for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
        ck_assert(!digest_equals(&mac, &changed[i]));
}
END_TEST

/* The numbers are the same, so that only the kind of statement differs. */
START_TEST(a_mac_of_one_kind_is_not_one_of_another)
{
    struct digest key = {{1}}, body, frame, end, answer;

    digest_of("", 0, &body);
    protocol_frame_mac(&key, 1, 2, &body, &frame);
    protocol_end_mac(&key, 1, 2, &end);
    protocol_answer_mac(&key, 1, 2, "", &body, &answer);

    ck_assert(!digest_equals(&frame, &end));
    ck_assert(!digest_equals(&frame, &answer));
}
END_TEST

START_TEST(the_statement_of_a_request_is_as_documented)
{
    static const char statement[] =
        "kiln-mac 1 request\n7\nPOST\n/apis?x=1\napplication/json\n"
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n";
    struct digest_part whole = {statement, sizeof(statement) - 1};
    struct digest key = {{9}}, body, mac, expected;

    digest_of("abc", 3, &body);
    digest_hmac(key.bytes, DIGEST_SIZE, &whole, 1, &expected);
    protocol_request_mac(&key, 7, "POST", "/apis?x=1", "application/json", &body, NULL, &mac);

    ck_assert(digest_equals(&mac, &expected));
}
END_TEST

START_TEST(version_2_of_a_statement_is_as_documented)
{
    struct strbuf sealed = STRBUF_INIT;
    struct strbuf statement = STRBUF_INIT;
    char hex[DIGEST_HEX_SIZE];
    struct digest key = {{9}}, body, headers, mac, expected;
    struct digest_part whole;

    protocol_add_sealed(&sealed, "User-Agent", "x");
    protocol_add_sealed(&sealed, "ACCEPT", " application/json ");
    protocol_add_sealed(&sealed, "Impersonate-Extra-Scope", "a");
    protocol_add_sealed(&sealed, "Idempotency-Key", "k");
    ck_assert_str_eq(sealed.text, "accept: application/json\n"
                                  "impersonate-extra-scope: a\n"
                                  "idempotency-key: k\n");
    digest_of(sealed.text, sealed.length, &headers);
    digest_format(&headers, hex);
    strbuf_printf(&statement,
                  "kiln-mac 2 request\n7\nPOST\n/apis?x=1\napplication/json\n"
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n"
                  "%s\n",
                  hex);
    whole = (struct digest_part){statement.text, statement.length};
    digest_of("abc", 3, &body);
    digest_hmac(key.bytes, DIGEST_SIZE, &whole, 1, &expected);
    protocol_request_mac(&key, 7, "POST", "/apis?x=1", "application/json", &body, sealed.text,
                         &mac);

    ck_assert(digest_equals(&mac, &expected));
    strbuf_fini(&statement);
    strbuf_fini(&sealed);
}
END_TEST

START_TEST(an_authorization_is_written_and_read_back)
{
    struct protocol_authorization back;
    struct strbuf out = STRBUF_INIT;
    struct digest mac = {{3}};

    protocol_format_authorization(&out, "abc", 18446744073, &mac, true);
    ck_assert_int_eq(protocol_parse_authorization(out.text, &back), 0);

    ck_assert_uint_eq(back.seq, 18446744073);
    ck_assert_uint_eq(back.session_length, 3);
    ck_assert(digest_equals(&back.mac, &mac));
    strbuf_fini(&out);
}
END_TEST

#define SOME_MAC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

START_TEST(a_malformed_authorization_is_refused)
{
    static const char *const bad[] = {
        "",
        "Kiln",
        "Kiln session=",
        "Kiln session=a",
        "Kiln session=a,seq=",
        "Kiln session=a,seq=,mac=" SOME_MAC,
        "Kiln session=a,seq=-1,mac=" SOME_MAC,
        "Kiln session=a,seq=99999999999999999999,mac=" SOME_MAC,
        "Kiln session=a,seq=1,mac=" SOME_MAC "0",
        "Kiln session=a,seq=1,mac=" SOME_MAC " ",
        "Kiln seq=1,session=a,mac=" SOME_MAC,
        "Bearer " SOME_MAC,
    };
    struct protocol_authorization p;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_msg(protocol_parse_authorization(bad[i], &p) == -EINVAL, "%s", bad[i]);
}
END_TEST

SUITE("protocol", a_claim_is_written_and_read_back,
      a_request_and_its_answer_are_written_and_read_back, a_claim_with_a_newline_is_not_written,
      a_malformed_claim_is_refused_with_words, a_mac_covers_every_part_of_a_request,
      a_mac_of_one_kind_is_not_one_of_another, the_statement_of_a_request_is_as_documented,
      version_2_of_a_statement_is_as_documented, an_authorization_is_written_and_read_back,
      a_malformed_authorization_is_refused)
