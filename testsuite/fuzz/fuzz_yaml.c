/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_yaml.c - any bytes as YAML: read or refused, and printed as read */
#include <stdlib.h>

#include "lib/base/arena.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    struct json *v = NULL, *again = NULL;

    if (yaml_parse(arena, (const char *)bytes, length, &v, NULL) < 0)
        return 0;
    yaml_print(v, &out);
    if (yaml_parse(arena, out.text, out.length, &again, NULL) < 0 || !json_equals(v, again))
        abort();
    return 0;
}
