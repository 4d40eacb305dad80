/// The version of this program, as commands print it and daemons answer it.
package enum ProgramVersion {
    package static let text = "0.1.0"
}
