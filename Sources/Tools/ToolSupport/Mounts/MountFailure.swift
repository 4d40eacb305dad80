/// Why a mount failed.
package struct MountFailure: Error {
    package var status: Int32
    package var message: String
    /// Further lines.
    package var details: [String]

    package init(status: Int32, message: String, details: [String] = []) {
        (self.status, self.message, self.details) = (status, message, details)
    }
}
