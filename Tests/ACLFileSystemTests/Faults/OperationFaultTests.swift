import ACLFormats
import Foundation
import FuseSession
import Glibc
import LinuxSystem
import TestSupport
import Testing
import WireFormats

@testable import ACLFileSystem

/// Every operation with each of its system calls failing (docs/internals/testing.md "Calls that fail"): it is done or not done, nothing is
/// lost, nothing is kept, and nobody may do what he might not do before.
@Suite(.enabled(if: geteuid() == 0, "needs root")) struct OperationFaultTests {
    /// Errors that one call is made to fail with, by what it does.
    private static func errors(of call: String) -> [Errno] {
        func isOne(_ names: String...) -> Bool { names.contains { call.hasPrefix($0 + "(") } }
        if isOne("openat", "reopen", "dup", "openByHandleOnce", "cloneMount") { return [.mfile] }
        if isOne("mkdirat", "mknodat", "symlinkat", "link", "setxattr", "pwrite", "write", "fallocate", "truncate", "renameat2") {
            return [.nospc]
        }
        return []
    }

    /// Requests that take the lock of a backing inode, and so may run on a spare thread.
    private static let acting: Set<String> = [
        "setattr", "setxattr", "removexattr", "unlink", "rmdir", "rename", "link", "open", "write", "fallocate", "copyFileRange", "ioctl",
    ]

    @Test(arguments: FaultCase.all) func aCallFails(_ operation: FaultCase) throws {
        let tree = try FaultTree(below: operation.parent)
        for mode in FaultMode.allCases where mode != .spare || !Self.acting.isDisjoint(with: operation.requests) {
            let clean = try operation.run(on: tree, .none, mode)
            guard case .success = clean.result else {
                Issue.record("\(operation.name), \(mode): \(clean.result)")
                continue
            }
            #expect(
                clean.left.isNothing != (operation.keeps != nil) && clean.busy.isEmpty, "\(operation.name): \(clean.left), \(clean.busy)")
            #expect(clean.rights.known == clean.rights.stored, "\(operation.name): \(clean.rights)")
            for (index, call) in clean.calls.enumerated() {
                let number = index + 1
                var rules: [(Faults.Rule, Errno, Bool)] = [(.call(number, .io), .io, false)]
                switch mode {
                case .cold:
                    rules.append((.callsFrom(number, .io), .io, true))
                    for error in Self.errors(of: call) { rules.append((.call(number, error), error, false)) }
                case .warm: rules.append((.call(number, .intr), .intr, false))
                case .spare: break
                }
                for (rule, error, isOver) in rules {
                    let run = try operation.run(on: tree, rule, mode)
                    let problems = operation.problems(of: run, error: error, clean: clean, isOver: isOver)
                    let place = "\(operation.name), \(mode), call \(number) of \(clean.calls.count) (\(call))"
                    for problem in problems {
                        Issue.record("\(place): \(error.name)\(isOver ? " and so on" : ""): \(problem)")
                    }
                }
            }
        }
    }

    /// Requests that are no operation on objects.
    private static let others: Set<String> = ["initialized", "destroyed", "willServe", "repeated"]

    @Test func everyRequestIsCovered() throws {
        let covered = Set(FaultCase.all.flatMap(\.requests))
        #expect(covered.isDisjoint(with: Self.others))
        let served = try Self.servedRequests()
        #expect(served.count > 30, "\(served)")
        #expect(served.subtracting(covered).subtracting(Self.others).isEmpty, "without a case in FaultCase.all")
        #expect(covered.subtracting(served).isEmpty, "no request of the kernel's")
    }

    /// The methods that `RequestDispatch` overrides, wherever it stands.
    private static func servedRequests() throws -> Set<String> {
        var found: Set<String> = []
        func look(_ path: String) throws {
            for name in FaultTree.names(path) {
                if !name.hasSuffix(".swift") {
                    try look(path + "/" + name)
                    continue
                }
                let text = String(decoding: try Syscall.readAll(path: path + "/" + name), as: UTF8.self)
                for line in text.split(separator: "\n") {
                    guard let start = line.firstRange(of: "override public func ")?.upperBound else { continue }
                    found.insert(String(line[start...].prefix { $0.isLetter }))
                }
            }
        }
        try look(Repository.top.path + "/Sources/FileSystem")
        return found
    }

    /// A kind of attribute that is added must be given a case here, or this does not compile.
    @Test func everyKindOfAttributeIsCovered() {
        let names = FaultCase.all.map(\.name)
        func word(_ kind: XattrName) -> String? {
            switch kind {
            case .acl: "a list"
            case .posixACL(let isDefault), .xfsACL(let isDefault): isDefault ? "a default ACL" : "a POSIX ACL"
            case .nfs4: "a list in a form of NFSv4"
            case .smbACL: "a list for Samba"
            case .portableACL: "a list for copies"
            case .flags: "flags"
            case .ownerGUID: "the owner"
            case .groupGUID: "the group"
            case .effective: nil
            case .backup: "a mark"
            case .user: "a user's attribute"
            case .trusted, .security: "root's attribute"
            // A request of the one file follows where it did not succeed, so it has no error of its own.
            case .lists: nil
            // It has no removal: "setxattr of a list that was read".
            case .exchange: nil
            // Refused or unknown: nothing is done.
            case .protected, .unsupported, .tooLong: nil
            }
        }
        let kinds: [XattrName] = [
            .acl, .posixACL(isDefault: false), .posixACL(isDefault: true), .nfs4(.named), .smbACL, .portableACL, .flags, .ownerGUID,
            .groupGUID, .effective, .lists, .exchange, .backup(.robots), .user([]), .trusted([]), .security([]), .protected,
            .unsupported, .tooLong,
        ]
        for kind in kinds.compactMap(word) {
            for request in ["setxattr", "removexattr"] { #expect(names.contains("\(request) of \(kind)"), "\(request) of \(kind)") }
        }
    }
}
