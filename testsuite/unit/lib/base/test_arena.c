/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "testsuite/lib/suite.h"

START_TEST(memory_is_zeroed_and_aligned_whatever_came_before)
{
    struct arena *arena = arena_new(0);

    for (size_t size = 1; size < 300; size++) {
        unsigned char *p;

        arena_strndup(arena, "xxxxxxxxxxxx", size % 13);
        p = arena_alloc(arena, size);
        ck_assert_uint_eq((uintptr_t)p % (size % 16 == 0 ? 16 : 8), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(p[i], 0);
        memset(p, 0xff, size);
    }
    arena_free(arena);
}
END_TEST

START_TEST(nothing_is_seen_of_what_an_earlier_arena_held)
{
    for (size_t size = 1000; size < 100000; size += 1000) {
        struct arena *arena = arena_new(size);

        memset(arena_alloc(arena, size), 0xff, size);
        arena_free(arena);
        arena = arena_new(size);
        ck_assert_int_eq(*(char *)arena_alloc(arena, 1), 0);
        for (size_t i = 1; i < size / 8; i++)
            ck_assert_int_eq(*(uint64_t *)arena_alloc(arena, 8), 0);
        arena_free(arena);
    }
}
END_TEST

START_TEST(memory_stays_in_place_while_the_arena_grows)
{
    struct arena *arena = arena_new(16);
    char *texts[2000];

    for (int i = 0; i < 2000; i++)
        texts[i] = arena_printf(arena, "text %d", i);

    for (int i = 0; i < 2000; i++) {
        char expected[16];

        snprintf(expected, sizeof(expected), "text %d", i);
        ck_assert_str_eq(texts[i], expected);
    }
    arena_free(arena);
}
END_TEST

START_TEST(a_printed_text_may_be_longer_than_any_block)
{
    struct arena *arena = arena_new(0);
    char *text = arena_printf(arena, "%0*d", 1000000, 5);

    ck_assert_uint_eq(strlen(text), 1000000);
    ck_assert_int_eq(text[999999], '5');
    arena_free(arena);
}
END_TEST

START_TEST(two_texts_are_put_together_however_long)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    char longer[5000];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';

    ck_assert_str_eq(arena_concat(arena, "", ""), "");
    ck_assert_str_eq(arena_concat(arena, "job-", "7"), "job-7");
    ck_assert_uint_eq(strlen(arena_concat(arena, longer, longer)), 2 * (sizeof(longer) - 1));
}
END_TEST

START_TEST(strings_with_nul_bytes_are_kept_whole)
{
    struct arena *arena = arena_new(0);
    char *copy = arena_strndup(arena, "a\0b", 3);

    ck_assert_mem_eq(copy, "a\0b", 4);
    arena_free(arena);
}
END_TEST

START_TEST(large_pieces_do_not_waste_the_room_of_the_open_block)
{
    enum { LARGE = 300 * 1024, ROUNDS = 100 };
    struct arena *arena = arena_new(0);

    for (int i = 0; i < ROUNDS; i++) {
        arena_alloc(arena, 10);
        arena_alloc(arena, LARGE);
    }

    ck_assert_uint_lt(arena_bytes(arena), (size_t)ROUNDS * LARGE * 11 / 10);
    arena_free(arena);
}
END_TEST

START_TEST(a_small_document_costs_one_small_block)
{
    struct arena *arena = arena_new(0);

    arena_strdup(arena, "small");

    ck_assert_uint_lt(arena_bytes(arena), 2048);
    arena_free(arena);
}
END_TEST

START_TEST(memory_after_a_mark_goes_and_memory_before_it_stays)
{
    enum { LARGE = 300 * 1024 };
    struct arena *arena = arena_new(0);
    const char *before = arena_strdup(arena, "before");
    struct arena_mark mark = arena_mark(arena);
    size_t bytes = arena_bytes(arena);

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3000; i++)
            memset(arena_alloc(arena, 100), 0xff, 100);
        memset(arena_alloc(arena, LARGE), 0xff, LARGE);
        arena_rewind(arena, &mark);
        ck_assert_uint_eq(arena_bytes(arena), bytes);
    }

    ck_assert_str_eq(before, "before");
    ck_assert_str_eq(arena_strdup(arena, "after"), "after");
    ck_assert_str_eq(before, "before");
    arena_free(arena);
}
END_TEST

START_TEST(an_arena_goes_back_to_where_it_was_empty_or_held_large_pieces)
{
    enum { LARGE = 300 * 1024 };
    struct arena *arena = arena_new(0);
    struct arena_mark empty = arena_mark(arena), mark;
    char *small, *large;

    arena_strdup(arena, "x");
    arena_rewind(arena, &empty);
    small = arena_strdup(arena, "small");
    large = arena_alloc(arena, LARGE);
    large[LARGE - 1] = 'l';
    mark = arena_mark(arena);
    arena_alloc(arena, LARGE);
    arena_rewind(arena, &mark);

    ck_assert_str_eq(small, "small");
    ck_assert_int_eq(large[LARGE - 1], 'l');
    arena_rewind(arena, &empty);
    ck_assert_str_eq(arena_strdup(arena, "y"), "y");
    arena_free(arena);
}
END_TEST

START_TEST(freeing_no_arena_is_fine)
{
    arena_free(NULL);
}
END_TEST

SUITE("arena", memory_is_zeroed_and_aligned_whatever_came_before,
      nothing_is_seen_of_what_an_earlier_arena_held, memory_stays_in_place_while_the_arena_grows,
      a_printed_text_may_be_longer_than_any_block, two_texts_are_put_together_however_long,
      strings_with_nul_bytes_are_kept_whole, large_pieces_do_not_waste_the_room_of_the_open_block,
      a_small_document_costs_one_small_block, memory_after_a_mark_goes_and_memory_before_it_stays,
      an_arena_goes_back_to_where_it_was_empty_or_held_large_pieces, freeing_no_arena_is_fine)
