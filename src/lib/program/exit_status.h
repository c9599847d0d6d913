/* SPDX-License-Identifier: Apache-2.0 */
/* exit_status.h - what a program's exit status means, the same in all of them
 *
 * The numbers are sysexits'. `ksub --wait` exits with its job's status
 * instead. Units do not restart a daemon after USAGE and CONFIG.
 * Thread: any.
 * See: exit statuses in the manual of each program.
 */
#pragma once

enum exit_status {
    EXIT_STATUS_OK = 0,
    EXIT_STATUS_FAILED = 1,     /* it was tried, and did not work */
    EXIT_STATUS_USAGE = 64,     /* the command line is wrong */
    EXIT_STATUS_NOT_FOUND = 66, /* a named file or object is not there */
    EXIT_STATUS_UNAVAILABLE =
        69,                    /* the controller or MUNGE cannot be reached */
    EXIT_STATUS_DISK = 74,     /* a durable write failed */
    EXIT_STATUS_CONFLICT = 75, /* somebody holds it or changed it; try again */
    EXIT_STATUS_DENIED = 77,   /* not yours to do */
    EXIT_STATUS_CONFIG = 78,   /* the configuration is wrong */
};

/* The status of a program that ends with this negative errno. */
enum exit_status exit_status_of(int r);
