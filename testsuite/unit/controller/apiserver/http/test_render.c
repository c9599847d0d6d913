/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/apiserver/http/render.h"

#include <check.h>
#include <stdint.h>

#include "controller/apiserver/access/principal.h"
#include "controller/apiserver/request/frame.h"
#include "controller/apiserver/request/reply.h"
#include "controller/apiserver/request/view.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "testsuite/lib/suite.h"

static const struct principal reader = {.type = PRINCIPAL_ADMINISTRATOR};

static void
make_list(struct reply *reply, struct arena *arena, unsigned n)
{
    reply_init(reply, arena);
    reply_start_list(reply, &config_map_kind);
    reply->revision = 12;
    reply->continue_token = "[items]";
    for (unsigned i = 0; i < n; i++) {
        struct json *tree = json_object(arena);
        struct json *meta = json_make_object(arena, tree, "metadata");
        struct json *data = json_make_object(arena, tree, "data");
        const struct object *object;

        json_set_string(arena, tree, "kind", "ConfigMap");
        json_set_string(arena, tree, "apiVersion", "v1");
        json_set_string(arena, meta, "name", arena_printf(arena, "m%u", i));
        json_set_string(arena, data, "a", "[\n]\n- \"x\": y\n");
        json_set_string(arena, data, "items", "");
        ck_assert_int_eq(record_normalize(config_map_kind.record, arena, tree, NULL, NULL), 0);
        object = object_new(&config_map_kind, tree);
        reply_add(reply, object);
        object_unref(object);
    }
}

START_TEST(a_list_in_slices_is_the_list_at_once)
{
    static const enum accept_form forms[] = {
        ACCEPT_WHOLE,
        ACCEPT_TABLE,
        ACCEPT_METADATA_LIST,
    };

    for (unsigned i = 0; i < 2 * ARRAY_SIZE(forms); i++) {
        CLEANUP(arena_freep) struct arena *arena = arena_new(0);
        CLEANUP(frame_unrefp) struct frame *whole = frame_new();
        CLEANUP(frame_unrefp) struct frame *sliced = frame_new();
        CLEANUP_STRBUF struct strbuf expected = STRBUF_INIT;
        CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
        struct view view = {
            .accept = {.form = forms[i / 2], .is_yaml = i % 2 == 0, .is_pretty = i % 2 == 1},
            .kind = &config_map_kind,
            .principal = &reader,
        };
        struct reply reply;
        size_t at = 0;

        make_list(&reply, arena, 10);
        render_reply(whole, &view, &reply);
        while (render_list_some(sliced, &view, &reply, &at, 3))
            continue;

        frame_copy(whole, &expected);
        frame_copy(sliced, &text);
        ck_assert_str_eq(text.text, expected.text);
        reply_fini(&reply);
    }
}
END_TEST

SUITE("render", a_list_in_slices_is_the_list_at_once)
