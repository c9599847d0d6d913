/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_scheduler_config.c - any bytes as a KubeSchedulerConfiguration: read, or
 * refused with a message; the configuration in effect can be read again and is
 * the same
 */
#include <stdlib.h>
#include <string.h>

#include "controller/scheduler/config/kube_configuration.h"
#include "lib/base/strbuf.h"
#include "testsuite/fuzz/fuzz.h"
#include "testsuite/lib/memory_file.h"

static int
read_bytes(const void *bytes, size_t length, struct kube_configuration **ret_configuration,
           struct strbuf *mistakes)
{
    CLEANUP(memory_file_fini) struct memory_file file;

    memory_file_init(&file, bytes, length);
    return kube_configuration_read(file.path, ret_configuration, mistakes);
}

static void
read_again(const struct kube_configuration *c)
{
    CLEANUP_STRBUF struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *again = NULL;

    kube_configuration_print(c, &first);
    if (read_bytes(first.text, first.length, &again, &mistakes) < 0)
        abort();
    kube_configuration_print(again, &second);
    if (strcmp(first.text, second.text) != 0)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    CLEANUP(kube_configuration_freep)
    struct kube_configuration *c = NULL;

    if (read_bytes(bytes, length, &c, &mistakes) < 0) {
        if (mistakes.length == 0)
            abort();
        return 0;
    }
    read_again(c);
    return 0;
}
