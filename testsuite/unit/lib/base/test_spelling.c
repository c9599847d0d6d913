/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/spelling.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/macro.h"
#include "testsuite/lib/suite.h"

#define BEGINNING "................................"

/* Whether the words have that distance. Both get a common beginning, so that
 * they are near enough whatever they are, and compete with a word that has the
 * distance by construction: so many letters of the beginning are replaced by a
 * letter that occurs nowhere else.
 */
static bool
has_distance(const char *a, const char *b, unsigned distance)
{
    char word[64], candidate[64], known[64];
    const char *known_first[] = {known, candidate};
    const char *candidate_first[] = {candidate, known};

    snprintf(word, sizeof(word), BEGINNING "%s", a);
    snprintf(candidate, sizeof(candidate), BEGINNING "%s", b);
    snprintf(known, sizeof(known), "%s", word);
    memset(known, '#', distance);
    return spelling_nearest(word, known_first, 2) == known
           && spelling_nearest(word, candidate_first, 2) == candidate;
}

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
        ck_assert(has_distance(cases[i].a, cases[i].b, cases[i].distance));
        ck_assert(has_distance(cases[i].b, cases[i].a, cases[i].distance));
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
    const char *itself = word;
    static const char *const words[] = {"listen"};

    memset(word, 'a', sizeof(word) - 1);
    word[sizeof(word) - 1] = '\0';

    ck_assert_ptr_null(spelling_nearest(word, &itself, 1));
    ck_assert_ptr_null(spelling_nearest(word, words, 1));
    word[65] = '\0';
    ck_assert_ptr_null(spelling_nearest(word, &itself, 1));
    word[64] = '\0';
    ck_assert_ptr_eq(spelling_nearest(word, &itself, 1), word);
}
END_TEST

SUITE("spelling", distance_counts_what_the_finger_did,
      the_nearest_word_is_found_and_a_far_one_is_not, a_very_long_word_is_near_to_none)
