# SPDX-License-Identifier: MIT
"""A client of memcached: load.py PORT N asks N times for 100 keys at once."""
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
f = s.makefile("rb")
for i in range(100):
    s.sendall(b"set k%d 0 0 100\r\n%s\r\n" % (i, b"x" * 100)); f.readline()
request = b"get " + b" ".join(b"k%d" % i for i in range(100)) + b"\r\n"
for i in range(int(sys.argv[2])):
    s.sendall(request)
    while f.readline() != b"END\r\n":
        pass
