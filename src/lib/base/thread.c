/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/base/thread.h"

#include <signal.h>

int
thread_start(pthread_t *ret_thread, const char *name, void *work(void *arg), void *arg)
{
    sigset_t all, before;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r = pthread_create(ret_thread, NULL, work, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        (void)pthread_setname_np(*ret_thread, name);
    return r;
}
