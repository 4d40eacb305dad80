import ACLFormats
import LinuxSystem
import SandboxPolicy
import ToolSupport

/// `aclfs purge`: removes what has not been used for some time from the caches of containers (docs/guide/backup.md "Purging").
package enum Purge {
    /// - Returns: the exit status: 0; 1 if something could not be removed, or a container that was named is in use; 2 if nothing was done.
    package static func perform(_ request: PurgeRequest, sink: OutputSink = .standard) -> Int32 {
        var operands: [(path: [UInt8], mount: MountEntry, node: SharedDescriptor)] = []
        for path in request.paths {
            do {
                let location = try MountLocation(path)
                let node = try LinuxFiles().open(path, followsLink: false)
                guard try LinuxFiles().status(of: node).isDirectory else { throw Errno.notdir }
                operands.append((try LinuxFiles().absolutePath(of: node), location.entry, node))
            } catch let error as ControlError {
                sink.complain("purge: \(error.message)")
                return 2
            } catch {
                sink.complain(path, (error as? Errno ?? .io).text)
                return 2
            }
        }
        let report = PurgeReport(sink, request)
        var uses: [UInt64: ContainerUse] = [:]
        for operand in operands {
            let use = uses[operand.mount.id] ?? ContainerUse(of: operand.mount)
            if use.isRefused, uses.isEmpty {
                report.note("purge: sandbox views are not checked: only root and the user who mounted may ask for them")
            }
            uses[operand.mount.id] = use
            PurgeWalk(report, request, use).run(operand.node, operand.path)
        }
        report.summarize()
        return report.exitStatus
    }
}

/// Finds the containers at and below a directory, and purges each.
private struct PurgeWalk {
    private typealias Descent = TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>

    private let files = LinuxFiles(staysBeneath: true)
    private let report: PurgeReport
    private let request: PurgeRequest
    private let use: ContainerUse
    private let limit: Int64

    init(_ report: PurgeReport, _ request: PurgeRequest, _ use: ContainerUse) {
        (self.report, self.request, self.use) = (report, request, use)
        limit = SystemTime.now().sec - request.age
    }

    func run(_ top: SharedDescriptor, _ path: [UInt8]) {
        var descent = Descent(files, top, of: path, followsLinks: false)
        do throws(Errno) {
            let status = try Syscall.statx(top.rawValue)
            try purgeIfDeclared(top, path, status, isNamed: true)
            descent.enter(top, named: [], ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
        } catch { return report.fail(path, error.text) }
        descent.walk(fail: { report.fail($0, $1) }) { descent, name, directory in
            do throws(Errno) {
                let node = try files.open(name, in: directory, followsLink: false)
                let status = try Syscall.statx(node.rawValue)
                guard status.isDirectory else { return true }
                try purgeIfDeclared(node, descent.path(of: name), status, isNamed: false)
                descent.enter(node, named: name, ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
            } catch {
                // Removed meanwhile, or mounted there.
                if error != .noent, error != .xdev { report.fail(descent.path(of: name), error.text) }
            }
            return true
        }
    }

    private func purgeIfDeclared(_ node: SharedDescriptor, _ path: [UInt8], _ status: FileStatus, isNamed: Bool) throws(Errno) {
        let value: [UInt8]?
        do throws(Errno) { value = try files.attribute(DeclaredLayout.attributeName, of: node) } catch {
            // A caller who may not read attributes finds no container.
            if error == .acces || error == .perm { return }
            throw error
        }
        guard value.flatMap({ DeclaredLayout(value: $0) }) != nil else { return }
        let uses = use.uses(of: path)
        guard uses.isEmpty else { return report.skip(path, uses, isNamed: isNamed) }
        let owner = try SoleOwner(of: node, status, files)
        report.beginContainer()
        for place in DeclaredLayout.purgeablePlaces {
            PurgePlace(report, isDryRun: request.isDryRun, limit: limit, owner: owner).purge(place, of: node, path)
        }
    }
}
