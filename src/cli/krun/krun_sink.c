/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/krun/krun_sink.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe that poll calls writable takes as many bytes at once. */
#define SAFE_BYTES 4096u

void
krun_sink_open(struct krun_sink *k, int fd)
{
    struct stat st;

    k->fd = fd;
    strbuf_init(&k->out);
    k->may_block = fstat(fd, &st) < 0 || !S_ISREG(st.st_mode);
}

void
krun_sink_write(struct krun_sink *k)
{
    size_t length = k->out.length - k->written;
    ssize_t n;

    if (k->may_block && length > SAFE_BYTES)
        length = SAFE_BYTES;
    n = write(k->fd, k->out.text + k->written, length);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0) {
        /* nobody reads it: krun ends, as any program in a pipe does, and its step with it */
        if (errno == EPIPE && signal(SIGPIPE, SIG_DFL) != SIG_ERR)
            raise(SIGPIPE);
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
