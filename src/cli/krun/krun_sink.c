/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_sink.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cli/krun/krun_terminal.h"

/* A pipe that poll calls writable takes as many bytes at once. */
#define SAFE_BYTES 4096u
/* Of one write, so that signals are looked at in between. */
#define MOST_BYTES (1u << 20)

void
krun_sink_open(struct krun_sink *k, int fd)
{
    struct stat st;

    k->fd = fd;
    strbuf_init(&k->out);
    k->takes_nowait = true;
    k->may_block = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode);
}

/* As much as it takes without waiting. Kernels before 6.5 cannot say that of a pipe,
 * and none of a terminal.
 */
static ssize_t
write_some(struct krun_sink *k, const char *bytes, size_t length)
{
    if (length > MOST_BYTES)
        length = MOST_BYTES;
    if (k->may_block && k->takes_nowait) {
        const struct iovec part = {(void *)(uintptr_t)bytes, length};
        ssize_t n = pwritev2(k->fd, &part, 1, -1, RWF_NOWAIT);

        if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL))
            return n;
        k->takes_nowait = false;
    }
    if (k->may_block && length > SAFE_BYTES)
        length = SAFE_BYTES;
    return write(k->fd, bytes, length);
}

void
krun_sink_write(struct krun_sink *k)
{
    ssize_t n = write_some(k, k->out.text + k->written, k->out.length - k->written);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        /* nobody reads it: krun ends, as any program in a pipe does, and its step with it */
        if (errno == EPIPE && signal(SIGPIPE, SIG_DFL) != SIG_ERR) {
            krun_terminal_leave();
            raise(SIGPIPE);
        }
        k->is_broken = true;
        k->written = k->out.length;
    } else {
        k->written += (size_t)n;
    }
    strbuf_drop_sent(&k->out, &k->written); /* the windows bound the rest */
}

bool
krun_sink_has_bytes(const struct krun_sink *k)
{
    return k->out.length > k->written;
}
