import LinuxSystem
import ToolSupport

/// Walks a tree and keeps what it meets.
final class ReportWalk {
    private let reader: any FactsReader
    private let spool: ReportSpool
    private let progress: ChangeProgress
    private let isOpen: () -> Bool
    /// The lengths of the paths of the directories that were entered and not left.
    private var entered: [Int] = []
    private var failure: Errno?

    init(_ reader: any FactsReader, _ spool: ReportSpool, _ progress: ChangeProgress, isOpen: @escaping () -> Bool) {
        (self.reader, self.spool, self.progress, self.isOpen) = (reader, spool, progress, isOpen)
    }

    /// - Throws: the temporary file takes no more.
    func run(_ top: SharedDescriptor, _ status: FileStatus) throws(Errno) {
        OfflineWalk(
            top: top, status: status, fail: { [self] path, reason in fail(path, reason) },
            visit: { [self] node, path, status in visit(node, path, status) }
        ).run()
        leave(to: -1)
        progress.clear()
        if let failure { throw failure }
    }

    private func visit(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus) -> OfflineWalk.Step {
        progress.advance(1)
        let isTop = path == UndoEntry.topPath
        let name = isTop ? [] : comeTo(path)
        do throws(UnreadFacts) {
            let number = try reader.read(node, status)
            if status.isDirectory {
                note(.enter(name: name, number: number))
                entered.append(isTop ? 0 : path.count)
            } else {
                note(.object(name: name, number: number))
            }
        } catch {
            note(.unreadable(name: name, reason: status.isDirectory ? "\(error.reason); what is in it was not read" : error.reason))
            return failure == nil ? .skip : .stop
        }
        return failure == nil && isOpen() ? .enter : .stop
    }

    /// Leaves directories until the one that the path lies in.
    /// - Returns: its name there.
    private func comeTo(_ path: [UInt8]) -> [UInt8] {
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
            leave(to: 0)
            return path
        }
        leave(to: slash)
        return Array(path[(slash + 1)...])
    }

    private func fail(_ path: [UInt8], _ reason: String) {
        // A directory that cannot be listed has its path from the top, `.`; an object that cannot be opened has not.
        let start = UndoEntry.topPath + [UInt8(ascii: "/")]
        if path == UndoEntry.topPath || path.starts(with: start) {
            leave(to: max(0, path.count - start.count))
            note(.unlisted(reason: reason))
        } else {
            note(.unreadable(name: comeTo(path), reason: reason))
        }
    }

    private func leave(to length: Int) {
        while let last = entered.last, last > length {
            entered.removeLast()
            note(.leave)
        }
    }

    private func note(_ event: ReportEvent) {
        do throws(Errno) { if failure == nil { try spool.append(event) } } catch { failure = error }
    }
}
