/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/hardware/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define FACT_LIMIT_BYTES 65536u

void
machine_free(struct machine *machine)
{
    if (machine == NULL)
        return;
    free(machine->hostname);
    free(machine->boot_id);
    free(machine->machine_id);
    free(machine->system_uuid);
    free(machine->kernel_version);
    free(machine->os_image);
    free(machine->architecture);
    free(machine);
}

static int
read_file(const char *root, const char *path, struct strbuf *out, struct error *err)
{
    CLEANUP_FREE char *whole = xasprintf("%s%s", root, path);

    return file_read(whole, FACT_LIMIT_BYTES, out, err);
}

/* The first line of the file, or "" without the file. */
static char *
read_line(const char *root, const char *path)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (read_file(root, path, &text, NULL) < 0)
        return xstrdup("");
    return xstrndup(text.text, strcspn(text.text, "\r\n"));
}

/* The value of a line NAME=value or NAME="value with \" escapes"
 * (os-release(5)).
 */
static char *
unquote(const char *value)
{
    CLEANUP_STRBUF struct strbuf out = STRBUF_INIT;
    char quote = *value == '"' || *value == '\'' ? *value : '\0';

    if (quote != '\0')
        value++;
    for (; *value != '\0' && *value != '\n' && *value != quote; value++) {
        if (*value == '\\' && value[1] != '\0')
            value++;
        strbuf_add_char(&out, *value);
    }
    return strbuf_take(&out);
}

static char *
read_os_image(const char *root)
{
    static const char key[] = "PRETTY_NAME=";
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (read_file(root, "/etc/os-release", &text, NULL) < 0
        && read_file(root, "/usr/lib/os-release", &text, NULL) < 0)
        return xstrdup("Linux");
    for (const char *line = text.text; line != NULL && *line != '\0';) {
        if (strncmp(line, key, sizeof(key) - 1) == 0)
            return unquote(line + sizeof(key) - 1);
        line = strchr(line, '\n');
        line = line == NULL ? NULL : line + 1;
    }
    return xstrdup("Linux");
}

static const char *
architecture_of(const char *machine)
{
    static const struct {
        const char *machine;
        const char *name;
    } names[] = {
        {"x86_64", "amd64"},    {"aarch64", "arm64"}, {"ppc64le", "ppc64le"},
        {"riscv64", "riscv64"}, {"s390x", "s390x"},   {"loongarch64", "loong64"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(machine, names[i].machine) == 0)
            return names[i].name;
    return machine;
}

static int
read_memory(const char *root, uint64_t *ret_bytes, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    unsigned long long kib;
    const char *line;
    int r = read_file(root, "/proc/meminfo", &text, err);

    if (r < 0)
        return r;
    line = strstr(text.text, "MemTotal:");
    if (line == NULL || sscanf(line, "MemTotal: %llu kB", &kib) != 1)
        return error_set(err, -EINVAL, "/proc/meminfo has no MemTotal");
    *ret_bytes = kib * 1024;
    return 0;
}

static int
read_boot_id(const char *root, char **ret_boot_id, struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int r = read_file(root, "/proc/sys/kernel/random/boot_id", &text, err);

    if (r < 0)
        return error_wrap(err, r, "determining the boot id");
    strbuf_truncate(&text, strcspn(text.text, "\n"));
    if (text.length == 0)
        return error_set(err, -EINVAL, "the kernel's boot_id is empty");
    *ret_boot_id = strbuf_take(&text);
    return 0;
}

int
machine_read(const char *root, struct machine **ret_machine, struct error *err)
{
    CLEANUP(machine_freep) struct machine *i = xnew(struct machine);
    struct utsname kernel;
    int r = read_boot_id(root, &i->boot_id, err);

    if (r < 0)
        return r;
    r = read_memory(root, &i->memory_bytes, err);
    if (r < 0)
        return r;
    if (uname(&kernel) < 0)
        return error_set(err, -errno, "uname: %s", strerror(errno));
    i->hostname = xstrdup(kernel.nodename);
    i->kernel_version = xstrdup(kernel.release);
    i->architecture = xstrdup(architecture_of(kernel.machine));
    i->machine_id = read_line(root, "/etc/machine-id");
    i->system_uuid = read_line(root, "/sys/class/dmi/id/product_uuid");
    i->os_image = read_os_image(root);
    *ret_machine = i;
    i = NULL;
    return 0;
}
