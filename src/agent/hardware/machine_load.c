/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/machine_load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define FILE_LIMIT_BYTES (1u << 20)

static int
read_proc(const char *root, const char *path, struct strbuf *out, struct error *err)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);

    return file_read(whole, FILE_LIMIT_BYTES, out, err);
}

/* The fields are user, nice, system, idle, iowait, irq, softirq. The first two
 * include guests; steal time is not read, because other virtual machines used
 * it.
 */
static int
read_cpu(const char *root, uint64_t *ret_us, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    uint64_t t[7] = {0};
    int r = read_proc(root, "/proc/stat", &text, err);

    if (r < 0)
        return r;
    if (sscanf(text.text,
               "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64,
               &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6])
        < 4)
        return error_set(err, -EBADMSG, "'/proc/stat' contains no CPU times");
    *ret_us = (t[0] + t[1] + t[2] + t[5] + t[6]) * 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    return 0;
}

static uint64_t
find_bytes(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    uint64_t kilobytes = 0;

    if (at != NULL)
        sscanf(at + strlen(key), "%" SCNu64, &kilobytes);
    return kilobytes * 1024;
}

static int
read_memory(const char *root, uint64_t *ret_bytes, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = read_proc(root, "/proc/meminfo", &text, err);
    uint64_t total, idle;

    if (r < 0)
        return r;
    total = find_bytes(text.text, "MemTotal:");
    idle = find_bytes(text.text, "\nMemFree:") + find_bytes(text.text, "\nInactive(file):");
    if (total == 0)
        return error_set(err, -EBADMSG, "'/proc/meminfo' has no MemTotal");
    *ret_bytes = total > idle ? total - idle : 0;
    return 0;
}

int
machine_load_read(const char *root, struct machine_load *ret_load, struct error *err)
{
    struct machine_load load;
    int r = read_cpu(root, &load.cpu_us, err);

    if (r == 0)
        r = read_memory(root, &load.memory_bytes, err);
    if (r == 0)
        *ret_load = load;
    return r;
}
