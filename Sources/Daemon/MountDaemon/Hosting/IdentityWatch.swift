import ACLFileSystem
import Identity
import LinuxSystem
import Mounting
import Synchronization
import ToolSupport

/// Reads the file of `identities=` again when it has changed, on a thread of its own. A file that cannot be read or is no table changes
/// nothing: the log says so, and the table that was read before stays in force.
final class IdentityWatch: Sendable {
    private let file: IdentityFile
    private let events: NameEvents
    private let isStopped = Atomic<Bool>(false)
    private let mustReread = Atomic<Bool>(true)
    /// Milliseconds after an event: an editor may remove a file before it gives another the name.
    private static let pause: UInt32 = 20

    /// Begins to watch. A change after this is not missed.
    init(_ file: IdentityFile) throws(Errno) {
        self.file = file
        events = try NameEvents(in: file.directory.rawValue, name: file.name)
    }

    /// - Throws: there is no thread.
    func start(_ fileSystem: FileSystem) throws(Errno) {
        _ = try Thread.start(name: "aclfs-identities") { [self] in
            var last: Reading?
            // The table in force was read before the watch began.
            while !isStopped.load(ordering: .relaxed) {
                let isAsked = mustReread.exchange(false, ordering: .relaxed)
                let kinds = isAsked ? [] : events.next()
                if isStopped.load(ordering: .relaxed) { return }
                if kinds.contains(.ended) {
                    keep(fileSystem, "'s directory is gone")
                    return
                }
                if !isAsked, kinds.isEmpty { continue }
                if !isAsked { SystemTime.sleep(milliseconds: Self.pause) }
                // One that is there again is being written, and its end is an event of its own.
                if kinds == .lost, file.exists { continue }
                read(fileSystem, &last)
            }
        }
    }

    /// Ends the thread.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        events.wake()
    }

    /// Makes the thread read the file, whatever the kernel told of it.
    func reread() {
        mustReread.store(true, ordering: .relaxed)
        events.wake()
    }

    private enum Reading: Equatable {
        case table(IdentityTable)
        case problem(String)
    }

    private func read(_ fileSystem: FileSystem, _ last: inout Reading?) {
        let reading: Reading
        do throws(IdentityFile.Problem) { reading = .table(try file.read()) } catch { reading = .problem(error.message) }
        defer { last = reading }
        if reading == last { return }
        switch reading {
        case .table(let table):
            fileSystem.changeIdentities(to: table)
            if last != nil { Journal.note(.info, "identities=\(file.path): read again; UUIDs in it: \(table.count)") }
        case .problem(let message): keep(fileSystem, message)
        }
    }

    /// - Parameter problem: follows the path.
    private func keep(_ fileSystem: FileSystem, _ problem: String) {
        let text = "\(file.path)\(problem); what was read before stays in force"
        fileSystem.keepIdentities(text)
        Journal.note(.warning, "identities=\(text)")
    }
}
