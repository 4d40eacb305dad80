import Authorization
import ControlProtocol
import LinuxSystem

/// Lets the daemon of a mount change the lists of many files with one request. Each thread has its own.
final class ManyLists {
    private let files: LinuxFiles
    private let change: ListChange
    private let report: ChangeReport
    private var token = UInt64.random(in: .min ... .max)
    /// How often the daemon has refused such requests, one after the other. Some mounts refuse all; others do while something is mounted
    /// below, or was a moment ago.
    private var refusals = 0
    private static let mostRefusals = 16

    init(_ files: LinuxFiles, _ change: ListChange, _ report: ChangeReport) {
        (self.files, self.change, self.report) = (files, change, report)
    }

    /// - Parameters:
    ///   - names: some names of a directory.
    ///   - directory: any descriptor of it.
    /// - Returns: the names that are left to change, because they are not those of files, or need a closer look.
    func change(_ names: [[UInt8]], in directory: SharedDescriptor) -> [[UInt8]] {
        var left: [[UInt8]] = []
        var rest = names[...]
        while !rest.isEmpty, refusals < Self.mostRefusals {
            guard let outcomes = outcomes(Array(rest), in: directory) else { break }
            var changed = 0
            let before = left.count
            for (name, outcome) in zip(rest, outcomes) {
                switch outcome {
                case .same: break
                case .changed: changed += 1
                case .left: left.append(name)
                }
            }
            report.count(examined: outcomes.count - (left.count - before), changed: changed)
            rest = rest.dropFirst(outcomes.count)
        }
        return left + rest
    }

    /// - Returns: what came of the first of the names; nil: unknown.
    private func outcomes(_ names: [[UInt8]], in directory: SharedDescriptor) -> [ListsAnswer.Outcome]? {
        token &+= 1
        let request = ListsRequest(token: token, change: change, names: names)
        do { try files.setAttribute(ListsRequest.attribute, of: directory, to: request.bytes) } catch {
            refusals += 1
            return nil
        }
        refusals = 0
        let value = try? files.attribute(ListsRequest.attribute, of: directory)
        guard let value, let answer = ListsAnswer(reading: value), answer.token == token, (1...names.count).contains(answer.outcomes.count)
        else {
            report.noteUncounted()
            return nil
        }
        return answer.outcomes
    }
}

/// The names of a directory that `ManyLists` leaves.
struct LeftNames: LevelNames {
    private var names: StreamedNames<LinuxFiles>
    private let lists: ManyLists?
    /// The next one last.
    private var left: [[UInt8]] = []
    private var failure: Errno?

    /// - Parameter lists: nil: all names are left.
    init(_ files: LinuxFiles, _ lists: ManyLists?) { (names, self.lists) = (StreamedNames(files), lists) }

    mutating func next(in directory: SharedDescriptor) throws(Errno) -> [UInt8]? {
        guard let lists else { return try names.next(in: directory) }
        while left.isEmpty {
            let batch = try batch(in: directory)
            if batch.isEmpty { return nil }
            left = lists.change(batch, in: directory).reversed()
        }
        return left.popLast()
    }

    mutating func suspend() { names.suspend() }

    private mutating func batch(in directory: SharedDescriptor) throws(Errno) -> [[UInt8]] {
        if let failure { throw failure }
        var batch: [[UInt8]] = []
        while batch.count < ListsRequest.mostNames {
            do throws(Errno) {
                guard let name = try names.next(in: directory) else { break }
                batch.append(name)
            } catch {
                if batch.isEmpty { throw error }
                failure = error
                break
            }
        }
        return batch
    }
}
