import Authorization
import FuseSession
import LinuxSystem

/// What a request would make of the facts of an object, computed without the metadata lock: it may take longer than others should wait.
struct PlannedChange<Value> {
    fileprivate let facts: ObjectFacts?
    fileprivate let value: Value
    fileprivate let make: (ObjectFacts) -> Value

    /// What the request makes of facts that were read under the lock: computed again if they are others meanwhile.
    func result(for facts: ObjectFacts) -> Value { facts == self.facts ? value : make(facts) }
}

extension MetadataChanges {
    /// Computes what a request would make of an object, without the metadata lock. Call it before the lock is taken.
    ///
    /// It decides nothing: the facts are compared with those that are judged. While others change the object all the time it is computed again a
    /// few times, and then under the lock.
    /// - Parameter make: depends on the facts alone.
    func plan<Value>(for id: NodeID, _ make: @escaping (ObjectFacts) -> Value) throws(Errno) -> PlannedChange<Value> {
        func facts() throws(Errno) -> ObjectFacts { try share.lock.withReadLock { () throws(Errno) in try loader.load(id).facts } }
        var known = try facts()
        var value = make(known)
        for _ in 0..<2 {
            let now = try facts()
            if now == known { break }
            known = now
            value = make(now)
        }
        return PlannedChange(facts: known, value: value, make: make)
    }
}
