/// A command line of `aclfs purge`. Paths are bytes.
package struct PurgeRequest {
    var paths: [[UInt8]]
    /// Seconds for which nothing was done with an object that is removed.
    var age: Int64
    var isDryRun: Bool
    var isVerbose: Bool
    var json: Bool

    /// As the command line spells it.
    package static let usualAge = "3d"

    package init(paths: [[UInt8]], age: Int64, isDryRun: Bool, isVerbose: Bool, json: Bool) {
        (self.paths, self.age, self.isDryRun, self.isVerbose, self.json) = (paths, age, isDryRun, isVerbose, json)
    }

    /// - Parameter text: a number and a unit, as `3d`.
    /// - Returns: seconds; nil if it is no age.
    package static func age(_ text: String) -> Int64? {
        guard let unit = text.last, let length: Int64 = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800][unit] else { return nil }
        let digits = text.dropLast()
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let count = Int64(digits), count < 1 << 32 else { return nil }
        return count * length
    }
}
