/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/digest.h"

#include <errno.h>
#include <string.h>

#include "lib/auth/node_secret.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(sha256_is_that_of_fips_180)
{
    struct digest whole, parts, sum;
    struct digest_part abc[] = {{"a", 1}, {NULL, 0}, {"bc", 2}};
    struct digest_sum *adding = digest_sum_begin();
    char hex[DIGEST_HEX_SIZE];

    digest_of("abc", 3, &whole);
    digest_parts(abc, 3, &parts);
    digest_format(&whole, hex);
    digest_sum_add(adding, "ab", 2);
    digest_sum_add(adding, NULL, 0);
    digest_sum_add(adding, "c", 1);
    digest_sum_end(adding, &sum);

    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223"
                          "b00361a396177a9cb410ff61f20015ad");
    ck_assert(digest_equals(&whole, &parts));
    ck_assert(digest_equals(&whole, &sum));
}
END_TEST

START_TEST(hmac_is_that_of_rfc_4231)
{
    struct digest_part text[] = {{"what do ya want ", 16}, {"for nothing?", 12}};
    struct digest d;
    char hex[DIGEST_HEX_SIZE];

    digest_hmac("Jefe", 4, text, 2, &d);
    digest_format(&d, hex);

    ck_assert_str_eq(hex, "5bdcc146bf60754e6a042426089575c7"
                          "5a003f089d2739839dec58b964ec3843");
}
END_TEST

START_TEST(hexadecimal_is_read_strictly)
{
    static const char *const bad[] = {
        "",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015adb",
        "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    };
    struct digest d, abc;
    char hex[DIGEST_HEX_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(digest_parse(bad[i], &d), -EINVAL);
    digest_of("abc", 3, &abc);
    digest_format(&abc, hex);
    ck_assert_int_eq(digest_parse(hex, &d), 0);
    ck_assert(digest_equals(&d, &abc));
    d.bytes[31] ^= 1;
    ck_assert(!digest_equals(&d, &abc));
}
END_TEST

START_TEST(base64_goes_there_and_back)
{
    struct strbuf text = STRBUF_INIT, back = STRBUF_INIT;
    char bytes[5000];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 7);
    base64_encode(&text, "foob", 4);
    ck_assert_str_eq(text.text, "Zm9vYg==");
    strbuf_add_text(&back, "before ");
    ck_assert_int_eq(base64_decode(&back, text.text, text.length), 0);
    ck_assert_str_eq(back.text, "before foob");
    for (size_t length = 0; length < sizeof(bytes); length += 613) {
        strbuf_truncate(&text, 0);
        strbuf_truncate(&back, 0);
        base64_encode(&text, bytes, length);
        ck_assert_int_eq(base64_decode(&back, text.text, text.length), 0);
        ck_assert_uint_eq(back.length, length);
        ck_assert_mem_eq(back.text, bytes, length);
    }
    strbuf_fini(&text);
    strbuf_fini(&back);
}
END_TEST

START_TEST(a_text_that_is_not_base64_is_refused)
{
    static const char *const bad[] = {"Zg",   "Zg=",  "Zg==Zg==",    "Z!==",        "Zg==\n",
                                      "====", "Z===", "Zm9=", /* unused bits are not 0 */
                                      "Zh==", "Zm 9", "Zm9v\x80m9v", "Zm9v\n\n\n\n"};
    struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
        ck_assert_msg(base64_decode(&out, bad[i], strlen(bad[i])) == -EINVAL, "%s", bad[i]);
    ck_assert_uint_eq(out.length, 0);
    strbuf_fini(&out);
}
END_TEST

START_TEST(one_wrong_character_anywhere_is_found)
{
    char text[] = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w";
    struct strbuf out = STRBUF_INIT;

    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        const char right = text[i];

        text[i] = '!';
        ck_assert_int_eq(base64_decode(&out, text, sizeof(text) - 1), -EINVAL);
        ck_assert_uint_eq(out.length, 0);
        text[i] = right;
    }
    ck_assert_int_eq(base64_decode(&out, text, sizeof(text) - 1), 0);
    ck_assert_str_eq(out.text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop");
    strbuf_fini(&out);
}
END_TEST

START_TEST(a_proof_is_of_one_nonce_one_node_and_one_secret)
{
    struct node_secret a, b, back;
    struct digest va, vb, proof, other;
    char text[DIGEST_HEX_SIZE];

    node_secret_issue(&a);
    node_secret_issue(&b);
    node_secret_format(&a, text);
    ck_assert_int_eq(node_secret_parse(text, &back), 0);
    node_secret_verifier(&back, &va);
    node_secret_verifier(&b, &vb);
    node_secret_proof(&va, "c", "n1", "nonce", &proof);

    node_secret_proof(&va, "c", "n1", "nonce", &other);
    ck_assert(digest_equals(&proof, &other));
    node_secret_proof(&vb, "c", "n1", "nonce", &other);
    ck_assert(!digest_equals(&proof, &other));
    node_secret_proof(&va, "c", "n2", "nonce", &other);
    ck_assert(!digest_equals(&proof, &other));
    node_secret_proof(&va, "c", "n1", "ecnon", &other);
    ck_assert(!digest_equals(&proof, &other));
    ck_assert_int_eq(node_secret_parse("abc", &back), -EINVAL);
}
END_TEST

SUITE("digest", sha256_is_that_of_fips_180, hmac_is_that_of_rfc_4231, hexadecimal_is_read_strictly,
      base64_goes_there_and_back, a_text_that_is_not_base64_is_refused,
      one_wrong_character_anywhere_is_found, a_proof_is_of_one_nonce_one_node_and_one_secret)
