/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_step_channel.c - any bytes as the call of a step on an agent's port, as
 * its answer, and as the records that follow: refused, or read as written
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/auth/credential_backend.h"
#include "lib/auth/sealed_records.h"
#include "lib/auth/step_handshake.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"
#include "testsuite/fuzz/fuzz.h"

/* A credential is its payload, so the fuzzer writes claims. */
static int
encode(struct credential_backend *backend, const void *payload, size_t length, uid_t only_uid,
       unsigned ttl_s, char **ret_text, struct error *err)
{
    (void)backend, (void)only_uid, (void)ttl_s, (void)err;
    *ret_text = xstrndup(payload, length);
    return 0;
}

static int
decode(struct credential_backend *backend, const char *text, struct credential *ret_credential,
       struct error *err)
{
    (void)backend, (void)err;
    *ret_credential = (struct credential){.payload = xstrdup(text), .length = strlen(text)};
    return 0;
}

static void
read_records(const uint8_t *bytes, size_t length)
{
    static const struct sealed_state start;
    CLEANUP(sealed_direction_freep) struct sealed_direction *d = sealed_direction_new(&start);
    CLEANUP_FREE unsigned char *copy = xmalloc(length + 1);
    unsigned char *text = NULL;
    size_t found = 0;
    ssize_t took;

    memcpy(copy, bytes, length);
    took = sealed_open(d, copy, length, &text, &found, NULL);
    if (took > 0 && (text < copy || text + found > copy + took || took > (ssize_t)length))
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const struct credential_backend_ops ops = {.encode = encode, .decode = decode};
    struct credential_backend backend = {&ops};
    CLEANUP_FREE char *line = xstrndup((const char *)bytes, length);
    CLEANUP_STRBUF struct strbuf own = STRBUF_INIT;
    struct step_call call = {.cluster = "c", .node = "n", .pod = "p"};
    struct step_caller caller = {0};
    struct step_keys keys;

    read_records(bytes, length);
    if (step_caller_accept(&backend, "c", "n", 0, line, &caller, NULL) == 0
        && (caller.pod == NULL || strlen(caller.nonce) != PROTOCOL_NONCE_SIZE - 1))
        abort();
    step_caller_fini(&caller);
    if (step_call_begin(&call, &backend, &own, NULL) < 0)
        abort();
    (void)step_call_finish(&call, &backend, line, &keys, NULL);
    return 0;
}
