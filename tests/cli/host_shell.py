"""A stand-in for ssh and its server whose processes are no children of the one that asks.

host_shell.py serve SOCKET       runs what is asked for, by sh; says "ready"; until it is killed
host_shell.py ask SOCKET TEXT    asks it to run TEXT with this process's stdin, stdout and stderr; ends as TEXT does,
                                 once there is no SOCKET.down: a host that is gone says nothing
"""
import os, socket, subprocess, sys, threading, time


def answer(link):
    text, fds, _, _ = socket.recv_fds(link, 1 << 20, 3)
    done = subprocess.run(["sh", "-c", text.decode()], stdin=fds[0], stdout=fds[1], stderr=fds[2],
                          start_new_session=True, pass_fds=())
    for fd in fds:
        os.close(fd)
    try:
        link.send(bytes([done.returncode & 255]))
    except OSError:  # who asked is gone
        pass


def serve(path):
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.bind(path)
    door.listen()
    print("ready", flush=True)
    while True:
        threading.Thread(target=answer, args=(door.accept()[0],), daemon=True).start()


def ask(path, text):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect(path)
    socket.send_fds(link, [text.encode()], [0, 1, 2])
    code = link.recv(1)
    while os.path.exists(path + ".down"):
        time.sleep(0.1)
    sys.exit(code[0] if code else 255)


serve(sys.argv[2]) if sys.argv[1] == "serve" else ask(*sys.argv[2:4])
