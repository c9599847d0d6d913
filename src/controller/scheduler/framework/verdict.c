/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/framework/verdict.h"

const char *
verdict_name(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_OK:
        return "Success";
    case VERDICT_SKIP:
        return "Skip";
    case VERDICT_REJECT:
        return "Unschedulable";
    case VERDICT_NEVER:
        return "UnschedulableAndUnresolvable";
    case VERDICT_WAIT:
        return "Wait";
    case VERDICT_PENDING:
        return "Pending";
    case VERDICT_ERROR:
        return "Error";
    }
    return "Error";
}
