import Foundation
import Glibc
import TestSupport
import Testing

/// A name that is replaced by a rename is never missing: editors, package managers and deployments rely on it.
@Suite(.serialized, .enabled(if: MountTesting.isPossible, "needs root and /dev/fuse"))
struct ReplacedNamesTests {
    private static let rounds = MountTesting.isLong ? 1_000 : 40

    /// Arguments: how often, a directory, and the same on another mount. While one process replaces a file, a symbolic link and a directory, one each
    /// uses them in a way of its own. Prints what failed, and ways that were hardly tried.
    private static let script = #"""
        import errno, mmap, os, sys
        rounds, here, there = int(sys.argv[1]), sys.argv[2], sys.argv[3]
        done = mmap.mmap(-1, 1)
        def put(path, text):
            with open(path, "w") as file: file.write(text)
        def using(path, flags):
            os.close(os.open(path, flags))
        def through(path):
            file = os.open(path, os.O_PATH)
            try: os.stat(f"/proc/self/fd/{file}")
            finally: os.close(file)
        ways = {
            "open": lambda d: using(d + "/f", os.O_RDONLY), "open for writing": lambda d: using(d + "/f", os.O_RDWR),
            "truncate": lambda d: using(d + "/f", os.O_WRONLY | os.O_TRUNC), "stat": lambda d: os.stat(d + "/f"),
            "listxattr": lambda d: os.listxattr(d + "/f"), "chmod": lambda d: os.chmod(d + "/f", 0o644),
            "utime": lambda d: os.utime(d + "/f"), "O_PATH": lambda d: through(d + "/f"), "readlink": lambda d: os.readlink(d + "/link"),
            "lstat": lambda d: os.lstat(d + "/link"), "by the link": lambda d: using(d + "/link/x", os.O_RDONLY),
            "list": lambda d: os.listdir(d + "/empty"), "access": lambda d: os.access(d + "/f", os.R_OK) or os.stat(d + "/none"),
        }
        for name in "one", "two":
            os.mkdir(f"{here}/{name}"); put(f"{here}/{name}/x", name)
        put(here + "/f", "0"); os.symlink("one", here + "/link"); os.mkdir(here + "/empty")
        children = []
        for directory in sorted({here, there}):
            for name, way in ways.items():
                child = os.fork()
                if child: children.append(child); continue
                tried, failed = 0, {}
                while not done[0] or tried < 5:
                    tried += 1
                    try: way(directory)
                    except OSError as error: failed[errno.errorcode[error.errno]] = failed.get(errno.errorcode[error.errno], 0) + 1
                if failed: print(name, failed, "of", tried, "in", directory, flush=True)
                os._exit(0)
        for number in range(rounds):
            put(here + "/f.new", str(number)); os.rename(here + "/f.new", here + "/f")
            os.symlink(("one", "two")[number % 2], here + "/link.new"); os.rename(here + "/link.new", here + "/link")
            os.mkdir(here + "/empty.new"); os.rename(here + "/empty.new", here + "/empty")
        done[0] = 1
        for child in children: os.waitpid(child, 0)
        print("done")
        """#

    private func replace(_ here: String, _ there: String) throws {
        let run = try Spawn.run(["/usr/bin/python3", "-c", Self.script, "\(Self.rounds)", here, there])
        #expect(run.status == 0 && run.output == "done", "\(run)")
    }

    @Test(
        arguments: MountTesting.isLong ? ["", "cache=strict", "transport=dev", "passthrough=off", "metadata=user"] : ["", "cache=strict"])
    func theNameIsNeverMissing(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        try replace(fixture.mountpoint, fixture.mountpoint)
    }

    @Test(arguments: MountTesting.isLong ? ["", "cache=strict"] : ["cache=strict"])
    func norOnAnotherMountOfTheTree(_ options: String) throws {
        let fixture = try MountFixture(options: options)
        let other = fixture.top + "/other"
        mkdir(other, 0o755)
        try fixture.mount(options, at: other)
        try replace(fixture.mountpoint, other)
    }

    /// What a caller holds without having it open, as a directory that it is in, outlives its name, and its blocks are free when it lets go.
    @Test func whatIsHeldOutlivesItsName() throws {
        let fixture = try MountFixture()
        let script = #"""
            import os, sys, time
            os.chdir(sys.argv[1])
            os.mkdir("d"); open("f", "w").write("x" * 8_000_000)
            before = os.statvfs(".").f_bfree
            held = os.open("f", os.O_PATH); os.unlink("f")
            print(os.stat(f"/proc/self/fd/{held}").st_size, os.stat(f"/proc/self/fd/{held}").st_nlink)
            os.close(held)
            for _ in range(1000):
                if (os.statvfs(".").f_bfree - before) * os.statvfs(".").f_frsize >= 7_000_000: break
                time.sleep(0.01)
            else: print("not freed")
            os.chdir("d"); os.rmdir("../d")
            print(os.stat(".").st_nlink, os.listdir("."))
            """#
        let run = try Spawn.run(["/usr/bin/python3", "-c", script, fixture.mountpoint])
        #expect(run.output == "8000000 0\n0 []", "\(run)")
    }
}
