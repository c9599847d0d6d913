/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/program/exit_status.h"

#include <errno.h>

enum exit_status
exit_status_of(int r)
{
    switch (-r) {
    case 0:
        return EXIT_STATUS_OK;
    case ENOTSUP:
        return EXIT_STATUS_UNUSABLE;
    case ENOENT:
    case ESRCH:
        return EXIT_STATUS_NOT_FOUND;
    case ECONNREFUSED:
    case ECONNRESET:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ETIMEDOUT:
    case EPIPE:
        return EXIT_STATUS_UNAVAILABLE;
    case EIO:
    case ENOSPC:
    case EDQUOT:
    case EROFS:
        return EXIT_STATUS_DISK;
    case EAGAIN:
    case EBUSY:
    case ESTALE:
        return EXIT_STATUS_CONFLICT;
    case EACCES:
    case EPERM:
        return EXIT_STATUS_DENIED;
    default:
        return EXIT_STATUS_FAILED;
    }
}
