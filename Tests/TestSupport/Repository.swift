import Foundation

/// Where this repository's files lie, for tests of what it documents and ships.
public enum Repository {
    public static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    public static let tests = top.appendingPathComponent("Tests")
}
