/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/watch/shared_change.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "testsuite/lib/suite.h"

#define MOST 100 /* more than the number of frames kept for reuse */

static const struct principal reader = {.type = PRINCIPAL_ADMINISTRATOR};
static const struct view view = {.principal = &reader};

static const struct object *
make(unsigned i)
{
    char text[160];
    const struct object *object = NULL;

    snprintf(text, sizeof(text),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
             "\"name\":\"m%u\",\"resourceVersion\":\"%u\"}}",
             i, i + 1);
    ck_assert_int_eq(object_parse(&config_map_kind, text, strlen(text), &object, NULL), 0);
    return object;
}

static struct frame *
tell(struct shared_change *shared_change, unsigned i)
{
    const struct object *object = make(i);
    struct frame *frame = shared_change_frame(shared_change, &view, "MODIFIED", object, false);

    ck_assert_ptr_eq(shared_change_frame(shared_change, &view, "MODIFIED", object, false), frame);
    object_unref(object);
    return frame;
}

static void
expect(const struct frame *frame, unsigned i)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char name[24];

    frame_copy(frame, &text);
    snprintf(name, sizeof(name), "\"name\":\"m%u\"", i);
    ck_assert_msg(strstr(text.text, name) != NULL, "%u: %s", i, text.text);
    ck_assert_uint_eq(text.length, frame_length(frame));
    ck_assert_str_eq(text.text + text.length - 2, "}\n");
}

/* Frames are reused, but never while a reference to one is held. */
START_TEST(a_frame_that_is_held_keeps_its_text)
{
    struct shared_change *shared_change = shared_change_new(NULL, &clock_system);
    struct frame *kept[MOST] = {0};

    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < MOST; i++) {
            struct frame *frame = tell(shared_change, i);

            expect(frame, i);
            if (kept[i] != NULL) {
                expect(kept[i], i);
                frame_unref(kept[i]);
                kept[i] = NULL;
            }
            if ((i + round) % 3 == 0)
                kept[i] = frame_ref(frame);
        }
    for (unsigned i = 0; i < MOST; i++)
        if (kept[i] != NULL)
            expect(kept[i], i);
    shared_change_free(shared_change);
    for (unsigned i = 0; i < MOST; i++)
        frame_unref(kept[i]);
}
END_TEST

START_TEST(a_frame_that_nobody_holds_is_filled_again)
{
    struct shared_change *shared_change = shared_change_new(NULL, &clock_system);
    struct frame *first = tell(shared_change, 0);
    struct frame *second = tell(shared_change, 1);
    struct frame *third = tell(shared_change, 2);

    ck_assert(first == second || first == third);
    expect(third, 2);
    shared_change_free(shared_change);
}
END_TEST

SUITE("shared_change", a_frame_that_is_held_keeps_its_text,
      a_frame_that_nobody_holds_is_filled_again)
