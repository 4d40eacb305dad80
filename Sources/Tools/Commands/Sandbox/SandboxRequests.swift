/// A command line of `aclfs sandbox check`. Paths are bytes.
package struct SandboxCheckRequest {
    var json: Bool
    /// Also the keys that are not about files.
    var isVerbose: Bool
    var bundle: String?
    var home: String?
    var layout: String?
    var profile: [UInt8]
    var paths: [[UInt8]]

    package init(
        json: Bool, isVerbose: Bool = false, bundle: String?, home: String?, layout: String?, profile: [UInt8], paths: [[UInt8]]
    ) {
        (self.json, self.isVerbose, self.bundle, self.home) = (json, isVerbose, bundle, home)
        (self.layout, self.profile, self.paths) = (layout, profile, paths)
    }
}

/// A command line of `aclfs sandbox grant add`.
package struct GrantAddRequest {
    var bundle: String
    var readOnly: Bool
    var readWrite: Bool
    /// Whether the grants follow what is at the paths now.
    var follow: Bool
    var expires: String?
    var paths: [[UInt8]]

    package init(bundle: String, readOnly: Bool, readWrite: Bool, follow: Bool, expires: String?, paths: [[UInt8]]) {
        (self.bundle, self.readOnly, self.readWrite, self.follow) = (bundle, readOnly, readWrite, follow)
        (self.expires, self.paths) = (expires, paths)
    }
}

/// A command line of `aclfs sandbox grant list`.
package struct GrantListRequest {
    var json: Bool
    var bundle: String?
    /// nil: all mounts that the caller may ask.
    var mountpoint: [UInt8]?

    package init(json: Bool, bundle: String?, mountpoint: [UInt8]?) {
        (self.json, self.bundle, self.mountpoint) = (json, bundle, mountpoint)
    }
}

/// A command line of `aclfs sandbox grant remove`.
package struct GrantRemoveRequest {
    var bundle: String
    var below: Bool
    var paths: [[UInt8]]

    package init(bundle: String, below: Bool, paths: [[UInt8]]) {
        (self.bundle, self.below, self.paths) = (bundle, below, paths)
    }
}
