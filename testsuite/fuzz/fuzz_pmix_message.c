/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_pmix_message.c - any bytes as messages about PMIx from the nodes of a step: what is read is
 * written as it was, and krun between the nodes stays within its bounds, and sends whole messages
 *
 * The first byte is the number of nodes. Then, again and again: a byte with the node (its highest bit:
 * that node has ended), a byte with the length of a message, and the message.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/krun/krun_link.h"
#include "cli/krun/krun_pmix.h"
#include "lib/base/strbuf.h"
#include "lib/step/pmix_message.h"
#include "lib/step/step_frames.h"
#include "testsuite/fuzz/fuzz.h"

#define NODES_MOST 9u
#define ENDED      0x80u

struct node {
    int other; /* the other end of its link */
    struct step_reader in;
};

static struct krun_link links[NODES_MOST];
static struct node nodes[NODES_MOST];

static void
expect(bool is_so)
{
    if (!is_so)
        abort();
}

/* A message that was read is written, and read again, in any number of pieces. */
static void
check_message(const struct step_frame *f)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct pmix_message m, again;
    size_t length = 0;

    if (pmix_message_read(f, &m) < 0)
        return;
    expect(m.length <= f->length && m.kind > 0 && m.kind < PMIX_KINDS);
    pmix_message_add(&text, &m);
    for (size_t at = 0; at < text.length; at += step_frame_bytes(text.text + at)) {
        const struct step_frame piece = {
            .type = STEP_FRAME_PMIX,
            .payload = text.text + at + STEP_FRAME_HEADER,
            .length = step_frame_bytes(text.text + at) - STEP_FRAME_HEADER,
        };

        expect(pmix_message_read(&piece, &again) == 0);
        expect(again.kind == m.kind && again.id == m.id && again.number == m.number);
        expect(again.length <= m.length - length
               && memcmp(again.bytes, m.bytes + length, again.length) == 0);
        length += again.length;
        expect(again.has_more == (m.has_more || length < m.length));
    }
    expect(length == m.length);
}

/* A node gets whole frames, of the messages that krun sends. */
static void
drain(unsigned i)
{
    for (;;) {
        struct step_frame f;
        struct pmix_message m;
        size_t room;
        char *at;
        ssize_t n;
        int r;

        krun_link_flush(&links[i]);
        at = step_reader_space(&nodes[i].in, &room);
        n = recv(nodes[i].other, at, room, MSG_DONTWAIT);
        if (n <= 0)
            break;
        step_reader_add(&nodes[i].in, (size_t)n);
        while ((r = step_reader_next(&nodes[i].in, &f)) == 1) {
            expect(pmix_message_read(&f, &m) == 0);
            expect(m.kind == PMIX_DATA || m.kind == PMIX_GET || m.kind == PMIX_GOT
                   || m.kind == PMIX_NONE);
        }
        expect(r == 0);
    }
    expect(!krun_link_is_flushed(&links[i]) || step_reader_left(&nodes[i].in) == 0);
}

static void
say(struct krun_pmix *p, const uint8_t *bytes, size_t length)
{
    while (length >= 2) {
        const unsigned index = bytes[0] % ENDED % p->n_links;
        const size_t n = bytes[1] < length - 2 ? bytes[1] : length - 2;
        const struct step_frame f = {
            .type = STEP_FRAME_PMIX, .payload = (const char *)bytes + 2, .length = n};

        if (bytes[0] & ENDED) {
            links[index].has_ended = true;
            krun_pmix_end_link(p, index);
        } else {
            check_message(&f);
            if (krun_pmix_take(p, index, &f) < 0)
                return; /* krun ends the step */
        }
        expect(p->n_fences <= PMIX_FENCES_MOST && p->n_bytes <= PMIX_FENCE_MOST);
        (void)krun_pmix_awaits(p, index);
        drain(index);
        bytes += 2 + n;
        length -= 2 + n;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct krun_pmix pmix;
    unsigned n;

    if (length < 1)
        return 0;
    n = 1 + bytes[0] % NODES_MOST;
    for (unsigned i = 0; i < n; i++) {
        int ends[2];

        expect(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
        krun_link_open(&links[i], ends[0], NULL);
        nodes[i] = (struct node){.other = ends[1]};
    }
    krun_pmix_begin(&pmix, links, n);
    say(&pmix, bytes + 1, length - 1);
    for (unsigned i = 0; i < n; i++)
        drain(i);
    expect(pmix.n_fences > 0 || pmix.n_bytes == 0);
    krun_pmix_fini(&pmix);
    for (unsigned i = 0; i < n; i++) {
        krun_link_close(&links[i]);
        close(nodes[i].other);
        step_reader_fini(&nodes[i].in);
    }
    return 0;
}
