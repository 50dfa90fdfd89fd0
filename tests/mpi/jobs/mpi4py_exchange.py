"""Point-to-point calls through mpi4py with known traffic; argument: the file for the program's own count."""
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
messages, sent_bytes = [0] * size, [0] * size


def sent(to, n_bytes):
    messages[to] += 1
    sent_bytes[to] += n_bytes


pairs = world.Split(rank // 2, rank)
for step in range(50):
    out, received = bytearray(step), bytearray(100)
    requests = [world.Irecv([received, MPI.BYTE], source=MPI.ANY_SOURCE, tag=1),
                world.Isend([out, MPI.BYTE], dest=(rank + 1) % size, tag=1)]
    sent((rank + 1) % size, step)
    MPI.Request.Waitall(requests)
    if pairs.Get_size() == 2:
        pairs.Sendrecv([out, MPI.BYTE], dest=1 - pairs.Get_rank(), recvbuf=[received, MPI.BYTE])
        sent(rank ^ 1, step)
rows = world.gather([(rank, to, messages[to], sent_bytes[to]) for to in range(size) if messages[to]])
if rank == 0:
    with open(sys.argv[1], "w", encoding="ascii") as file:
        file.write("src,dst,messages,bytes\n")
        file.writelines(",".join(map(str, row)) + "\n" for part in rows for row in part)
