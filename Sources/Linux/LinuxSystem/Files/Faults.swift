#if ACLFS_FAULTS
    import CLinux

    /// Has system calls of the calling thread fail without being made. Tests alone use it; the program that is installed does not
    /// have it (docs/decisions/0024-faults-at-compile-time.md).
    ///
    /// A call is what one function of this target makes, with what the C shim tries instead on older kernels. Calls that cannot
    /// usefully fail are not counted: close(2), clocks, locks, the ids of the thread.
    package final class Faults {
        /// Which calls fail.
        package enum Rule: Sendable {
            case none
            /// The call with this number, the first being 1.
            case call(Int, Errno)
            /// That call and all that follow, as on a disk that has failed.
            case callsFrom(Int, Errno)
            /// All calls of one function, by its full name: `openat(_:_:_:mode:)`. Not with EINTR, after which it is called again.
            case callsOf(String, Errno)
        }

        private let rule: Rule
        /// The functions whose calls were made or failed, in their order.
        package private(set) var calls: [String] = []
        /// How many failed.
        package private(set) var failures = 0

        private init(_ rule: Rule) { self.rule = rule }

        /// Runs `body` on this thread with calls that fail. What other threads do for it is not concerned.
        /// - Returns: what was called and what failed, beside the body's own result.
        package static func with<Value, Failure: Error>(
            _ rule: Rule, _ body: () throws(Failure) -> Value
        ) -> (result: Result<Value, Failure>, faults: Faults) {
            let faults = Faults(rule)
            let outer = aclfs_thread_faults()
            aclfs_set_thread_faults(Unmanaged.passUnretained(faults).toOpaque())
            defer {
                aclfs_set_thread_faults(outer)
                withExtendedLifetime(faults) {}
            }
            do throws(Failure) { return (.success(try body()), faults) } catch { return (.failure(error), faults) }
        }

        /// Counts a call that is about to be made.
        /// - Returns: what it fails with instead.
        static func next(_ name: StaticString) -> Errno? {
            guard let faults = aclfs_thread_faults() else { return nil }
            return Unmanaged<Faults>.fromOpaque(faults).takeUnretainedValue().next(name)
        }

        private func next(_ name: StaticString) -> Errno? {
            let name = String(describing: name)
            calls.append(name)
            let fault: Errno? =
                switch rule {
                case .none: nil
                case .call(let number, let error): calls.count == number ? error : nil
                case .callsFrom(let first, let error): calls.count >= first ? error : nil
                case .callsOf(let function, let error): name == function ? error : nil
                }
            if fault != nil { failures += 1 }
            return fault
        }
    }
#endif
