/// The command line of `aclfs sandbox run`, as bytes.
package struct SandboxRunRequest {
    package var profile: [UInt8]
    package var bundle: [UInt8]?
    package var home: [UInt8]?
    package var layout: [UInt8]?
    package var mount: [UInt8]?
    /// The program and its arguments.
    package var command: [[UInt8]]

    package init(
        profile: [UInt8], bundle: [UInt8]?, home: [UInt8]?, layout: [UInt8]?, mount: [UInt8]?, command: [[UInt8]]
    ) {
        (self.profile, self.bundle, self.home) = (profile, bundle, home)
        (self.layout, self.mount, self.command) = (layout, mount, command)
    }
}
