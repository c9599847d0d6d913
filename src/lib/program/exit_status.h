/* SPDX-License-Identifier: Apache-2.0 */
/* exit_status.h - exit statuses, with the same meaning in all programs
 *
 * The numbers are those of sysexits.h. `ksub --wait` exits with its job's
 * status instead. Units do not restart a daemon after USAGE and CONFIG.
 * Thread: any.
 * See: exit statuses in the manual of each program.
 */
#pragma once

enum exit_status {
    EXIT_STATUS_OK = 0,
    EXIT_STATUS_FAILED = 1,       /* it was tried and failed */
    EXIT_STATUS_USAGE = 64,       /* the command line is wrong */
    EXIT_STATUS_UNUSABLE = 65,    /* a file or directory is not one for this program, or
                                   * of a later release */
    EXIT_STATUS_NOT_FOUND = 66,   /* a named file or object does not exist */
    EXIT_STATUS_UNAVAILABLE = 69, /* the controller or MUNGE cannot be reached */
    EXIT_STATUS_DISK = 74,        /* a durable write failed */
    EXIT_STATUS_CONFLICT = 75,    /* another client holds or changed it; retry */
    EXIT_STATUS_DENIED = 77,      /* permission denied */
    EXIT_STATUS_CONFIG = 78,      /* the configuration is wrong */
};

/* The status of a program that ends with this negative errno. */
enum exit_status exit_status_of(int r);
