/* No MPI says how it moves bytes, but the kernel does: its TCP sockets count what they received, and a copy within the
 * kernel costs this process system time. A network card that writes by itself does neither. */
#include "calibrate/benchmark/memory/transport_judge.h"

#include <stdio.h>

/* Is faster than a core copies, so what takes more system time for a byte is a copy. */
#define COPY_BYTES_PER_S 40e9
/* Is less than a copy takes of the time of messages, and more than what ticks of the kernel's accounts make up. */
#define SYSTEM_SHARE_LEAST 0.05

void transport_judge(const struct transport_use *use, struct transport *transport)
{
    double copied_s = use->system_s - use->idle_share * use->seconds;
    double share = use->seconds > 0 ? use->system_s / use->seconds : 0;
    *transport = (struct transport){.is_copy = true};
    if (use->tcp_bytes >= use->bytes / 2) {
        snprintf(transport->seen, sizeof transport->seen, "TCP sockets brought %.0f of %.0f MB",
                 (double)use->tcp_bytes / 1e6, (double)use->bytes / 1e6);
        return;
    }
    transport->is_copy =
        copied_s > SYSTEM_SHARE_LEAST * use->seconds && (double)use->bytes < COPY_BYTES_PER_S * copied_s;
    snprintf(transport->seen, sizeof transport->seen, "%.0f %% system time while %.0f MB came at %.2f GB/s",
             100 * share, (double)use->bytes / 1e6, use->seconds > 0 ? (double)use->bytes / use->seconds / 1e9 : 0);
}
