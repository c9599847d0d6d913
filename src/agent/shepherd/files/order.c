/* SPDX-License-Identifier: Apache-2.0 */
/* An order is refused if anything in it is not understood: an unknown entry may be a limit or
 * a uid, and a job without it would run with more than it was given. That works because agent
 * and shepherd are installed together; records, which outlive an update, ignore unknown
 * entries instead.
 */
#include "agent/shepherd/files/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/shepherd/files/key_values.h"
#include "lib/api/value/cpuset.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"

static const char title[] = "kiln-order 1";

enum order_field_kind { TEXT, PATH, NUMBER, SWITCH, LIST };

struct order_field {
    const char *name;
    enum order_field_kind kind;
    size_t offset;
    bool is_required;
};

#define FIELD(k, member, required)                                            \
    {                                                                         \
        .name = #member, .kind = k, .offset = offsetof(struct order, member), \
        .is_required = required                                               \
    }

static const struct order_field fields[] = {
    FIELD(TEXT, pod, true),
    FIELD(TEXT, pod_uid, true),
    FIELD(PATH, state_dir, true),
    FIELD(PATH, run_dir, true),
    FIELD(NUMBER, uid, true),
    FIELD(NUMBER, gid, false),
    FIELD(NUMBER, groups_timeout_ms, false),
    FIELD(PATH, users_dir, false),
    FIELD(SWITCH, allow_root, false),
    FIELD(TEXT, shepherd_cgroup, false),
    FIELD(TEXT, job_cgroup, false),
    FIELD(TEXT, cpus, false),
    FIELD(TEXT, memory_nodes, false),
    FIELD(TEXT, memory_policy, false),
    FIELD(NUMBER, script_bytes, false),
    FIELD(LIST, arguments, false),
    FIELD(LIST, environment, false),
    FIELD(PATH, work_dir, true),
    FIELD(PATH, stdin_path, false),
    FIELD(PATH, stdout_path, false),
    FIELD(PATH, stderr_path, false),
    FIELD(SWITCH, append, false),
    FIELD(TEXT, checkpoint, false),
    FIELD(SWITCH, no_new_privileges, false),
    FIELD(PATH, tmp_dir, false),
    FIELD(PATH, own_dir, false),
    FIELD(LIST, mounts, false),
    FIELD(NUMBER, umask, false),
    FIELD(NUMBER, oom_score_adj, false),
    FIELD(NUMBER, time_limit_ms, false),
    FIELD(NUMBER, warn_before_ms, false),
    FIELD(NUMBER, warn_signal, false),
    FIELD(SWITCH, warn_main, false),
    FIELD(NUMBER, grace_ms, false),
    FIELD(NUMBER, kill_wait_ms, false),
    FIELD(NUMBER, shutdown_grace_ms, false),
    FIELD(SWITCH, awaits_start, false),
    FIELD(PATH, prolog, false),
    FIELD(PATH, epilog, false),
    FIELD(NUMBER, hook_timeout_ms, false),
    FIELD(LIST, hook_environment, false),
    FIELD(NUMBER, fence_after_ms, false),
    FIELD(PATH, heard_path, false),
};

void
order_init(struct order *o)
{
    *o = (struct order){
        .gid = -1,
        .groups_timeout_ms = 30000,
        .script_bytes = -1,
        .umask = 022,
        .kill_wait_ms = 10000,
        .shutdown_grace_ms = 30000,
        .hook_timeout_ms = 60000,
    };
}

void
order_fini(struct order *o)
{
    if (o->bytes != NULL) {
        free(o->arguments.items);
        free(o->environment.items);
        free(o->mounts.items);
        free(o->hook_environment.items);
        free(o->bytes);
    }
    *o = (struct order){0};
}

/* A mount is "rw 8 /scratch/target", with the length of the source. */

const char *
order_mount(struct arena *arena, const char *source, const char *target, bool read_only)
{
    return arena_printf(arena, "%s %zu %s%s", read_only ? "ro" : "rw", strlen(source), source,
                        target);
}

int
order_mount_parse(const char *text, struct order_mount *m)
{
    char *end;
    unsigned long length;

    if (strncmp(text, "ro ", 3) != 0 && strncmp(text, "rw ", 3) != 0)
        return -EINVAL;
    if (text[3] < '0' || text[3] > '9')
        return -EINVAL;
    errno = 0;
    length = strtoul(text + 3, &end, 10);
    if (errno != 0 || *end != ' ' || length >= sizeof(m->source) || strlen(end + 1) <= length
        || end[1] != '/' || end[1 + length] != '/')
        return -EINVAL;
    memcpy(m->source, end + 1, length);
    m->source[length] = '\0';
    m->target = end + 1 + length;
    m->read_only = text[1] == 'o';
    return 0;
}

/* Encode */

static const void *
value_at(const struct order *o, const struct order_field *f)
{
    return (const char *)o + f->offset;
}

static void
put_list(struct strbuf *out, const char *name, const struct order_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        key_values_put_text(out, name, list->items[i]);
}

static void
put_field(struct strbuf *out, const struct order *o, const struct order_field *f)
{
    const void *value = value_at(o, f);

    switch (f->kind) {
    case TEXT:
    case PATH:
        key_values_put_text(out, f->name, *(const char *const *)value);
        break;
    case NUMBER:
        key_values_put_number(out, f->name, *(const int64_t *)value);
        break;
    case SWITCH:
        key_values_put_number(out, f->name, *(const bool *)value);
        break;
    case LIST:
        put_list(out, f->name, value);
        break;
    }
}

static void
put_limit(struct strbuf *out, const struct rlimit_setting *l)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "%s ", rlimit_name(l->resource));
    rlimit_format_value(l->soft, &text);
    strbuf_add_char(&text, ' ');
    rlimit_format_value(l->hard, &text);
    key_values_put_text(out, "limit", text.text);
}

void
order_encode(const struct order *o, struct strbuf *out)
{
    key_values_begin(out, title);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        put_field(out, o, &fields[i]);
    for (unsigned i = 0; i < o->n_limits; i++)
        put_limit(out, &o->limits[i]);
    key_values_end(out);
}

/* Decode */

/* Reserves an item for the NULL at the end, which execve needs. */
static void
add_item(struct order_list *list, const char *item)
{
    if ((list->count & (list->count + 1)) == 0)
        list->items = xrealloc_array(list->items, (list->count + 1) * 2 + 1, sizeof(*list->items));
    list->items[list->count++] = item;
    list->items[list->count] = NULL;
}

static int
take_number(const char *value, int64_t *number)
{
    return key_values_parse_number(value, number);
}

static int
take_switch(const char *value, bool *on)
{
    *on = strcmp(value, "1") == 0;
    return *on || strcmp(value, "0") == 0 ? 0 : -EINVAL;
}

static int
take_field(struct order *o, const struct order_field *f, const char *value)
{
    char *member = (char *)o + f->offset;

    switch (f->kind) {
    case PATH:
        if (value[0] != '/')
            return -EINVAL;
        *(const char **)(void *)member = value;
        return 0;
    case TEXT:
        *(const char **)(void *)member = value;
        return 0;
    case NUMBER:
        return take_number(value, (int64_t *)(void *)member);
    case SWITCH:
        return take_switch(value, (bool *)(void *)member);
    case LIST:
        add_item((struct order_list *)(void *)member, value);
        return 0;
    }
    return -EINVAL;
}

static int
take_limit(struct order *o, char *value, struct error *err)
{
    char *at = NULL;
    const char *name = strtok_r(value, " ", &at);
    const char *soft = strtok_r(NULL, " ", &at);
    const char *hard = strtok_r(NULL, " ", &at);

    if (hard == NULL || o->n_limits == RLIMIT_SETTINGS_MAX)
        return error_set(err, -EINVAL, "the order's limits are malformed");
    return rlimit_parse(name, soft, hard, &o->limits[o->n_limits++], err);
}

static int
take_entry(struct order *o, const char *name, char *value, struct error *err)
{
    if (strcmp(name, "limit") == 0)
        return take_limit(o, value, err);
    if (strcmp(name, "ignored_signals") == 0)
        return 0; /* an agent that still runs after an update sends it, always 0 */
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (strcmp(name, fields[i].name) != 0)
            continue;
        if (take_field(o, &fields[i], value) < 0)
            return error_set(err, -EINVAL, "the order's %s must not be '%.80s'", name, value);
        return 0;
    }
    return error_set(err, -EINVAL, "the order has an unknown '%s'", name);
}

static bool
is_missing(const struct order *o, const struct order_field *f)
{
    const void *value = value_at(o, f);

    switch (f->kind) {
    case PATH:
    case TEXT:
        return *(const char *const *)value == NULL;
    case NUMBER:
        return *(const int64_t *)value < 0;
    case LIST:
        return ((const struct order_list *)value)->count == 0;
    case SWITCH:
        break;
    }
    return false;
}

static int
check_required(const struct order *o, struct error *err)
{
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (fields[i].is_required && is_missing(o, &fields[i]))
            return error_set(err, -EINVAL, "the order has no %s", fields[i].name);
    return 0;
}

static int
check_ranges(const struct order *o, struct error *err)
{
    static const char *const policies[] = {"bind", "preferred", "interleave"};
    bool is_policy = o->memory_policy == NULL;

    for (size_t i = 0; !is_policy && i < ARRAY_SIZE(policies); i++)
        is_policy = strcmp(o->memory_policy, policies[i]) == 0;
    if (!is_policy)
        return error_set(err, -EINVAL, "there is no memory policy '%s'", o->memory_policy);
    if (o->uid >= UINT32_MAX || o->gid >= UINT32_MAX || o->gid < -1)
        return error_set(err, -ERANGE, "the order's uid or gid is out of range");
    if (o->script_bytes > (int64_t)ORDER_SCRIPT_BYTES)
        return error_set(err, -EFBIG, "the script is larger than %u bytes", ORDER_SCRIPT_BYTES);
    if (o->script_bytes < 0 && o->arguments.count == 0)
        return error_set(err, -EINVAL, "the order contains nothing to run");
    if (o->umask < 0 || o->umask > 0777 || o->oom_score_adj < -1000 || o->oom_score_adj > 1000
        || o->groups_timeout_ms < 1 || o->kill_wait_ms < 0 || o->shutdown_grace_ms < 0
        || o->fence_after_ms < 0 || (o->fence_after_ms > 0 && o->heard_path == NULL))
        return error_set(err, -ERANGE, "a number of the order is out of range");
    return 0;
}

static int
check_lists(const struct order *o, struct error *err)
{
    const char *const lists[] = {o->cpus, o->memory_nodes};
    struct bitset set;

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        int r = lists[i] == NULL ? 0 : cpuset_parse(lists[i], &set, err);

        if (r < 0)
            return r;
        if (lists[i] != NULL && bitset_is_empty(&set))
            return error_set(err, -EINVAL, "the order's placement is empty");
    }
    for (size_t i = 0; i < o->environment.count; i++)
        if (strchr(o->environment.items[i], '=') == NULL)
            return error_set(err, -EINVAL,
                             "'%.80s' is not a NAME=value entry of an "
                             "environment",
                             o->environment.items[i]);
    return 0;
}

static int
take_all(struct order *o, size_t length, struct error *err)
{
    struct key_values key_values;
    const char *name;
    char *value;
    int r = key_values_open(&key_values, o->bytes, length, title, err);

    while (r == 0 && key_values_next(&key_values, &name, &value))
        r = take_entry(o, name, value, err);
    if (r == 0)
        r = check_required(o, err);
    if (r == 0)
        r = check_ranges(o, err);
    if (r == 0)
        r = check_lists(o, err);
    return r;
}

int
order_decode(char *bytes TAKES, size_t length, struct order *ret_order, struct error *err)
{
    struct order o;
    int r;

    order_init(&o);
    o.uid = -1;
    o.bytes = bytes;
    r = take_all(&o, length, err);
    if (r < 0) {
        order_fini(&o);
        return r;
    }
    *ret_order = o;
    return 0;
}
