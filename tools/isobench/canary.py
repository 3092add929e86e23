# SPDX-License-Identifier: Apache-2.0
"""Things of the host with a random token each. Whatever shows the token, or reaches a listener with the
word of its run, got at them. Nothing here changes the host but in the lab (addresses, a loop device)."""
import os
import re
import secrets
import selectors
import socket
import subprocess
import threading

HOST_ADDRESS, METADATA = "10.99.77.1", "169.254.169.254"
NAMES = ("file", "process", "environ", "variable", "descriptor", "log", "key", "disk", "path")


class Canaries:
    """Use as a context: planted inside, gone afterwards."""

    def __init__(self, folder, in_lab):
        self.tokens = {name: secrets.token_hex(12) for name in NAMES}
        # The folder that sandboxes are made in has a token for its name.
        self.folder, self.in_lab = f"{folder}/{self.tokens['path']}", in_lab
        self.unavailable, self.names, self.heard = {}, {}, []
        self._selector, self._undo, self._sockets = selectors.DefaultSelector(), [], []
        self._over = threading.Event()
        self.descriptor = -1

    def __enter__(self):
        os.mkdir(self.folder)
        os.chmod(self.folder, 0o755)
        for plant in (self._file, self._process, self._variables, self._log, self._key, self._disk,
                      self._mount, self._addresses, self._listeners):
            plant()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        for undo in reversed(self._undo):
            undo()
        for each in self._sockets:
            each.close()

    def heard_word(self, word):
        """The listeners that got this word."""
        return {name: True for name, data in list(self.heard) if word.encode() in data}

    def _file(self):
        name = "isobench-canary-" + secrets.token_hex(4)
        path = "/var/tmp/" + name
        with open(path, "w", encoding="ascii") as file:
            file.write(self.tokens["file"])
        os.chmod(path, 0o644)
        self._undo.append(lambda: os.unlink(path))
        self.names["file_name"] = name

    def _process(self):
        environment = {"PATH": os.environ.get("PATH", "/bin"),
                       "ISOBENCH_CANARY": self.tokens["environ"]}
        # $0 of the shell carries the token; it waits for the end of its standard input.
        process = subprocess.Popen(["sh", "-c", "read unused; :", "isobench-process=" +
                                    self.tokens["process"]], stdin=subprocess.PIPE, env=environment)

        def stop():
            process.stdin.close()
            process.wait()
        self._undo.append(stop)
        self.names.update(process_mark="isobench-process", environ_mark="ISOBENCH_CANARY",
                          canary_pid=process.pid)

    def _variables(self):
        self.names["variable"] = "ISOBENCH_SECRET"
        path = f"{self.folder}/isobench-token-{self.tokens['descriptor']}"
        self.descriptor = os.open(path, os.O_CREAT | os.O_RDONLY, 0o600)
        os.set_inheritable(self.descriptor, True)
        self._undo.append(lambda: os.close(self.descriptor))

    def _log(self):
        self.names["log_mark"] = "isobench-log-" + secrets.token_hex(4)
        try:
            with open("/dev/kmsg", "w", encoding="ascii") as file:
                file.write(f"{self.names['log_mark']} {self.tokens['log']}\n")
        except OSError as error:
            self.unavailable["log"] = f"the host's log cannot be written: {error.strerror}"

    def _key(self):
        name = "isobench-" + secrets.token_hex(4)
        self.names["key_name"] = name
        try:
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            token = self.tokens["key"].encode()
            key = libc.syscall(248, b"user", name.encode(), token, len(token), -4)
        except OSError:
            key = -1
        if key < 0:
            self.unavailable["key"] = "the host's kernel gives no keyring"
            return
        libc.syscall(250, 5, key, 0x3f3f3f3f)  # KEYCTL_SETPERM: whoever finds it may read it
        self._undo.append(lambda: libc.syscall(250, 9, key, -4))  # KEYCTL_UNLINK

    def _disk(self):
        self.names.update(disk_major=7, disk_minor=99)
        if not self.in_lab:
            self.unavailable["disk"] = "a loop device is made in the lab only"
            return
        subprocess.run(["modprobe", "loop"], check=False, stderr=subprocess.DEVNULL)
        path = self.folder + "/disk.img"
        with open(path, "wb") as file:
            file.write(self.tokens["disk"].encode().ljust(1 << 20, b"\0"))
        made = subprocess.run(["losetup", "--find", "--show", path], capture_output=True, text=True,
                              check=False)
        if made.returncode != 0:
            self.unavailable["disk"] = "no loop device: " + made.stderr.strip()[:80]
            return
        device = made.stdout.strip()
        self._undo.append(lambda: subprocess.run(["losetup", "-d", device], check=False))
        number = os.stat(device).st_rdev
        self.names.update(disk_major=os.major(number), disk_minor=os.minor(number))

    def _mount(self):
        """So that the host's own table of mounts has the token."""
        if not self.in_lab:
            return
        subprocess.run(["mount", "--bind", self.folder, self.folder], check=True)
        self._undo.append(lambda: subprocess.run(["umount", "-l", self.folder], check=False))

    def _addresses(self):
        self.names["host_address"] = HOST_ADDRESS
        for address in (HOST_ADDRESS, METADATA) if self.in_lab else ():
            subprocess.run(["ip", "addr", "add", address + "/32", "dev", "lo"], check=False,
                           stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL)

    def _listeners(self):
        path = self.folder + "/isobench.sock"
        abstract = "isobench-" + secrets.token_hex(6)
        port = self._open("loopback", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.names.update(tcp_port=port, socket_path=path, abstract=abstract,
                          channel_name="isobench-" + secrets.token_hex(6),
                          sysv_key=secrets.randbelow(1 << 30) + 1)
        self._open("loopback6", socket.AF_INET6, socket.SOCK_STREAM, ("::1", port))
        self._open("address", socket.AF_INET, socket.SOCK_STREAM, (HOST_ADDRESS, port))
        self._open("metadata", socket.AF_INET, socket.SOCK_STREAM, (METADATA, port))
        self._open("udp", socket.AF_INET, socket.SOCK_DGRAM, (HOST_ADDRESS, port))
        self._open("dns", socket.AF_INET, socket.SOCK_DGRAM, (HOST_ADDRESS, 53))
        self._open("abstract", socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
        self._open("socket_path", socket.AF_UNIX, socket.SOCK_STREAM, path)
        if os.path.exists(path):
            os.chmod(path, 0o777)

    def _open(self, name, family, kind, address):
        try:
            listener = socket.socket(family, kind)
            self._sockets.append(listener)
            listener.bind(address)
            if kind == socket.SOCK_STREAM:
                listener.listen(64)
        except OSError as error:
            self.unavailable[name] = f"no listener here: {error.strerror}"
            return None
        self._selector.register(listener, selectors.EVENT_READ, name)
        return listener.getsockname()[1] if family != socket.AF_UNIX else None

    def _listen(self):
        while not self._over.is_set():
            for key, _ in self._selector.select(0.2):
                try:
                    self._hear(key.fileobj, key.data)
                except OSError:
                    continue  # who came has gone: nothing arrived

    def _hear(self, listener, name):
        if listener.type == socket.SOCK_DGRAM:
            self.heard.append((name, _plain(listener.recv(2048))))
            return
        visitor, _ = listener.accept()
        visitor.settimeout(2)
        with visitor:
            self.heard.append((name, visitor.recv(2048)))


def _plain(data):
    """Labels of a DNS question, joined by dots, beside the bytes as they are."""
    return data + b" " + re.sub(rb"[\x00-\x1f]", b".", data)
