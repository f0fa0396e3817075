"""A link between two tap devices that delays frames and loses some: python3 lossy_link.py A B MS N

Both devices are made here. A frame that comes out of one goes into the other MS milliseconds later;
every Nth of a direction is lost. Says "ready"; runs until it is killed.
"""
import fcntl, heapq, os, select, struct, sys, time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000


def tap(name):
    fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TAP | IFF_NO_PI))
    return fd


def main():
    fds = [tap(sys.argv[1]), tap(sys.argv[2])]
    delay, lose = float(sys.argv[3]) / 1e3, int(sys.argv[4])
    seen, late, number = [0, 0], [], 0
    print("ready", flush=True)
    while True:
        wait = max(0, late[0][0] - time.monotonic()) if late else None
        for fd in select.select(fds, [], [], wait)[0]:
            frame, side = os.read(fd, 65536), fds.index(fd)
            seen[side] += 1
            number += 1
            if seen[side] % lose:
                heapq.heappush(late, (time.monotonic() + delay, number, 1 - side, frame))
        while late and late[0][0] <= time.monotonic():
            _, _, side, frame = heapq.heappop(late)
            try:
                os.write(fds[side], frame)
            except OSError:  # down, or its queue is full: lost
                pass


main()
