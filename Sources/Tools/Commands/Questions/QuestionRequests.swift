/// A command line of `aclfs explain`. Words are bytes.
package struct ExplainRequest {
    var json: Bool
    var subject: String?
    var whoCan: Bool
    /// -R: also all below the path.
    var isRecursive: Bool
    var last: Bool
    var words: [[UInt8]]

    package init(json: Bool, subject: String?, whoCan: Bool, isRecursive: Bool, last: Bool, words: [[UInt8]]) {
        (self.json, self.subject, self.whoCan, self.isRecursive) = (json, subject, whoCan, isRecursive)
        (self.last, self.words) = (last, words)
    }
}

/// A command line of `aclfs effective`. The path is bytes.
package struct EffectiveRequest {
    var json: Bool
    var subject: String?
    var path: [UInt8]

    package init(json: Bool, subject: String?, path: [UInt8]) {
        (self.json, self.subject, self.path) = (json, subject, path)
    }
}

/// A command line of `aclfs status`.
package struct StatusRequest {
    var json: Bool
    /// nil: all mounts that the caller may ask.
    var mountpoint: [UInt8]?

    package init(json: Bool, mountpoint: [UInt8]?) { (self.json, self.mountpoint) = (json, mountpoint) }
}
