/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/parse_template.h"

#include <check.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

#define FIRST                                                              \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"job-9\",\"labels\":{"      \
    "\"a\":\"x\",\"b\":\"\"},\"count\":12,\"none\":null},\"list\":[1,2,"   \
    "{\"deep\":true}],\"empty\":[],\"nothing\":{},\"escaped\":\"a\\\"b\"," \
    "\"last\":\"z\"}"

/* The tree from the template prints as the text that was parsed. */
static void
assert_poured(struct parse_template *m, const char *text)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    const struct json *v = parse_template_apply(m, text, strlen(text));

    ck_assert_msg(v != NULL, "%s", text);
    json_print(v, &out);
    ck_assert_str_eq(out.text, text);
}

#define ANOTHER(name, a, b, count, one, last)                             \
    "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name "\",\"labels\":{"  \
    "\"a\":\"" a "\",\"b\":\"" b "\"},\"count\":" count ",\"none\":null}" \
    ",\"list\":[" one ",2,{\"deep\":true}],\"empty\":[],\"nothing\":{},"  \
    "\"escaped\":\"a\\\"b\",\"last\":\"" last "\"}"

START_TEST(texts_of_the_same_form_are_poured)
{
    static const char *const texts[] = {
        FIRST,
        ANOTHER("job-10", "x", "", "12", "1", "z"),
        ANOTHER("job-", "x", "", "12", "1", "z"),
        ANOTHER("", "", "", "0", "0", ""),
        ANOTHER("job-9", "x", "", "1", "1", "z"),
        ANOTHER("job-9", "x", "", "123", "12", "zz"),
        ANOTHER("job-9", "x", "", "-12", "-0", "z"),
        ANOTHER("another", "letters", "here", "987654321012", "7", "/a/b c"),
        FIRST,
    };
    CLEANUP(parse_template_freep)
    struct parse_template *m = parse_template_new(FIRST, strlen(FIRST));

    ck_assert_ptr_nonnull(m);
    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
        assert_poured(m, texts[i]);
}
END_TEST

/* Each is JSON of another form, or has to be judged by the parser. */
START_TEST(other_texts_are_left_to_the_parser)
{
    static const char *const texts[] = {
        "",
        "{",
        "{}",
        "[]",
        ANOTHER("job\\n9", "x", "", "12", "1", "z"),
        ANOTHER("j\xc3\xb6"
                "b",
                "x", "", "12", "1", "z"),
        ANOTHER("job\x01", "x", "", "12", "1", "z"),
        ANOTHER("job-9", "x", "", "012", "1", "z"),
        ANOTHER("job-9", "x", "", "1.5", "1", "z"),
        ANOTHER("job-9", "x", "", "1e5", "1", "z"),
        ANOTHER("job-9", "x", "", "", "1", "z"),
        ANOTHER("job-9", "x", "", "-", "1", "z"),
        ANOTHER("job-9", "x", "", "true", "1", "z"),
        ANOTHER("job-9", "x", "", "\"12\"", "1", "z"),
        ANOTHER("job-9", "x", "", "12", "1,1", "z"),
        ANOTHER("job-9", "x", "\",\"c\":\"", "12", "1", "z"),
        ANOTHER("job-9", "x", "", "12", "1", "z") " ",
        ANOTHER("job-9", "x", "", "12", "1", "z") "}",
        ANOTHER("job-9", "x", "", "12", "1", "z\",\"more\":\"z"),
    };
    CLEANUP(parse_template_freep)
    struct parse_template *m = parse_template_new(FIRST, strlen(FIRST));

    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++) {
        ck_assert_msg(parse_template_apply(m, texts[i], strlen(texts[i])) == NULL, "%s", texts[i]);
        assert_poured(m, FIRST);
    }
    for (size_t n = 0; n < strlen(FIRST); n++)
        ck_assert_ptr_null(parse_template_apply(m, FIRST, n));
}
END_TEST

/* With any one byte changed, the template gives the parser's result, or none.
 */
START_TEST(a_changed_byte_is_seen)
{
    static const char bytes[] = "a0\"\\{}[],:-9 \n";
    CLEANUP(parse_template_freep)
    struct parse_template *m = parse_template_new(FIRST, strlen(FIRST));
    char text[sizeof(FIRST)];

    for (size_t at = 0; at < sizeof(FIRST) - 1; at++)
        for (const char *b = bytes; *b != '\0'; b++) {
            CLEANUP(arena_freep) struct arena *arena = arena_new(0);
            const struct json *poured, *parsed;

            memcpy(text, FIRST, sizeof(text));
            text[at] = *b;
            poured = parse_template_apply(m, text, strlen(text));
            parsed = json_parse(arena, text, strlen(text), NULL, NULL);
            if (poured != NULL) {
                ck_assert_msg(parsed != NULL, "%s", text);
                ck_assert_msg(json_equals(poured, parsed), "%s", text);
            }
        }
}
END_TEST

START_TEST(there_is_no_template_of_what_was_not_printed)
{
    static const char *const texts[] = {
        "", "{", "{\"a\": 1}", "{\"a\":1,\"a\":2}", "{\"a\":\"\\u0041\"}", " {}",
    };

    for (unsigned i = 0; i < ARRAY_SIZE(texts); i++)
        ck_assert_ptr_null(parse_template_new(texts[i], strlen(texts[i])));
}
END_TEST

SUITE("template", texts_of_the_same_form_are_poured, other_texts_are_left_to_the_parser,
      a_changed_byte_is_seen, there_is_no_template_of_what_was_not_printed)
