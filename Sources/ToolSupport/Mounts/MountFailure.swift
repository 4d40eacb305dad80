/// Why a mount failed.
package struct MountFailure: Error {
    package var status: Int32
    package var message: String

    package init(status: Int32, message: String) { (self.status, self.message) = (status, message) }
}
