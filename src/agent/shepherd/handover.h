/* SPDX-License-Identifier: Apache-2.0 */
/* handover.h - what launch.c and the shepherd agree on, and nobody else
 *
 * The descriptors a shepherd is started with, and the signal it listens to
 * with its value. Any change here is one for both sides of a running system:
 * shepherds of the last release are spoken to by the next one's agent.
 */
#pragma once

#include <signal.h>

#define HANDOVER_ORDER_FD  3
#define HANDOVER_SCRIPT_FD 4

#define HANDOVER_SIGNAL              (SIGRTMIN + 5)
#define HANDOVER_VALUE(scope, signo) ((int)(scope) << 8 | (signo))
#define HANDOVER_SCOPE(value)        ((enum launch_scope)((value) >> 8))
#define HANDOVER_SIGNO(value)        ((value)&0xff)
