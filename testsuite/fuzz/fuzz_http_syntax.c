/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_http_syntax.c - any bytes as received by a connection: the result is the
 * same for one piece and byte by byte
 */
#include <stdlib.h>
#include <string.h>

#include "lib/http/http_syntax.h"
#include "testsuite/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct http_syntax whole = {0}, pieces = {0};

    http_syntax_feed(&whole, (const char *)bytes, length);
    for (size_t i = 0; i < length; i++)
        if (http_syntax_passes(&pieces) > 0)
            http_syntax_pass(&pieces, 1);
        else
            http_syntax_feed(&pieces, (const char *)bytes + i, 1);
    if (whole.fault != pieces.fault || whole.state != pieces.state
        || (whole.fault == NULL && whole.left != pieces.left))
        abort();
    return 0;
}
