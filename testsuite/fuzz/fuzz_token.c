/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_token.c - any bytes as the `continue` token of a list: refused, or a
 * position in a list that is written again as it was read
 */
#include <stdlib.h>
#include <string.h>

#include "controller/apiserver/request/continue_token.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_FREE char *text = xstrndup((const char *)bytes, length);
    struct continue_token token, again;

    if (continue_token_parse(text, &token) < 0)
        return 0;
    if (continue_token_parse(continue_token_format(arena, &token), &again) < 0
        || again.revision != token.revision || strcmp(again.after, token.after) != 0)
        abort();
    return 0;
}
