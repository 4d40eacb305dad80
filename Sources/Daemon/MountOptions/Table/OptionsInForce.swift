import Authorization

extension MountOptions {
    /// The options in force, in the words of `-o`; the kernel's own are asked of the kernel.
    /// - Parameter volume: as it is now.
    public func words(volume: VolumeState) -> [String] {
        var now = self
        now.volume = volume
        return OptionTable.rows.compactMap { row in
            switch row.shown {
            case .always: row.inForce(now)
            case .unlessDefault: row.inForce(now) == row.inForce(MountOptions()) ? nil : row.inForce(now)
            case .never, .kernel, .kernelWhenSet: nil
            }
        }
    }

    /// Those that stay as they are until unmount, shown or not.
    public var fixedWords: [String] {
        OptionTable.rows.filter { $0.remount == .fixed }.compactMap { $0.inForce(self) }
    }

    var sandboxWords: [String] {
        OptionTable.rows.filter { $0.subject == .sandbox }.compactMap { $0.inForce(self) }
    }
}
