/* SPDX-License-Identifier: Apache-2.0 */
/* skipped_waits.h - an event loop that waits for a timer does not wait
 *
 * After skip_waits(), until the process of the test ends, a loop in which nothing is
 * ready does not sleep until its next timer: the clocks of the process go forward by
 * that much at once. Timers fire in their order and after their time, as in a process
 * that runs alone on a fast machine.
 *
 * For tests whose outside is a fake. What really takes time elsewhere (another thread,
 * another process, a socket) finds that its time has passed before it began.
 *
 * Thread: the only one of its process.
 */
#pragma once

void skip_waits(void);
