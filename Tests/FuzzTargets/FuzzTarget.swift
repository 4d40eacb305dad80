import ACLFormats
import Authorization
import Commands
import ControlProtocol
import Identity
import MountOptions
import SandboxPolicy
import SandboxProfiles
import WireFormats

/// A parser of bytes from outside, with what holds of everything that it accepts. Whatever the bytes are, it returns.
public enum FuzzTarget: String, CaseIterable, Sendable {
    /// `system.aclfs.acl`.
    case list = "acl-list"
    /// An entry of `chmod +a`, and the text of `chmod -E`.
    case entry = "acl-entry"
    /// `system.aclfs.flags`, and the words of chflags.
    case flags = "file-flags"
    /// The attribute of a backing object.
    case record = "stored-record"
    /// A POSIX ACL of a backing object.
    case posixACL = "posix-acl"
    /// `system.posix_acl_access` and `system.posix_acl_default`, as callers set them.
    case posixAttribute = "posix-attribute"
    /// The words of `-o`.
    case options = "mount-options"
    /// What a daemon receives.
    case request = "control-request"
    /// What a command receives.
    case reply = "control-reply"
    /// `system.aclfs.lists`.
    case lists = "lists-request"
    /// `system.aclfs.exchange`.
    case exchange = "exchange-request"
    /// A profile.
    case entitlements
    /// `system.nfs4_acl`.
    case namedEntries = "nfs4-named"
    /// `system.nfs4_acl_xdr`.
    case numberedEntries = "nfs4-numbered"
    /// `system.nfs4_acl_smb`.
    case smbEntries = "nfs4-smb"
    /// `com.apple.acl.text`.
    case copiedList = "copied-list"
    /// The file of a user's grants.
    case grants = "grant-file"

    /// `aclfs acl export`, in both forms.
    case export
    /// `ls -leR@O` of a Mac.
    case listing = "mac-listing"
    /// `._` files of a Mac.
    case appleDouble = "apple-double"

    /// `--undo-file`, as `--resume` and `aclfs restore` read it.
    case undo = "undo-file"
    /// `identities=`.
    case identities = "identity-file"

    /// Stops the process if something does not hold.
    public func run(_ bytes: [UInt8]) {
        switch self {
        case .list:
            for isDirectory in [false, true] {
                guard let list = try? ACLAttributeText.parse(bytes, names: NoNames(), isDirectory: isDirectory) else { return }
                let written = ACLAttributeText.write(list, isDirectory: isDirectory, names: NoNames())
                same(list, try? ACLAttributeText.parse(written, names: NoNames()))
            }
        case .entry:
            _ = try? ACLTextParser.parse(String(decoding: bytes, as: UTF8.self), names: NoNames())
        case .flags:
            _ = try? FileFlagsText.parseChange(bytes)
            guard let flags = try? FileFlagsText.parseAttribute(bytes) else { return }
            same(flags, try? FileFlagsText.parseAttribute(Array(FileFlagsText.attribute(flags).utf8)))
        case .record:
            guard let record = decoded(bytes) else { return }
            same(record, try? MetadataRecord(decoding: record.encoded()))
        case .posixACL:
            _ = PosixACL.decoding(Array(bytes.dropFirst()).span.bytes, groupBits: UInt16(bytes.first ?? 0) & 7)
        case .posixAttribute: readPosixAttribute(bytes)
        case .options: readOptions(String(decoding: bytes, as: UTF8.self))
        case .request: readRequest(bytes)
        case .reply: readReply(bytes)
        case .exchange:
            guard let request = ExchangeRequest(reading: bytes) else { return }
            same(request, (try? request.bytes()).flatMap { ExchangeRequest(reading: $0) })
        case .lists:
            if let answer = ListsAnswer(reading: bytes) { same(answer.bytes, bytes) }
            guard let request = ListsRequest(reading: bytes) else { return }
            same(request.bytes, bytes)
            same(true, request.names.count <= ListsRequest.mostNames && !request.names.contains { $0.contains(UInt8(ascii: "/")) })
        case .namedEntries: readEntries(bytes, as: .named)
        case .numberedEntries: readEntries(bytes, as: .numbered)
        case .smbEntries: readSMBEntries(bytes)
        case .copiedList:
            guard let list = try? LongFormText.read(bytes, names: FewAccounts()) else { return }
            same(list, try? LongFormText.read(LongFormText.write(list, names: FewAccounts()), names: FewAccounts()))
        case .export: readExport(bytes)
        case .listing: readListing(bytes)
        case .appleDouble:
            if let security = try? FileSecurity(bytes) { same(security, try? FileSecurity(security.bytes)) }
            guard let parts = try? AppleDouble(bytes, size: UInt64(bytes.count)), let security = parts.security else { return }
            same(security, try? FileSecurity(security.bytes))
        case .undo: readUndo(bytes)
        case .identities: readIdentities(bytes)
        case .entitlements: _ = try? EntitlementsFile.entitlements(bytes)
        case .grants:
            _ = try? GrantFile(bytes)
            // No change of the text would get past its checksum.
            let sum = JSONText.write(.object([.init("crc32c", .string(String(Checksum.crc32c(bytes), radix: 16)))]))
            guard let file = try? GrantFile(bytes + sum + [0x0A]) else { return }
            same(file, try? GrantFile(file.bytes))
        }
    }

    /// A record whose checksum alone is wrong is read with the right one: no change would get past it.
    private func decoded(_ bytes: [UInt8]) -> MetadataRecord? {
        do throws(MetadataRecordError) { return try MetadataRecord(decoding: bytes) } catch {
            guard case .badChecksum(_, let computed) = error else { return nil }
            let offset = 8
            var mended = bytes
            for index in 0..<4 { mended[offset + index] = UInt8(truncatingIfNeeded: computed >> UInt32(8 * index)) }
            return try? MetadataRecord(decoding: mended)
        }
    }

    private func same<Value: Equatable>(_ value: Value, _ again: Value?) {
        precondition(value == again, "\(rawValue): \(value) is read back as \(again.map { "\($0)" } ?? "an error")")
    }

    private func readPosixAttribute(_ bytes: [UInt8]) {
        guard let entries = try? PosixWire.entries(bytes.span.bytes) else { return }
        same(bytes, PosixWire.bytes(entries))
        guard let list = try? PosixList(entries) else { return }
        same(list, try? PosixList(list.wireEntries))
        for use in [PosixTranslation.Use.file, .directory(isSticky: false), .directory(isSticky: true), .new] {
            guard let translation = try? PosixTranslation(list, for: use), list.isExtended || use == .new else { continue }
            let mode = FileMode(rawValue: list.owner << 6 | translation.groupBits << 3 | list.other)
            same(list, PosixTranslation.list(of: translation.entries, mode: mode, for: use))
        }
    }

    /// What is stored of a value is written to one from which the same is stored.
    private func readEntries(_ bytes: [UInt8], as form: NFS4Form) {
        guard let value = try? NFS4Value(bytes, as: form, names: FewAccounts()) else { return }
        for isDirectory in [false, true] {
            guard let (list, permissions) = try? value.divided(isDirectory: isDirectory) else { continue }
            let mode = FileMode(rawValue: permissions ?? 0o640)
            guard let written = try? NFS4Value.write(list, mode: mode, isDirectory: isDirectory, as: form, names: FewAccounts()) else {
                continue
            }
            let again = try? NFS4Value(written, as: form, names: FewAccounts()).divided(isDirectory: isDirectory)
            same(list, again?.acl)
            same(mode.rawValue, again?.permissions)
        }
    }

    /// What is stored of a value is read as one that changes nothing.
    private func readSMBEntries(_ bytes: [UInt8]) {
        guard let value = try? SMBValue(bytes, names: FewAccounts()) else { return }
        for isDirectory in [false, true] {
            var facts = ObjectFacts(kind: isDirectory ? .directory : .file, owner: 501, group: 20, mode: FileMode(rawValue: 0o640))
            guard let (list, permissions) = try? value.divided(over: facts) else { continue }
            (facts.acl, facts.mode) = (list, FileMode(rawValue: permissions))
            guard let written = try? SMBValue(facts).bytes() else { continue }
            let again = try? SMBValue(written, names: FewAccounts()).divided(over: facts)
            same(list, again?.acl)
            same(permissions, again?.permissions)
        }
    }

    /// What is read of an export is written to one from which the same is read, in both forms.
    private func readExport(_ bytes: [UInt8]) {
        let identities = ExportIdentities()
        var parser = ExportParser(identities)
        var items: [ExportItem] = []
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            guard let item = try? parser.read(line) else { continue }
            items.append(item)
        }
        writeAndRead(items, identities)
    }

    private func readListing(_ bytes: [UInt8]) {
        let identities = ExportIdentities()
        var listing = MacListing(identities)
        var items = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).flatMap { listing.read($0) }
        items += listing.finish()
        writeAndRead(items.compactMap { if case .object(let object) = $0 { .object(object) } else { nil } }, identities)
    }

    private func writeAndRead(_ items: [ExportItem], _ identities: ExportIdentities) {
        for form in ExportForm.allCases {
            var writer = ExportWriter(form, names: identities)
            var text = writer.header(ExportHeader(source: nil, isOrdered: false))
            for item in items { text += writer.item(item) }
            text += writer.end()
            var parser = ExportParser(identities)
            var again: [ExportItem] = []
            for line in text.split(separator: 0x0A, omittingEmptySubsequences: false) {
                do throws(ExportProblem) {
                    if let item = try parser.read(line) { again.append(item) }
                } catch { preconditionFailure("\(rawValue): \(String(decoding: text, as: UTF8.self)): \(error.message)") }
            }
            same(true, (try? parser.finish()) != nil)
            same(items, again)
        }
    }

    /// What is understood does not depend on the pieces in which a file is read, is written to a file from which the same is read, and
    /// leads to nothing outside of the directory.
    private func readUndo(_ bytes: [UInt8]) {
        let text = try? UndoText(bytes, inPiecesOf: 65_536)
        for size in [1, 100] { same(true, text == (try? UndoText(bytes, inPiecesOf: size))) }
        guard var text else { return }
        same(text.endsCut, bytes.last != 0x0A)
        text.endsCut = false
        same(text, try? UndoText(text.written, inPiecesOf: 65_536))
        let (dot, slash) = (UInt8(ascii: "."), UInt8(ascii: "/"))
        for name in text.names.joined() {
            same(false, name.isEmpty || name == [dot] || name == [dot, dot] || name.contains(slash) || name.contains(0))
        }
    }

    /// A table has what its lines say, one after the other, and each identity and each number once.
    private func readIdentities(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        let table: IdentityTable
        do throws(IdentityTable.Problem) { table = try IdentityTable(bytes) } catch {
            let isOneLine = error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
            same(true, lines.indices.contains(error.line - 1) && isOneLine && error.message.utf8.count < 1024)
            // What stands before the line is a table.
            same(true, (try? IdentityTable(Array(lines[..<(error.line - 1)].joined(separator: [0x0A])))) != nil)
            return
        }
        var written: [UInt8] = []
        var principals: Set<Principal> = []
        for line in lines {
            let said = line.prefix { $0 != UInt8(ascii: "#") }
            guard let first = said.firstIndex(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) else { continue }
            guard let identity = GUID(uuidText: said[first...].prefix(36)) else { preconditionFailure("\(rawValue): accepted \(said)") }
            let text: String
            switch table.principal(of: identity) {
            case .user(let uid): text = "user:\(uid)"
            case .group(let gid): text = "group:\(gid)"
            case let other: preconditionFailure("\(rawValue): \(identity) stands for \(String(describing: other))")
            }
            same(true, principals.insert(table.principal(of: identity) ?? .nobody).inserted && Principal(identity) == .other(identity))
            written += "\(identity.uuidText) \(text)\n".utf8
        }
        same(table.count, principals.count)
        same(table, try? IdentityTable(written))
    }

    private func readOptions(_ text: String) {
        var options = MountOptions()
        _ = try? options.apply(text)
        _ = try? options.checkTogether()
        guard let words = try? MountOptionText.split(text) else { return }
        same(words, try? MountOptionText.split(MountOptionText.join(words)))
    }

    private func readRequest(_ bytes: [UInt8]) {
        if let json = try? JSONText.parse(bytes) { same(json, try? JSONText.parse(JSONText.write(json))) }
        guard let request = try? ReceivedRequest(bytes) else { return }
        switch request.command {
        case .explain: _ = try? ExplainMessage(reading: request)
        case .effective: _ = try? EffectiveMessage(reading: request)
        case .last: _ = try? LastMessage(reading: request)
        case .remount: _ = try? RemountMessage(reading: request)
        case .grantAdd: _ = try? GrantAddMessage(reading: request, at: 1000)
        case .grantRemove: _ = try? GrantRemoveMessage(reading: request)
        case .grantList: _ = try? GrantListMessage(reading: request)
        case .shows: _ = try? ShowsMessage(reading: request)
        case .view: _ = try? ViewMessage(reading: request)
        case .serve: _ = try? ServeMessage(reading: request)
        case .version, .status, .places, .serves, .upgrade, nil: break
        }
    }

    private func readReply(_ bytes: [UInt8]) {
        guard case .result(let result)? = try? ReceivedReply(bytes) else { return }
        let readers: [(JSON) -> any ControlAnswer] = [
            { ExplainAnswer(reading: $0) }, { EffectiveAnswer(reading: $0) }, { LastAnswer(reading: $0) },
            { VersionAnswer(reading: $0) }, { StatusAnswer(reading: $0) }, { PlacesAnswer(reading: $0) },
            { ShowsAnswer(reading: $0) }, { ViewAnswer(reading: $0) }, { ServesAnswer(reading: $0) }, { RemountAnswer(reading: $0) },
            { GrantAddAnswer(reading: $0) }, { GrantRemoveAnswer(reading: $0) }, { GrantListAnswer(reading: $0) },
        ]
        // What was understood can be sent on.
        for read in readers { _ = JSONText.write(read(result).json) }
    }
}

/// Two accounts, so that names are resolved and given.
private struct FewAccounts: WireNames {
    func identity(named name: String, isGroup: Bool) throws(NameUnanswered) -> GUID? {
        switch (name, isGroup) {
        case ("alice", false): GUID(user: 501)
        case ("staff", true): GUID(group: 20)
        default: nil
        }
    }

    func name(of identity: GUID) -> String? {
        identity == GUID(user: 501) ? "alice" : identity == GUID(group: 20) ? "staff" : nil
    }
}
