/* Finds the socket of a GPU. */
#ifndef MPISTAIR_CALIBRATE_GPU_SOCKET_H
#define MPISTAIR_CALIBRATE_GPU_SOCKET_H

/* Returns hwloc's logical index of the package whose processors are closest to that PCI device; -1 where hwloc does not
 * know the device, or the one package of its processors. */
int gpu_socket(const char *bus_id);

#endif
