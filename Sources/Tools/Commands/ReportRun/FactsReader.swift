import LinuxSystem

/// Why the facts of an object cannot be read.
struct UnreadFacts: Error {
    var reason: String
    init(_ reason: String) { self.reason = reason }
    init(_ error: Errno) { reason = error.text }
}

/// Reads what decides about an object.
protocol FactsReader: AnyObject {
    /// The classes of all objects that were read.
    var classes: ObjectClasses { get }
    /// Sentences about what was noticed.
    var notes: [String] { get }
    /// - Parameters:
    ///   - node: any descriptor of the object.
    ///   - status: its status.
    /// - Returns: the number of its class.
    func read(_ node: SharedDescriptor, _ status: FileStatus) throws(UnreadFacts) -> Int
}
