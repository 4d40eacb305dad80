/// Exit codes of mount(8), which callers of these commands expect.
package enum MountExit {
    package static let wrongUse: Int32 = 1
    package static let systemError: Int32 = 2
    package static let failed: Int32 = 32
}
