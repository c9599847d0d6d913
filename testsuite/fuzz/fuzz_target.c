/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_target.c - any bytes as the target of an HTTP request */
#include "lib/base/alloc.h"
#include "lib/http/target.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP_FREE char *text = xstrndup((const char *)bytes, length);
    struct target t;

    if (target_parse(text, &t) < 0)
        return 0;
    (void)target_find(&t, "watch");
    target_fini(&t);
    return 0;
}
