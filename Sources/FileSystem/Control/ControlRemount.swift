import ACLFormats
import Authorization
import ControlProtocol
import LinuxSystem
import MountOptions

extension FileSystem {
    fileprivate var isWrittenThroughViews: Bool { mounts.writesThroughView(of: kernel) }
}

extension ControlServer {
    /// Changes the options that each decision reads anew. Every other option must have its present value or be left out. With `check`
    /// nothing changes: the command checks first, because it also changes the kernel's flags.
    func remount(_ message: RemountMessage) throws(ControlFailure) -> RemountAnswer {
        let before = fileSystem.volume
        let words: [String]
        do { words = try MountOptionText.split(message.options).filter { !$0.isEmpty } } catch {
            throw ControlFailure(.inval, error.description)
        }
        var options = fileSystem.options
        options.volume = before
        for word in words {
            let last = options
            do { try options.apply(MountOptionText.join([word])) } catch {
                throw ControlFailure(.inval, error.description)
            }
            guard options.fixedWords == last.fixedWords else {
                let name = escapedName(word.utf8)
                throw ControlFailure(.inval, "'\(name)' cannot change while mounted; unmount and mount again")
            }
        }
        do { try options.checkSetID() } catch { throw ControlFailure(.inval, error.description) }
        let new = options.volume
        guard new.securelevel >= before.securelevel else {
            throw ControlFailure(.perm, "securelevel may only rise while mounted; it is \(before.securelevel)")
        }
        var isBusy = false
        let becomesReadOnly = new.isReadOnly && !before.isReadOnly
        if message.isCheck {
            isBusy = becomesReadOnly && fileSystem.isWrittenThroughViews
        } else {
            fileSystem.changeVolume { volume in
                // The kernel checks the mount itself for files open for writing, but not the views of the mount.
                isBusy = becomesReadOnly && fileSystem.isWrittenThroughViews
                if isBusy { return }
                volume.isReadOnly = new.isReadOnly
                volume.forbidsExecution = new.forbidsExecution
                // Another remount may have raised the option meanwhile.
                volume.securelevel = max(volume.securelevel, new.securelevel)
            }
        }
        if isBusy {
            throw ControlFailure(.busy, "a program in aclfs sandbox run has a file of this mount open for writing")
        }
        return RemountAnswer(wasReadOnly: before.isReadOnly)
    }
}
