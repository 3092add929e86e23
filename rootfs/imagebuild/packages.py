# SPDX-License-Identifier: Apache-2.0
"""Which .deb files an image is made of, and where they come from.

The machine's own apt configuration is used (mirrors, proxies, keys), with state and cache of our
own, so that this works as any user and changes nothing on the machine. Only Debian's own packages
of one release are let in. The outcome is a list file, NAME.list, beside the downloaded packages; a
later build can start from it without network.
"""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .report import BuildError

RELEASE = "bookworm"
SUITES = [RELEASE, f"{RELEASE}-updates", f"{RELEASE}-security"]

# Fields of a left-out package that apt needs to believe it is there.
STATUS_FIELDS = ("Package", "Version", "Architecture", "Multi-Arch", "Provides")


@dataclass
class Deb:
    name: str
    version: str
    arch: str
    sha256: str
    path: Path


def fetch(plan, debs_dir, report):
    """Resolves the plan's packages, downloads what is missing, returns the list of Deb."""
    apt = Apt(debs_dir, report)
    report.step("asking apt for package lists")
    apt.update()
    apt.pretend_installed(plan.left_out)
    wanted = apt.resolve(plan.packages)
    missing = [(file, size) for file, (size, _) in wanted.items()
               if not (debs_dir / file).is_file()]
    if missing:
        megabytes = sum(size for _, size in missing) / 1e6
        report.step(f"downloading {len(missing)} of {len(wanted)} packages "
                    f"({megabytes:.1f} MB)")
    apt.download(plan.packages)
    debs = [read_deb(debs_dir / file, sha256) for file, (_, sha256) in wanted.items()]
    debs.sort(key=lambda deb: deb.name)
    save(plan, debs, debs_dir)
    return debs


def read_deb(path, sha256):
    if not path.is_file():
        raise BuildError(f"{path} is missing; build without --offline to download it")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != sha256:
        raise BuildError(f"{path} has SHA-256 {found}, expected {sha256}; "
                         f"remove the file and build again")
    fields = subprocess.run(
        ["dpkg-deb", "--showformat", "${Package} ${Version} ${Architecture}", "--show", path],
        stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return Deb(*fields, sha256, path)


def save(plan, debs, debs_dir):
    lines = [f"# for {request_digest(plan)}\n"]
    lines += [f"{deb.sha256} {deb.path.name}\n" for deb in debs]
    temporary = debs_dir / f".{plan.name}.list.new"
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.rename(debs_dir / f"{plan.name}.list")


def load(plan, debs_dir):
    path = debs_dir / f"{plan.name}.list"
    if not path.is_file():
        raise BuildError(f"{path} is missing: an offline build needs the packages of "
                         f"an earlier one; build once without --offline")
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    if header != f"# for {request_digest(plan)}":
        raise BuildError(f"{path} answers other `package` and `leave-out` lines than the recipe "
                         f"has now; build once without --offline")
    pairs = [line.split() for line in lines]
    return [read_deb(debs_dir / file, sha256) for sha256, file in pairs]


def request_digest(plan):
    """Stands for the question that a list of packages is the answer to."""
    words = sorted(plan.packages) + ["--"] + sorted(plan.left_out)
    return hashlib.sha256(" ".join(words).encode()).hexdigest()


def installed_status(left_out, descriptions):
    """A dpkg status file in which the left-out packages count as installed."""
    stanzas = {}
    for description in descriptions.split("\n\n"):
        pairs = (line.partition(": ") for line in description.splitlines())
        fields = {key: value for key, _, value in pairs if key in STATUS_FIELDS}
        if "Package" in fields:
            fields["Status"] = "install ok installed"
            stanzas[fields["Package"]] = "".join(f"{k}: {v}\n" for k, v in fields.items())
    for package in left_out:
        if package not in stanzas:
            raise BuildError(f"leave-out {package}: apt knows no such package")
    return "\n".join(stanzas[package] for package in sorted(left_out))


class Apt:
    """apt-get with the machine's configuration and a state of its own."""

    def __init__(self, debs_dir, report):
        self.report = report
        self.debs_dir = debs_dir
        self.state = debs_dir / "apt"
        for folder in ("lists/partial", "none/partial"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        (debs_dir / "partial").mkdir(exist_ok=True)
        self.status = self.state / "status"
        self.status.write_text("", encoding="utf-8")
        (self.state / "preferences").write_text(self.preferences(), encoding="utf-8")
        (self.state / "apt.conf").write_text(self.configuration(), encoding="utf-8")
        self.seed_lists()

    @staticmethod
    def preferences(left_out=()):
        refuse = "".join(
            f"Package: {package}\nPin: release o=Debian\nPin-Priority: -1\n\n"
            for package in left_out)
        allow = "".join(
            f"Package: *\nPin: release o=Debian,n={suite}\nPin-Priority: 500\n\n"
            for suite in SUITES)
        return refuse + allow + "Package: *\nPin: release *\nPin-Priority: -1\n"

    def configuration(self):
        # Read after the machine's files, so that it wins. The hooks that some machines run after an
        # update would touch their own cache, not ours. apt's own download user may have no way into
        # the caller's folders; signatures are checked all the same.
        return f'''
            Dir::State "{self.state}";
            Dir::State::lists "{self.state}/lists";
            Dir::State::status "{self.status}";
            Dir::Cache::archives "{self.debs_dir}";
            Dir::Cache::pkgcache "";
            Dir::Cache::srcpkgcache "";
            Dir::Etc::preferences "{self.state}/preferences";
            Dir::Etc::preferencesparts "/dev/null";
            APT::Install-Recommends "false";
            APT::Install-Suggests "false";
            APT::Get::Assume-Yes "true";
            APT::Sandbox::User "root";
            Acquire::Languages "none";
            #clear APT::Update::Pre-Invoke;
            #clear APT::Update::Post-Invoke;
            #clear APT::Update::Post-Invoke-Success;
            #clear DPkg::Pre-Install-Pkgs;
        '''

    def seed_lists(self):
        """Start from the machine's lists: what is current need not be downloaded again."""
        machine = Path("/var/lib/apt/lists")
        if any((self.state / "lists").glob("*_InRelease")) or not machine.is_dir():
            return
        for path in machine.iterdir():
            if path.is_file() and path.name != "lock" and os.access(path, os.R_OK):
                shutil.copy2(path, self.state / "lists" / path.name)

    def get(self, *arguments):
        return self.run("apt-get", "-q", *arguments)

    def cache(self, *arguments):
        return self.run("apt-cache", *arguments)

    def run(self, program, *arguments):
        return self.report.run([program, "-c", self.state / "apt.conf", *arguments])

    def update(self):
        if "\nErr:" in self.get("update"):
            self.report.step("not all package lists could be fetched; going on with older ones")
        if f"n={RELEASE}," not in self.cache("policy"):
            raise BuildError(f"the machine's apt sources do not offer Debian {RELEASE}; "
                             f"add it to /etc/apt/sources.list.d and try again")

    def pretend_installed(self, left_out):
        if not left_out:
            return
        descriptions = self.cache("show", "--no-all-versions", *sorted(left_out))
        self.status.write_text(installed_status(left_out, descriptions), encoding="utf-8")
        (self.state / "preferences").write_text(self.preferences(left_out), encoding="utf-8")

    def resolve(self, names):
        """{file name: (size, SHA-256)} of all packages that `names` need."""
        # An empty archive folder, since apt leaves out of the list what it already has.
        output = self.get("-o", f"Dir::Cache::archives={self.state}/none",
                          "-o", "Acquire::ForceHash=SHA256", "--print-uris", "install", *names)
        wanted = {}
        for line in output.splitlines():
            if line.startswith("'"):
                _, file, size, checksum = line.split()
                kind, _, value = checksum.partition(":")
                if kind != "SHA256":
                    raise BuildError(f"apt offers no SHA-256 for {file}")
                wanted[file] = (int(size), value)
        if not wanted:
            raise BuildError("apt resolved the recipe to no package at all")
        return wanted

    def download(self, names):
        try:
            self.get("--download-only", "install", *names)
        except BuildError as error:
            raise BuildError(f"cannot download; is the package mirror reachable? {error}") from None
