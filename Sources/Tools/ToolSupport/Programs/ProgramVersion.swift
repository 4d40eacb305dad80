/// The version of this program, as commands print it and daemons answer it.
package enum ProgramVersion {
    package static let text = "0.1.0"
    /// The variable by which `aclfs` tells `aclfsd` its own version. A wrong one can do no more than refuse a mount.
    package static let ofCaller = "ACLFS_STARTED_BY"
}
