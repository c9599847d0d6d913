/* SPDX-License-Identifier: Apache-2.0 */
/* krsh_call.h - the arguments of krsh, which are those of ssh as far as MPI
 * libraries use them
 *
 * Thread: any; pure.
 */
#pragma once

struct error;
struct strbuf;

struct krsh_call {
    char *user; /* NULL: not said */
    char *host; /* free it */
    int first;  /* index of the first word of the command; argc: none */
};

void krsh_call_fini(struct krsh_call *call);

/* -EINVAL with words for an option that krsh does not know, or without a host. */
int krsh_call_read(int argc, const char *const *argv, struct krsh_call *ret_call,
                   struct error *err);

/* Adds the words with blanks between them, as rsh and ssh do: the text is for a shell. */
void krsh_call_join(int argc, const char *const *argv, int first, struct strbuf *out);
