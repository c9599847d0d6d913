/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/strbuf.h"

#include <string.h>

#include "lib/base/alloc.h"
#include "testsuite/lib/suite.h"

START_TEST(an_empty_buffer_is_an_empty_string_and_owns_nothing)
{
    struct strbuf s = STRBUF_INIT;

    ck_assert_str_eq(s.text, "");
    ck_assert_uint_eq(s.length, 0);
    strbuf_truncate(&s, 0);
    strbuf_add(&s, NULL, 0);
    ck_assert_ptr_eq(s.text, strbuf_empty);
}
END_TEST

START_TEST(pieces_of_every_kind_append)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_add_text(&s, "one ");
    strbuf_add(&s, "two-", 3);
    strbuf_add_char(&s, ' ');
    strbuf_printf(&s, "%d", 3);

    ck_assert_str_eq(s.text, "one two 3");
    ck_assert_uint_eq(s.length, 9);
}
END_TEST

START_TEST(a_text_grows_at_every_length_without_losing_its_end)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    for (size_t i = 0; i < 5000; i++) {
        strbuf_add_char(&s, (char)('a' + i % 26));
        ck_assert_uint_eq(s.length, i + 1);
        ck_assert_int_eq(s.text[i + 1], '\0');
    }
    for (size_t i = 0; i < 5000; i++)
        ck_assert_int_eq(s.text[i], (char)('a' + i % 26));
}
END_TEST

START_TEST(printing_more_than_there_is_room_for_prints_all_of_it)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    for (int width = 1; width < 400; width++)
        strbuf_printf(&s, "%0*d", width, 7);

    ck_assert_uint_eq(s.length, 399 * 400 / 2);
    ck_assert_uint_eq(strlen(s.text), s.length);
}
END_TEST

START_TEST(bytes_may_be_nul)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_add(&s, "a\0b", 3);
    strbuf_add_char(&s, '\0');

    ck_assert_uint_eq(s.length, 4);
    ck_assert_mem_eq(s.text, "a\0b\0", 5);
}
END_TEST

START_TEST(truncating_shortens_and_never_lengthens)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;

    strbuf_add_text(&s, "abcdef");
    strbuf_truncate(&s, 10);
    ck_assert_str_eq(s.text, "abcdef");
    strbuf_truncate(&s, 2);
    ck_assert_str_eq(s.text, "ab");
}
END_TEST

START_TEST(a_taken_text_is_ours_and_the_buffer_is_empty)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    char *empty = strbuf_take(&s);
    char *full;

    strbuf_add_text(&s, "text");
    full = strbuf_take(&s);

    ck_assert_str_eq(empty, "");
    ck_assert_str_eq(full, "text");
    ck_assert_str_eq(s.text, "");
    free(empty);
    free(full);
}
END_TEST

START_TEST(a_text_that_outgrows_a_lent_room_moves_out_of_it)
{
    char room[8] = "?";
    CLEANUP_STRBUF struct strbuf s;
    char *taken;

    strbuf_init_in(&s, room, sizeof(room));
    ck_assert_str_eq(s.text, "");
    strbuf_add_text(&s, "1234567");
    ck_assert_ptr_eq(s.text, room);
    strbuf_add_text(&s, "8");
    ck_assert_ptr_ne(s.text, room);
    ck_assert_str_eq(s.text, "12345678");

    strbuf_fini(&s);
    strbuf_init_in(&s, room, sizeof(room));
    strbuf_add_text(&s, "mine");
    taken = strbuf_take(&s);
    memset(room, 'x', sizeof(room));
    ck_assert_str_eq(taken, "mine");
    free(taken);
}
END_TEST

START_TEST(a_buffer_that_is_never_empty_keeps_only_what_is_not_sent)
{
    CLEANUP_STRBUF struct strbuf s = STRBUF_INIT;
    size_t sent = 0, most = 0;

    for (unsigned i = 0; i < 100000; i++) {
        strbuf_printf(&s, "%09u", i);
        if (i > 10) {
            char wanted[16];

            snprintf(wanted, sizeof(wanted), "%09u", i - 11);
            ck_assert_mem_eq(s.text + sent, wanted, 9);
            sent += 9;
        }
        strbuf_drop_sent(&s, &sent);
        most = s.length > most ? s.length : most;
    }
    ck_assert_uint_lt(most, 300);
    ck_assert_uint_eq(s.length - sent, 9 * 11);
}
END_TEST

SUITE("strbuf", an_empty_buffer_is_an_empty_string_and_owns_nothing, pieces_of_every_kind_append,
      a_text_grows_at_every_length_without_losing_its_end,
      printing_more_than_there_is_room_for_prints_all_of_it, bytes_may_be_nul,
      truncating_shortens_and_never_lengthens, a_taken_text_is_ours_and_the_buffer_is_empty,
      a_text_that_outgrows_a_lent_room_moves_out_of_it,
      a_buffer_that_is_never_empty_keeps_only_what_is_not_sent)
