/// A mount or an unmount that failed, with an exit status of mount(8).
package struct MountFailure: Error {
    package var status: Int32
    package var message: String
    /// Further lines.
    package var details: [String]

    package init(status: Int32, message: String, details: [String] = []) {
        (self.status, self.message, self.details) = (status, message, details)
    }

    /// Prints the message.
    /// - Returns: the exit status.
    package func report() -> Int32 {
        printError("aclfs: \(message)")
        for line in details { printError(line) }
        return status
    }
}
