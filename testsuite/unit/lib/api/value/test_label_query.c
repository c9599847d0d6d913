/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "lib/api/value/selector.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/json/record.h"
#include "testsuite/lib/suite.h"

START_TEST(a_query_selects_by_labels)
{
    struct string_entry entries[] = {{"tier", "web"}, {"n", "7"}};
    struct string_map labels = {entries, 2};
    static const struct {
        const char *query;
        bool matches;
    } cases[] = {
        {"", true},
        {"tier", true},
        {"!tier", false},
        {"!zone", true},
        {"tier=web,n==7", true},
        {"tier!=web", false},
        {"zone!=a", true},
        {"tier in (web, db)", true},
        {"tier notin (db)", true},
        {"zone notin (a)", true},
        {"n>6,n<8", true},
        {"n>7", false},
        {"tier>1", false},
        {"in in (in)", false},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct label_query *query;

        ck_assert_int_eq(label_query_parse(arena, cases[i].query, &query, NULL), 0);
        ck_assert_msg(label_query_matches(query, &labels) == cases[i].matches, "%s",
                      cases[i].query);
    }
}
END_TEST

START_TEST(a_query_that_makes_no_sense_is_refused_with_words)
{
    static const char *const cases[] = {
        ",",   "a,",     "a=b=c",   "a in", "a in (", "a in b",  "a>x",  "a in (b",
        "=",   "a b",    "!",       "!a=b", "a/b/c=", "a=\xff",  "a=>1", "a&b=1",
        "(a)", "a==,==", "a in ((", "a)(",  "!!a",    "a notin", "><",   "a>",
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        struct label_query *query;
        struct error err = {0};

        ck_assert_msg(label_query_parse(arena, cases[i], &query, &err) == -EINVAL, "%s", cases[i]);
        ck_assert_str_ne(err.text, "");
    }
}
END_TEST

/* The prefilter may accept labels that do not match, but never reject matching
 * ones.
 */
START_TEST(labels_that_match_have_the_bits_of_the_selector)
{
    struct string_entry entries[] = {{"tier", "web"}, {"n", "7"}, {"job", "1"}};
    struct string_map labels = {entries, ARRAY_SIZE(entries)};
    static const struct {
        const char *selector;
        bool matches, may_match;
    } cases[] = {
        {"{}", true, true},
        {"{'matchLabels':{'tier':'web','job':'1'}}", true, true},
        {"{'matchLabels':{'tier':'web','job':'2'}}", false, false},
        {"{'matchLabels':{'zone':'a'}}", false, false},
        {"{'matchExpressions':[{'key':'n','operator':'In','values':['7']}]}", true, true},
        {"{'matchExpressions':[{'key':'n','operator':'In','values':['8']}]}", false, false},
        {"{'matchExpressions':[{'key':'n','operator':'In','values':['8','7']}]}", true, true},
        {"{'matchExpressions':[{'key':'n','operator':'NotIn','values':['8']}]}", true, true},
        {"{'matchExpressions':[{'key':'n','operator':'NotIn','values':['7']}]}", false, true},
        {"{'matchExpressions':[{'key':'n','operator':'Exists'}]}", true, true},
        {"{'matchExpressions':[{'key':'zone','operator':'DoesNotExist'}]}", true, true},
        {"{'matchExpressions':[{'operator':'In','values':['7']}]}", false, true},
    };

    ck_assert(label_selector_bits(NULL) == 0);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP_FREE char *text = xstrdup(cases[i].selector);
        struct label_selector selector = {0};
        struct json *tree;
        uint64_t bits;

        for (char *c = text; *c != '\0'; c++)
            if (*c == '\'')
                *c = '"';
        tree = json_parse(arena, text, strlen(text), NULL, NULL);
        ck_assert_ptr_nonnull(tree);
        record_decode(&label_selector_record, arena, tree, &selector);
        bits = label_selector_bits(&selector);
        ck_assert_msg(label_selector_matches(&selector, &labels) == cases[i].matches, "%s", text);
        ck_assert_msg(((label_bits(&labels) & bits) == bits) == cases[i].may_match, "%s", text);
    }
}
END_TEST

SUITE("label_query", a_query_selects_by_labels, a_query_that_makes_no_sense_is_refused_with_words,
      labels_that_match_have_the_bits_of_the_selector)
