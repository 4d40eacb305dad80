import Authorization
import LinuxSystem

// Data of files (S59 to S64). A handle is named by a number; a handle for appending is opened with O_APPEND.
extension CaseList {
    private static var readWrite: String { "\(OpenFlag.readWrite)" }
    private static var forAppending: String { "\(OpenFlag.writeOnly | OpenFlag.append)" }

    mutating func addData() {
        add(59, title: "when close returns, a gap has its space and reads as zero") { scene in
            scene.file("./f", 0o644)
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "pwrite", "1", "1048576", "end")
            scene.call(scene.alice, "close", "1")
            scene.call(scene.alice, "blocks", "./f", expecting: .space(atLeast: 1_048_579))
            scene.call(scene.alice, "hold", "1", "./f", "0", "0")
            scene.call(scene.alice, "pread", "1", "524288", "4", expecting: .text("\0\0\0\0"))
            scene.call(scene.alice, "close", "1")
        }
        add(60, title: "filling a gap loses no byte of another writer") { scene in
            scene.file("./f", 0o666)
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.bob, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "pwrite", "1", "1048576", "end")
            scene.call(scene.bob, "pwrite", "1", "524288", "bob")
            scene.call(scene.alice, "close", "1")
            scene.call(scene.bob, "pwrite", "1", "65536", "again")
            scene.call(scene.bob, "close", "1")
            scene.call(scene.alice, "hold", "1", "./f", "0", "0")
            for (offset, text) in [("524288", "bob"), ("65536", "again"), ("1048576", "end")] {
                scene.call(scene.alice, "pread", "1", offset, "\(text.utf8.count)", expecting: .text(text))
            }
            scene.call(scene.alice, "close", "1")
            scene.call(scene.alice, "blocks", "./f", expecting: .space(atLeast: 1_048_579))
        }
        add(61, title: "punched holes stay") { scene in
            scene.file("./f", 0o644)
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "fallocate", "1", "0", "0", "1048576")
            scene.call(scene.alice, "close", "1")
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "fallocate", "1", "\(AllocateFlag.punchHole | AllocateFlag.keepSize)", "0", "524288")
            scene.call(scene.alice, "close", "1")
            scene.call(scene.alice, "blocks", "./f", expecting: .space(below: 1_048_576))
        }
        add(63, title: "a caller who may only append changes no byte") { scene in
            scene.file("./f", 0o644, acl: scene.allow(scene.numbers.bob, "append"))
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "write", "1", "text")
            scene.write(scene.bob, "./f", gives: "EACCES")
            scene.call(scene.bob, "hold", "1", "./f", Self.forAppending, "0")
            scene.call(scene.bob, "write", "1", "+more")
            // The flag can be taken from the handle, not the reason for it.
            scene.call(scene.bob, "setfl", "1", "0", expecting: .anything)
            scene.call(scene.bob, "pwrite", "1", "0", "lost", expecting: .anything)
            scene.call(scene.bob, "close", "1")
            scene.call(scene.alice, "pread", "1", "0", "9", expecting: .text("text+more"))
            scene.call(scene.alice, "close", "1")
        }
        add(63, title: "a caller who may only append maps nothing writable") { scene in
            scene.file("./f", 0o644, acl: scene.allow(scene.numbers.bob, "append"))
            // Waits until nothing is left of the handle that made the file: beside one with a passthrough, whatever opens the file before that
            // has one too (docs/internals/data-path.md).
            scene.call(scene.bob, "hold", "1", "./f", "\(OpenFlag.readWrite | OpenFlag.append)", "0")
            scene.call(scene.bob, "close", "1")
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.alice, "write", "1", "text")
            scene.call(scene.bob, "hold", "1", "./f", "\(OpenFlag.readWrite | OpenFlag.append)", "0")
            scene.call(scene.bob, "map", "1", expecting: .refused)
            scene.call(scene.bob, "close", "1")
            scene.call(scene.alice, "pread", "1", "0", "4", expecting: .text("text"))
            scene.call(scene.alice, "close", "1")
        }
        add(64, title: "all handles of a file have the same content at once") { scene in
            scene.file("./f", 0o644)
            scene.call(scene.alice, "hold", "1", "./f", Self.readWrite, "0")
            scene.call(scene.bob, "hold", "1", "./f", "0", "0")
            for text in ["first", "other", "third"] {
                scene.call(scene.alice, "pwrite", "1", "0", text)
                scene.call(scene.bob, "pread", "1", "0", "5", expecting: .text(text))
            }
            scene.call(scene.alice, "ftruncate", "1", "2")
            scene.call(scene.bob, "pread", "1", "0", "5", expecting: .text("th"))
            scene.call(scene.alice, "close", "1")
            scene.call(scene.bob, "close", "1")
        }
    }
}

extension Expected {
    /// The answer to `blocks`: the space of a file in bytes.
    fileprivate static func space(atLeast least: Int) -> Expected {
        .value("at least \(least) bytes of space") { (space($0) ?? -1) >= least }
    }
    fileprivate static func space(below most: Int) -> Expected {
        .value("less than \(most) bytes of space") { (space($0) ?? .max) < most }
    }

    private static func space(_ value: [UInt8]) -> Int? {
        String(decoding: value, as: UTF8.self).split(separator: " ").last.flatMap { Int($0) }
    }
}
