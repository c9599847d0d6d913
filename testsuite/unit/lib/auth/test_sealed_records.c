/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/auth/sealed_records.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

static const struct sealed_state start = {.key = {.bytes = "0123456789abcdef0123456789abcde"}};

static struct strbuf wire;
static struct sealed_direction *writer, *reader;

static void
set_up(void)
{
    strbuf_init(&wire);
    writer = sealed_direction_new(&start);
    reader = sealed_direction_new(&start);
}

static void
tear_down(void)
{
    sealed_direction_free(reader);
    sealed_direction_free(writer);
    strbuf_fini(&wire);
}

/* Opens the first record from `at`. */
static ssize_t
open_at(size_t at, unsigned char **ret_text, size_t *ret_length)
{
    return sealed_open(reader, (unsigned char *)wire.text + at, wire.length - at, ret_text,
                       ret_length, NULL);
}

static void
expect(size_t at, const char *text)
{
    unsigned char *found = NULL;
    size_t length = 0;
    ssize_t took = open_at(at, &found, &length);

    ck_assert_int_eq(took, (ssize_t)(strlen(text) + SEALED_OVERHEAD));
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_mem_eq(found, text, length);
}

START_TEST(records_come_back_in_their_order)
{
    set_up();
    sealed_seal(writer, "one", 3, &wire);
    sealed_seal(writer, "", 0, &wire);
    sealed_seal(writer, "three", 5, &wire);

    ck_assert_ptr_null(memmem(wire.text, wire.length, "three", 5));
    expect(0, "one");
    expect(3 + SEALED_OVERHEAD, "three");
    tear_down();
}
END_TEST

START_TEST(a_long_text_becomes_several_records)
{
    size_t length = 2 * SEALED_TEXT_MOST + 1, at = 0, back = 0;
    CLEANUP_FREE char *text = xmalloc(length);

    set_up();
    memset(text, 'x', length);
    sealed_seal(writer, text, length, &wire);
    ck_assert_uint_eq(wire.length, length + 3 * SEALED_OVERHEAD);
    while (at < wire.length) {
        unsigned char *found = NULL;
        size_t part = 0;
        ssize_t took = open_at(at, &found, &part);

        ck_assert_int_gt(took, 0);
        ck_assert_mem_eq(found, text, part);
        back += part;
        at += (size_t)took;
    }
    ck_assert_uint_eq(back, length);
    tear_down();
}
END_TEST

START_TEST(a_record_that_is_not_complete_waits)
{
    unsigned char *found = NULL;
    size_t length = 0;

    set_up();
    sealed_seal(writer, "text", 4, &wire);
    for (size_t i = 0; i < wire.length; i++)
        ck_assert_int_eq(sealed_open(reader, (unsigned char *)wire.text, i, &found, &length, NULL),
                         0);
    ck_assert(!sealed_is_complete((unsigned char *)wire.text, wire.length - 1));
    ck_assert(sealed_is_complete((unsigned char *)wire.text, wire.length));
    expect(0, "text");
    tear_down();
}
END_TEST

START_TEST(every_changed_byte_is_noticed)
{
    unsigned char *found = NULL;
    size_t length = 0;

    set_up();
    sealed_seal(writer, "text", 4, &wire);
    for (size_t i = 0; i < wire.length; i++) {
        CLEANUP_FREE unsigned char *copy = xmalloc(wire.length);
        CLEANUP(sealed_direction_freep)
        struct sealed_direction *other = sealed_direction_new(&start);
        ssize_t r;

        memcpy(copy, wire.text, wire.length);
        copy[i] ^= 1;
        r = sealed_open(other, copy, wire.length, &found, &length, NULL);
        /* A greater length makes the record incomplete. */
        ck_assert(r == -EKEYREJECTED || r == -EPROTO || (i < 4 && r == 0));
    }
    tear_down();
}
END_TEST

/* Opens a copy of the record at `at` as the next record of a direction. */
static ssize_t
open_copy(const struct sealed_state *state, size_t at, size_t size)
{
    CLEANUP(sealed_direction_freep) struct sealed_direction *d = sealed_direction_new(state);
    CLEANUP_FREE unsigned char *copy = xmalloc(size);
    unsigned char *found = NULL;
    size_t length = 0;

    memcpy(copy, wire.text + at, size);
    return sealed_open(d, copy, size, &found, &length, NULL);
}

START_TEST(a_repeated_missing_or_foreign_record_is_noticed)
{
    size_t size = 1 + SEALED_OVERHEAD;
    struct sealed_state other = start, second = start;

    set_up();
    other.key.bytes[31] ^= 1;
    second.count = 1;
    sealed_seal(writer, "a", 1, &wire);
    sealed_seal(writer, "b", 1, &wire);
    ck_assert_int_eq(open_copy(&start, 0, size), (ssize_t)size);
    ck_assert_int_eq(open_copy(&second, size, size), (ssize_t)size);

    ck_assert_int_eq(open_copy(&second, 0, size), -EKEYREJECTED);   /* repeated */
    ck_assert_int_eq(open_copy(&start, size, size), -EKEYREJECTED); /* one is missing */
    ck_assert_int_eq(open_copy(&other, 0, size), -EKEYREJECTED);
    tear_down();
}
END_TEST

START_TEST(a_length_that_no_record_has_is_refused)
{
    static unsigned char none[64] = {0, 0, 0, 0};
    static unsigned char much[64] = {0, 1, 0, 1};
    unsigned char *found = NULL;
    size_t length = 0;

    set_up();
    ck_assert_int_eq(sealed_open(reader, none, sizeof(none), &found, &length, NULL), -EPROTO);
    ck_assert_int_eq(sealed_open(reader, much, sizeof(much), &found, &length, NULL), -EPROTO);
    tear_down();
}
END_TEST

START_TEST(another_process_goes_on_and_a_key_is_replaced_in_time)
{
    struct sealed_state late = start, now;
    struct sealed_direction *heir;

    set_up();
    late.count = SEALED_RECORDS_PER_KEY - 1;
    sealed_direction_free(reader);
    sealed_direction_free(writer);
    reader = sealed_direction_new(&late);
    writer = sealed_direction_new(&late);
    sealed_seal(writer, "a", 1, &wire);
    sealed_seal(writer, "b", 1, &wire);
    expect(0, "a");
    expect(1 + SEALED_OVERHEAD, "b");
    sealed_direction_state(writer, &now);

    ck_assert_uint_eq(now.count, SEALED_RECORDS_PER_KEY + 1);
    ck_assert(!digest_equals(&now.key, &start.key));
    heir = sealed_direction_new(&now);
    sealed_seal(heir, "c", 1, &wire);
    sealed_direction_free(heir);
    expect(2 * (1 + SEALED_OVERHEAD), "c");
    tear_down();
}
END_TEST

SUITE("sealed_records", records_come_back_in_their_order, a_long_text_becomes_several_records,
      a_record_that_is_not_complete_waits, every_changed_byte_is_noticed,
      a_repeated_missing_or_foreign_record_is_noticed, a_length_that_no_record_has_is_refused,
      another_process_goes_on_and_a_key_is_replaced_in_time)
