/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_json.c - any bytes as JSON: parsed or refused, and printed as parsed;
 * what the fast parser accepts equals the other parser's result
 */
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/ascii_parser.h"
#include "lib/json/json.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json_notes notes;
    struct json *quick = json_parse_ascii(arena, (const char *)bytes, length, SIZE_MAX);
    struct json *v = json_parse(arena, (const char *)bytes, length, &notes, NULL);
    struct json *again;

    if (quick != NULL
        && !json_equals(
            quick, json_parse_by_events(arena, (const char *)bytes, length, SIZE_MAX, NULL, NULL)))
        abort();
    if (v == NULL)
        return 0;
    json_print(v, &out);
    again = json_parse(arena, out.text, out.length, NULL, NULL);
    if (!json_equals(v, again))
        abort();
    return 0;
}
