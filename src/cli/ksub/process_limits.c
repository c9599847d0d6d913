/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/process_limits.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "lib/base/arena.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"

static struct json *
limit_text(struct arena *arena, rlim_t value)
{
    if (value == RLIM_INFINITY)
        return json_string(arena, "unlimited");
    return json_stringf(arena, "%" PRIu64, (uint64_t)value);
}

struct json *
process_limits(struct arena *arena)
{
    /* Slurm passes the same limits. */
    static const struct {
        const char *name;
        int resource;
    } known[] = {
        {"as", RLIMIT_AS},         {"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},
        {"data", RLIMIT_DATA},     {"fsize", RLIMIT_FSIZE}, {"memlock", RLIMIT_MEMLOCK},
        {"nofile", RLIMIT_NOFILE}, {"nproc", RLIMIT_NPROC}, {"rss", RLIMIT_RSS},
        {"stack", RLIMIT_STACK},
    };
    struct json *list = json_array(arena);

    for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
        struct rlimit limit;
        struct json *entry;

        if (getrlimit((__rlimit_resource_t)known[i].resource, &limit) < 0)
            continue;
        entry = json_object(arena);
        json_set_string(arena, entry, "name", known[i].name);
        json_set(arena, entry, "soft", limit_text(arena, limit.rlim_cur));
        json_set(arena, entry, "hard", limit_text(arena, limit.rlim_max));
        json_append(arena, list, entry);
    }
    return list;
}

const char *
process_umask(struct arena *arena)
{
    mode_t mask = umask(0);

    umask(mask);
    return arena_printf(arena, "%04o", (unsigned)mask);
}
