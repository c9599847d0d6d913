/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/cgroup/hierarchy.h"

#include <stdio.h>
#include <string.h>

#include "agent/cgroup/control.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

static const struct {
    const char *name;
    enum cgroup_controller controller;
} names[] = {
    {"cpu", CONTROLLER_CPU},         {"cpuacct", CONTROLLER_CPUACCT},
    {"cpuset", CONTROLLER_CPUSET},   {"devices", CONTROLLER_DEVICES},
    {"freezer", CONTROLLER_FREEZER}, {"hugetlb", CONTROLLER_HUGETLB},
    {"memory", CONTROLLER_MEMORY},   {"pids", CONTROLLER_PIDS},
};

/* Returns the controller with the kernel's name, or 0. */
static unsigned
find_controller(const char *name, unsigned length)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strlen(names[i].name) == length && strncmp(names[i].name, name, length) == 0)
            return names[i].controller;
    return 0;
}

const char *
controller_name(enum cgroup_controller controller)
{
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (names[i].controller == controller)
            return names[i].name;
    return "?";
}

static unsigned
find_controllers(const char *list, const char *separators)
{
    unsigned found = 0;

    while (*list != '\0') {
        unsigned length = (unsigned)strcspn(list, separators);

        found |= find_controller(list, length);
        list += length;
        list += strspn(list, separators);
    }
    return found;
}

/* The kernel writes space, tab, newline and backslash as \ooo. */
static char *
unescape(const char *text)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;

    for (; *text != '\0'; text++) {
        unsigned code;

        if (*text == '\\' && sscanf(text + 1, "%3o", &code) == 1) {
            strbuf_add_char(&out, (char)code);
            text += 3;
        } else {
            strbuf_add_char(&out, *text);
        }
    }
    return strbuf_take(&out);
}

struct mount_line {
    char *root;
    char *point;
    char *type;
    char *options;
};

/* Splits a line "36 35 98:0 /root /point opts [optional...] - type source
 * options" into words in place.
 */
static bool
split_line(char *line, struct mount_line *m)
{
    char *word;
    char *at = NULL;
    unsigned i = 0;

    for (word = strtok_r(line, " ", &at); word != NULL && strcmp(word, "-") != 0;
         word = strtok_r(NULL, " ", &at), i++) {
        if (i == 3)
            m->root = word;
        else if (i == 4)
            m->point = word;
    }
    if (word == NULL || i < 6)
        return false;
    m->type = strtok_r(NULL, " ", &at);
    strtok_r(NULL, " ", &at);
    m->options = strtok_r(NULL, " ", &at);
    return m->options != NULL;
}

static bool
is_known(const struct hierarchies *all, const struct hierarchy *h)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->items[i].version == h->version && all->items[i].is_systemd == h->is_systemd
            && (h->version == 2 || h->is_systemd || all->items[i].controllers == h->controllers))
            return true;
    return false;
}

static unsigned
read_v2_controllers(const char *mount)
{
    CLEANUP_STRBUF struct strbuf list = STRBUF_INIT;

    if (control_read(mount, "cgroup.controllers", &list, NULL) < 0)
        return 0;
    return find_controllers(list.text, " ");
}

static void
add_line(struct hierarchies *all, char *line)
{
    struct mount_line m = {0};
    struct hierarchy h = {0};

    if (!split_line(line, &m) || strcmp(m.root, "/") != 0 || all->count == HIERARCHY_MAX)
        return;
    if (strcmp(m.type, "cgroup2") == 0) {
        h.version = 2;
    } else if (strcmp(m.type, "cgroup") == 0) {
        h.version = 1;
        h.controllers = find_controllers(m.options, ",");
        h.is_systemd = strstr(m.options, "name=systemd") != NULL;
        if (h.controllers == 0 && !h.is_systemd)
            return;
    } else {
        return;
    }
    if (is_known(all, &h))
        return;
    h.mount = unescape(m.point);
    if (h.version == 2)
        h.controllers = read_v2_controllers(h.mount);
    all->items[all->count++] = h;
}

void
hierarchies_parse(const char *mountinfo, struct hierarchies *ret_all)
{
    CLEANUP_FREE char *copy = xstrdup(mountinfo);
    struct hierarchies all = {0};
    char *at = NULL;

    for (char *line = strtok_r(copy, "\n", &at); line != NULL; line = strtok_r(NULL, "\n", &at))
        add_line(&all, line);
    *ret_all = all;
}

void
hierarchies_fini(struct hierarchies *h)
{
    for (unsigned i = 0; i < h->count; i++)
        free(h->items[i].mount);
    *h = (struct hierarchies){0};
}
