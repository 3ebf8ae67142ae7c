"""A line between ssh and sshd that breaks: link.py PORT DIR [SEED]. It listens on a port of its own (DIR/port) and passes on
to PORT. While DIR/cuts says how many are wanted, connections are cut at random moments of their first DIR/within seconds
(0.6): both ends are reset, whatever is on its way is lost. DIR/done has how many were. While DIR/dead is there, what
connects gets no answer."""
import os
import random
import select
import socket
import struct
import sys
import threading
import time

port, where = int(sys.argv[1]), sys.argv[2]
chance = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
lock = threading.Lock()
done = 0


def read(name, otherwise):
    try:
        with open(os.path.join(where, name), encoding="utf-8") as file:
            return float(file.read() or otherwise)
    except (FileNotFoundError, ValueError):
        return otherwise


def write(name, text):
    with open(os.path.join(where, "." + name), "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(os.path.join(where, "." + name), os.path.join(where, name))


def cut(*ends):
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()


def note_cut():
    global done
    with lock:
        done += 1
        write("done", str(done))


def serve(client):
    while os.path.exists(os.path.join(where, "dead")):
        time.sleep(0.1)
    with lock:
        wanted = done < read("cuts", 0)
        at = time.monotonic() + chance.uniform(0, read("within", 0.6)) if wanted else None
    try:
        server = socket.create_connection(("127.0.0.1", port))
    except OSError:
        cut(client)
        return
    other = {client: server, server: client}
    while True:
        left = min(max(0, at - time.monotonic()) if at else 60, 0.1)
        ready = select.select(list(other), [], [], left)[0]
        if at and time.monotonic() >= at or os.path.exists(os.path.join(where, "dead")):
            cut(client, server)
            if at:
                note_cut()
            return
        for end in ready:
            try:
                data = end.recv(65536)
                if data:
                    other[end].sendall(data)
            except OSError:
                data = b""
            if not data:
                client.close()
                server.close()
                return


listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen(100)
write("port", str(listener.getsockname()[1]))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
