/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/job/element_states.h"

#include <string.h>

#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

START_TEST(a_chunk_comes_back_as_it_was)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct element_chunk a = {0}, b = {0};

    for (size_t i = 0; i < ELEMENTS_A_CHUNK; i++)
        a.states[i] = (uint8_t)(i * 7 % 4);
    element_chunk_set_tries(&a, &(struct element_tries){3072, 1, 1, 0, 0});
    element_chunk_set_tries(&a, &(struct element_tries){4095, 12, 0, 11, 0});
    element_chunk_set_tries(&a, &(struct element_tries){3080, 2, 1, 1, 0});
    element_chunk_set_tries(&a, &(struct element_tries){3072, 0, 0, 0, 0});
    element_chunk_format(&a, 3072, &text);

    ck_assert(element_chunk_parse(&b, 3072, text.text));
    ck_assert_mem_eq(a.states, b.states, sizeof(a.states));
    ck_assert_uint_eq(b.n_tries, 2);
    ck_assert_ptr_null(element_chunk_tries(&b, 3072));
    ck_assert_int_eq(element_chunk_tries(&b, 3080)->ignored, 1);
    ck_assert_int_eq(element_chunk_tries(&b, 4095)->attempt, 12);
    element_chunk_fini(&a);
    element_chunk_fini(&b);
}
END_TEST

START_TEST(a_text_of_another_form_is_refused)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct element_chunk a = {0}, b = {0};

    element_chunk_format(&a, 0, &text);
    ck_assert(element_chunk_parse(&b, 0, text.text));
    text.text[0] = '3'; /* the form of a later release */
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    text.text[0] = '1';
    text.text[100] = 'g';
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    text.text[100] = '\0';
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    text.text[100] = '0';
    strbuf_add_text(&text, " 1024=1/0/0");
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    element_chunk_fini(&b);
}
END_TEST

/* The previous release can read chunks without interruptions. */
START_TEST(the_second_form_alone_has_the_interruptions)
{
    CLEANUP_STRBUF struct strbuf first = STRBUF_INIT, text = STRBUF_INIT;
    struct element_chunk a = {0}, b = {0};

    element_chunk_set_tries(&a, &(struct element_tries){3, 2, 1, 0, 0});
    element_chunk_format(&a, 0, &first);
    ck_assert_mem_eq(first.text, "1:", 2);
    element_chunk_set_tries(&a, &(struct element_tries){5, 4, 1, 0, 3});
    element_chunk_format(&a, 0, &text);
    ck_assert_mem_eq(text.text, "2:", 2);
    ck_assert(element_chunk_parse(&b, 0, text.text));
    ck_assert_int_eq(element_chunk_tries(&b, 3)->interrupted, 0);
    ck_assert_int_eq(element_chunk_tries(&b, 5)->interrupted, 3);
    ck_assert_int_eq(element_chunk_tries(&b, 5)->attempt, 4);
    text.text[0] = '1'; /* the first form lacks the interruptions */
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    text.text[0] = '2';
    strbuf_add_text(&text, "/1");
    ck_assert(!element_chunk_parse(&b, 0, text.text));
    element_chunk_fini(&a);
    element_chunk_fini(&b);
}
END_TEST

SUITE("element_states", a_chunk_comes_back_as_it_was, the_second_form_alone_has_the_interruptions,
      a_text_of_another_form_is_refused)
