/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_sink.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/fd.h"
#include "testsuite/lib/suite.h"

#define MANY (1u << 20)

static bool
is_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1;
}

static void
fill(struct krun_sink *k, const char *bytes)
{
    krun_sink_open(k, k->fd);
    strbuf_add(&k->out, bytes, MANY);
}

static char *
make_bytes(void)
{
    char *bytes = xmalloc(MANY);

    for (unsigned i = 0; i < MANY; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    return bytes;
}

/* Each point would wait for ever where a write waits: nobody else reads. */
START_TEST(a_pipe_gets_all_in_order_and_never_waits)
{
    CLEANUP_FREE char *bytes = make_bytes();
    CLEANUP_FREE char *got = xmalloc(MANY);
    struct krun_sink k = {0};
    size_t n = 0;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    k.fd = ends[1];
    fill(&k, bytes);
    while (n < MANY) {
        ssize_t r;

        while (krun_sink_has_bytes(&k) && is_writable(ends[1]))
            krun_sink_write(&k);
        r = read(ends[0], got + n, 10000 < MANY - n ? 10000 : MANY - n);
        ck_assert_int_gt(r, 0);
        n += (size_t)r;
    }
    ck_assert(!krun_sink_has_bytes(&k));
    ck_assert_mem_eq(got, bytes, MANY);
    ck_assert_int_eq(fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0); /* a shell may have it, too */
    strbuf_fini(&k.out);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(a_descriptor_that_cannot_say_so_gets_small_pieces)
{
    CLEANUP_FREE char *bytes = make_bytes();
    struct krun_sink k = {0};
    int ends[2];
    ssize_t n;
    char got[8192];

    ck_assert_int_eq(pipe(ends), 0);
    k.fd = ends[1];
    fill(&k, bytes);
    k.takes_nowait = false;
    krun_sink_write(&k);
    n = read(ends[0], got, sizeof(got));
    ck_assert_int_eq(n, 4096);
    strbuf_fini(&k.out);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(a_file_gets_all)
{
    CLEANUP_FREE char *bytes = make_bytes();
    char path[] = "/tmp/kiln-sink.XXXXXX";
    struct krun_sink k = {0};

    k.fd = mkstemp(path);
    ck_assert_int_ge(k.fd, 0);
    unlink(path);
    fill(&k, bytes);
    while (krun_sink_has_bytes(&k))
        krun_sink_write(&k);
    ck_assert_int_eq(lseek(k.fd, 0, SEEK_END), MANY);
    strbuf_fini(&k.out);
    close(k.fd);
}
END_TEST

SUITE("krun_sink", a_pipe_gets_all_in_order_and_never_waits,
      a_descriptor_that_cannot_say_so_gets_small_pieces, a_file_gets_all)
