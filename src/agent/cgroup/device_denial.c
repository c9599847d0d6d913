/* SPDX-License-Identifier: Apache-2.0 */
/* device_denial.c - which devices the processes of a cgroup may not open
 *
 * v1 has the devices controller. v2 runs a BPF program, which is assembled
 * here: it loads the device's type and numbers, and compares them with each
 * denied device.
 */
#include "agent/cgroup/device_denial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/cgroup/cgroup.h"
#include "agent/cgroup/control.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"

/* ---- The program ---- */

#define STEPS_BEFORE 4u
#define STEPS_EACH   5u
#define STEPS_AFTER  2u

/* rN = the 32 bits of that member of the context, whose address is in r1. */
#define LOAD(r, member)                                   \
    ((struct bpf_insn){.code = BPF_LDX | BPF_MEM | BPF_W, \
                       .dst_reg = (r),                    \
                       .src_reg = BPF_REG_1,              \
                       .off = (__s16)offsetof(struct bpf_cgroup_dev_ctx, member)})
#define SKIP_UNLESS(r, value, steps) \
    ((struct bpf_insn){              \
        .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = (r), .off = (steps), .imm = (__s32)(value)})
#define AND(r, value) \
    ((struct bpf_insn){.code = BPF_ALU64 | BPF_AND | BPF_K, .dst_reg = (r), .imm = (value)})
#define ANSWER(value) \
    ((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = (value)})
#define END ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})

static unsigned
assemble(const struct device_number *denied, unsigned n, struct bpf_insn *program)
{
    struct bpf_insn *p = program;

    *p++ = LOAD(BPF_REG_2, access_type);
    *p++ = AND(BPF_REG_2, 0xffff); /* the upper half is the requested access */
    *p++ = LOAD(BPF_REG_3, major);
    *p++ = LOAD(BPF_REG_4, minor);
    for (unsigned i = 0; i < n; i++) {
        *p++ = SKIP_UNLESS(BPF_REG_2, denied[i].is_block ? BPF_DEVCG_DEV_BLOCK : BPF_DEVCG_DEV_CHAR,
                           4);
        *p++ = SKIP_UNLESS(BPF_REG_3, denied[i].major, 3);
        *p++ = SKIP_UNLESS(BPF_REG_4, denied[i].minor, 2);
        *p++ = ANSWER(0);
        *p++ = END;
    }
    *p++ = ANSWER(1);
    *p++ = END;
    return (unsigned)(p - program);
}

static int
bpf(enum bpf_cmd command, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

    return r < 0 ? -errno : (int)r;
}

/* Returns a file descriptor. */
static int
load(const struct device_number *denied, unsigned n)
{
    struct bpf_insn *program =
        xnew_array(struct bpf_insn, STEPS_BEFORE + n * STEPS_EACH + STEPS_AFTER);
    union bpf_attr attr;
    int r;

    memset(&attr, 0, sizeof(attr));
    attr.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
    attr.insn_cnt = assemble(denied, n, program);
    attr.insns = (uintptr_t)program;
    attr.license = (uintptr_t) "GPL";
    r = bpf(BPF_PROG_LOAD, &attr);
    free(program);
    return r;
}

/* Attaches the program beside those of others (systemd's), all of which have to
 * permit the access.
 */
static int
attach(const char *directory, int program)
{
    CLEANUP_FD int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    union bpf_attr attr;

    if (fd < 0)
        return -errno;
    memset(&attr, 0, sizeof(attr));
    attr.target_fd = (__u32)fd;
    attr.attach_bpf_fd = (__u32)program;
    attr.attach_type = BPF_CGROUP_DEVICE;
    attr.attach_flags = BPF_F_ALLOW_MULTI;
    return bpf(BPF_PROG_ATTACH, &attr);
}

int
cgroup_try_device_program(void)
{
    int fd = load(NULL, 0);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/* ---- Denying ---- */

int
device_denial_write(const char *directory, const struct device_number *denied, unsigned n,
                    struct error *err)
{
    int r = 0;

    for (unsigned i = 0; r == 0 && i < n; i++) {
        CLEANUP_FREE char *entry = xasprintf("%c %u:%u rwm", denied[i].is_block ? 'b' : 'c',
                                             denied[i].major, denied[i].minor);

        r = control_write(directory, "devices.deny", entry, err);
    }
    return r;
}

int
device_denial_attach(const char *directory, const struct device_number *denied, unsigned n,
                     struct error *err)
{
    CLEANUP_FD int program = load(denied, n);
    int r = program < 0 ? program : attach(directory, program);

    if (r < 0)
        return error_set(err, r, "denying devices to cgroup '%s' (BPF): %s", directory,
                         strerror(-r));
    return 0;
}
