/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/spelling.h"

#include <string.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

START_TEST(distance_counts_what_the_finger_did)
{
    static const struct {
        const char *a;
        const char *b;
        unsigned distance;
    } cases[] = {
        {"", "", 0},
        {"", "abc", 3},
        {"listen", "listen", 0},
        {"Listen", "listen", 0},
        {"listn", "listen", 1},
        {"listeen", "listen", 1},
        {"lisden", "listen", 1},
        {"lsiten", "listen", 1},
        {"kitten", "sitting", 3},
        {"ca", "abc", 3},
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        ck_assert_uint_eq(spelling_distance(cases[i].a, cases[i].b),
                          cases[i].distance);
        ck_assert_uint_eq(spelling_distance(cases[i].b, cases[i].a),
                          cases[i].distance);
    }
}
END_TEST

START_TEST(the_nearest_word_is_found_and_a_far_one_is_not)
{
    static const char *const words[] = {"listen", "stateDir", "n17", "n2"};

    ck_assert_str_eq(spelling_nearest("lisen", words, 4), "listen");
    ck_assert_str_eq(spelling_nearest("statedir", words, 4), "stateDir");
    ck_assert_str_eq(spelling_nearest("n7", words, 4), "n17");
    ck_assert_ptr_null(spelling_nearest("munge", words, 4));
    ck_assert_ptr_null(spelling_nearest("listen", words, 0));
    ck_assert_ptr_null(spelling_nearest("", words, 2));
}
END_TEST

START_TEST(a_very_long_word_is_near_to_none)
{
    char word[5000];
    static const char *const words[] = {"listen"};

    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';

    ck_assert_uint_eq(spelling_distance(word, word), SPELLING_FAR);
    ck_assert_ptr_null(spelling_nearest(word, words, 1));
}
END_TEST

SUITE("spelling",
      distance_counts_what_the_finger_did,
      the_nearest_word_is_found_and_a_far_one_is_not,
      a_very_long_word_is_near_to_none)
