"""Every point-to-point operation that mpi4py has, with notes as those of the C program (matrix.c), but without lines.

Arguments: the path of the notes. Two ranks; rank 0 sends, rank 1 receives.
"""
import collections
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, other = world.Get_rank(), 1 - world.Get_rank()
calls, messages = collections.Counter(), collections.Counter()
total = 0


def did(*names):
    calls.update(f"MPI_{name}" for name in names)


def sent(to, tag, n_bytes, n=1):
    messages[to, tag, n_bytes] += n


def data(n, seed):
    return bytearray((seed + i) % 251 for i in range(n))


def check(received, n, seed):
    global total
    assert received[:n] == data(n, seed), (received[:n], seed)
    total += sum(received[:n])


def blocking():
    status = MPI.Status()
    if rank == 0:
        MPI.Attach_buffer(bytearray(1000 + MPI.BSEND_OVERHEAD))
        for tag, name in enumerate(("Send", "Bsend", "Ssend")):
            getattr(world, name)([data(10 + tag, tag), MPI.BYTE], dest=1, tag=tag)
            did(name)
            sent(1, tag, 10 + tag)
        world.Recv([bytearray(1), MPI.BYTE], source=1, tag=3)
        world.Rsend([data(13, 3), MPI.BYTE], dest=1, tag=3)
        world.Send([data(1, 1), MPI.BYTE], dest=MPI.PROC_NULL)
        did("Recv", "Rsend", "Send")
        sent(1, 3, 13)
        MPI.Detach_buffer()
    else:
        for tag in range(3):
            room = bytearray(100)
            wild = tag == 1
            world.Recv([room, MPI.BYTE], source=MPI.ANY_SOURCE if wild else 0, tag=MPI.ANY_TAG if wild else tag, status=status)
            did("Recv")
            check(room, 10 + tag, tag)
        room = bytearray(100)
        ready = world.Irecv([room, MPI.BYTE], source=0, tag=3)
        world.Send([bytearray(1), MPI.BYTE], dest=0, tag=3)
        ready.Wait()
        did("Irecv", "Send", "Wait")
        sent(0, 3, 1)
        check(room, 13, 3)
    room, turned = bytearray(100), data(20, 5)
    world.Sendrecv([data(30, 4), MPI.BYTE], other, 4, [room, MPI.BYTE], MPI.ANY_SOURCE, MPI.ANY_TAG)
    check(room, 30, 4)
    world.Sendrecv_replace([turned, MPI.BYTE], other, 5, other, 5)
    check(turned, 20, 5)
    did("Sendrecv", "Sendrecv_replace")
    sent(other, 4, 30)
    sent(other, 5, 20)


def make(base, rooms):
    """Requests of four messages, one a mode; rank 1 has posted all of them when this returns."""
    if rank == 0:
        world.Recv([bytearray(0), MPI.BYTE], source=1, tag=90)
        did("Recv")
        names = ("Isend", "Ibsend", "Issend", "Irsend")
        requests = [getattr(world, name)([data(20 + i, base + i), MPI.BYTE], dest=1, tag=base + i)
                    for i, name in enumerate(names)]
        did(*names)
        for i in range(4):
            sent(1, base + i, 20 + i)
    else:
        requests = [world.Irecv([rooms[i], MPI.BYTE], source=MPI.ANY_SOURCE if i % 2 else 0, tag=base + i) for i in range(4)]
        world.Send([bytearray(0), MPI.BYTE], dest=0, tag=90)
        did(*["Irecv"] * 4, "Send")
        sent(0, 90, 0)
    return [*requests, MPI.REQUEST_NULL]


def by_wait(requests):
    for request in requests[:4]:
        request.Wait()
        did("Wait")


def by_test(requests):
    for request in requests[:4]:
        while not request.Get_status():
            pass
        while not request.Test():
            pass
        did("Request_get_status", "Test")


def by_waitall(requests):
    MPI.Request.Waitall(requests)
    did("Waitall")


def by_testall(requests):
    while not MPI.Request.Testall(requests):
        pass
    did("Testall")


def by_waitany(requests):
    for _ in range(4):
        MPI.Request.Waitany(requests)
        did("Waitany")
    assert MPI.Request.Waitany(requests) == MPI.UNDEFINED
    did("Waitany")


def by_testany(requests):
    done = 0
    while done < 4:
        index, flag = MPI.Request.Testany(requests)
        if flag and index != MPI.UNDEFINED:
            done += 1
            did("Testany")


def by_waitsome(requests):
    while MPI.Request.Waitsome(requests):
        did("Waitsome")
    did("Waitsome")


def by_testsome(requests):
    done = 0
    while done < 4:
        indices = MPI.Request.Testsome(requests)
        if indices:
            done += len(indices)
            did("Testsome")


def nonblocking():
    MPI.Attach_buffer(bytearray(10000 + 20 * MPI.BSEND_OVERHEAD))
    ways = (by_wait, by_test, by_waitall, by_testall, by_waitany, by_testany, by_waitsome, by_testsome)
    for number, complete in enumerate(ways):
        rooms = [bytearray(100) for _ in range(4)]
        base = 100 + 10 * number
        complete(make(base, rooms))
        for i in range(4 if rank == 1 else 0):
            check(rooms[i], 20 + i, base + i)
    persistent()
    MPI.Detach_buffer()


def persistent():
    rooms = [bytearray(100) for _ in range(4)]
    if rank == 0:
        names = ("Send_init", "Bsend_init", "Ssend_init", "Rsend_init")
        outs = [data(30 + i, i) for i in range(4)]
        requests = [getattr(world, name)([outs[i], MPI.BYTE], dest=1, tag=200 + i) for i, name in enumerate(names)]
        did(*names)
    else:
        did(*["Recv_init"] * 4)
        requests = [world.Recv_init([rooms[i], MPI.BYTE], source=MPI.ANY_SOURCE if i % 2 else 0, tag=200 + i) for i in range(4)]
    for step in range(3):
        if rank == 0:
            world.Recv([bytearray(0), MPI.BYTE], source=1, tag=91)
            did("Recv")
        if step == 0:
            for request in requests:
                request.Start()
            did(*["Start"] * 4)
        else:
            MPI.Prequest.Startall(requests)
            did("Startall")
        if rank == 1:
            world.Send([bytearray(0), MPI.BYTE], dest=0, tag=91)
            did("Send")
            sent(0, 91, 0)
        MPI.Request.Waitall(requests)
        did("Waitall")
        for i in range(4):
            if rank == 0:
                sent(1, 200 + i, 30 + i)
            else:
                check(rooms[i], 30 + i, i)
    for request in requests:
        request.Free()
        did("Request_free")


def probes():
    status, room = MPI.Status(), bytearray(100)
    if rank == 0:
        for tag in (300, 301, 310, 310, 310, 311):
            world.Send([data(40, tag), MPI.BYTE], dest=1, tag=tag)
            did("Send")
            sent(1, tag, 40)
        return
    world.Probe(MPI.ANY_SOURCE, MPI.ANY_TAG, status)
    world.Recv([room, MPI.BYTE], status.Get_source(), status.Get_tag())
    check(room, 40, 300)
    while not world.Iprobe(0, 301):
        pass
    world.Recv([room, MPI.BYTE], 0, 301)
    did("Probe", "Recv", "Iprobe", "Recv")
    message = world.Mprobe(0, 310)
    world.Recv([room, MPI.BYTE], 0, 310)
    message.Recv([room, MPI.BYTE])
    check(room, 40, 310)
    did("Mprobe", "Recv", "Mrecv")
    message = None
    while message is None:
        message = world.Improbe(MPI.ANY_SOURCE, 310)
    message.Irecv([room, MPI.BYTE]).Wait()
    message = world.Mprobe(0, 311)
    message.Recv([room, MPI.BYTE])
    check(room, 40, 311)
    did("Improbe", "Imrecv", "Wait", "Mprobe", "Mrecv")


def cancelled_and_freed():
    if rank == 0:
        world.Recv([bytearray(0), MPI.BYTE], source=1, tag=400)
        request = world.Isend([data(10, 7), MPI.BYTE], dest=1, tag=401)
        request.Free()
        did("Recv", "Isend", "Request_free")
        sent(1, 401, 10)
    else:
        status, room = MPI.Status(), bytearray(100)
        request = world.Irecv([bytearray(100), MPI.BYTE], source=MPI.ANY_SOURCE, tag=401)
        request.Cancel()
        request.Wait(status)
        assert status.Is_cancelled()
        world.Send([bytearray(0), MPI.BYTE], dest=0, tag=400)
        world.Recv([room, MPI.BYTE], source=0, tag=401)
        did("Irecv", "Cancel", "Wait", "Send", "Recv")
        sent(0, 400, 0)
        check(room, 10, 7)


blocking()
nonblocking()
probes()
cancelled_and_freed()
with open(f"{sys.argv[1]}.{rank}", "w", encoding="ascii") as file:
    file.writelines(f"call {name} - 0 {n}\n" for name, n in calls.items())
    file.writelines(f"sent {to} {tag} {n_bytes} {n}\n" for (to, tag, n_bytes), n in messages.items())
sums = world.gather(total)
if rank == 0:
    print("sum", sum(sums))
