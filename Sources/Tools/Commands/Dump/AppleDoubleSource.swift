import ACLFormats
import Authorization
import BackingStore
import LinuxSystem
import ToolSupport
import WireFormats

/// The lists in the files `._NAME` below a directory, as lists of the objects NAME beside them.
final class AppleDoubleSource: ExportSource {
    let name: String
    let header: ExportHeader
    var identities: ExportIdentities? { known }
    private let known = ExportIdentities()
    private let files = LinuxFiles(staysBeneath: true)
    private var descent: TreeDescent<LinuxFiles, StreamedNames<LinuxFiles>>
    private let complain: (String) -> Void

    private static let prefix = Array("._".utf8)

    /// - Parameter complain: called with each file that is damaged or belongs to nothing.
    init(_ operand: [UInt8], _ complain: @escaping (String) -> Void) throws(CommandFailure) {
        name = escapedName(operand)
        self.complain = complain
        do throws(Errno) {
            let top = try LinuxFiles().open(operand, followsLink: true)
            let status = try Syscall.statx(top.rawValue)
            header = ExportHeader(source: try LinuxFiles().absolutePath(of: top), isOrdered: false)
            descent = TreeDescent(files, top, of: ExportPath.top, followsLinks: false)
            descent.enter(top, named: [], ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
        } catch { throw CommandFailure("\(escapedName(operand)): \(error.text)") }
    }

    func next() -> ExportItem? {
        while let (name, directory) = descent.advance(fail: { complain("\(escapedName($0)): \($1)") }) {
            let path = descent.below.isEmpty ? name : joinedPath(descent.below, name)
            do throws(CommandFailure) {
                if let object = try meet(name, path, in: directory) { return .object(object) }
            } catch { complain("\(escapedName(path)): \(error.message)") }
        }
        return nil
    }

    /// What a file holds, and the kind of the object that it belongs to.
    private struct Companion {
        var path: [UInt8]
        var kind: ObjectKind?
        var head: [UInt8]
        var size: UInt64
    }

    private func meet(_ name: [UInt8], _ path: [UInt8], in directory: SharedDescriptor) throws(CommandFailure) -> ExportedObject? {
        let companion: Companion?
        do throws(Errno) { companion = try read(name, path, in: directory) } catch { throw CommandFailure(error.text) }
        guard let companion, let list = try list(companion) else { return nil }
        guard let kind = companion.kind else { throw CommandFailure("there is no object with this name without '._'") }
        return ExportedObject(path: companion.path, kind: kind, list: .entries(list))
    }

    private func read(_ name: [UInt8], _ path: [UInt8], in directory: SharedDescriptor) throws(Errno) -> Companion? {
        let node = try files.open(name, in: directory, followsLink: false)
        let status = try Syscall.statx(node.rawValue)
        if status.isDirectory {
            descent.enter(node, named: name, ObjectIdentity(device: status.device, inode: status.inode), StreamedNames(files))
            return nil
        }
        guard name.starts(with: Self.prefix), name.count > 2, status.isRegular else { return nil }
        let file = SharedDescriptor(try Syscall.reopen(node.rawValue, OpenFlag.readOnly | OpenFlag.nonBlock))
        let own = Array(name.dropFirst(2))
        return Companion(
            path: Array(path.dropLast(name.count)) + own, kind: try kind(of: own, in: directory),
            head: try Syscall.readAll(file.rawValue, limit: AppleDouble.longestHead), size: status.size)
    }

    private func kind(of name: [UInt8], in directory: SharedDescriptor) throws(Errno) -> ObjectKind? {
        do throws(Errno) {
            let node = try files.open(name, in: directory, followsLink: false)
            return ObjectKind(typeBits: try Syscall.statx(node.rawValue).mode)
        } catch {
            if error == .noent { return nil }
            throw error
        }
    }

    /// - Returns: nil if the file has no list.
    private func list(_ companion: Companion) throws(CommandFailure) -> ACL? {
        let parts: AppleDouble
        do { parts = try AppleDouble(companion.head, size: companion.size) } catch { throw CommandFailure(error.message) }
        if let acl = parts.security?.acl { return acl }
        guard let text = parts.listText else { return nil }
        do { return try LongFormText.read(text, names: ListedNames(identities: known)) } catch {
            throw CommandFailure("com.apple.acl.text: \(error.message)")
        }
    }
}

/// Names in the long form, whose identities this host need not know.
private struct ListedNames: WireNames {
    let identities: ExportIdentities

    func identity(named name: String, isGroup: Bool) -> GUID? { identities.identity(named: name, kind: isGroup ? .group : .user) }
    func name(of identity: GUID) -> String? { nil }
}
