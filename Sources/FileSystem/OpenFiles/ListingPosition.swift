import BackingStore
import LinuxSystem

/// How far an open directory has been listed, and what its cookies stand for. They are below 2^31, so that programs with 32 bits can list it
/// (docs/decisions/0033-small-cookies.md).
struct ListingPosition {
    private var cookies: DirectoryCookies
    /// Whether the descriptor was asked what its directory has. A listing from the beginning needs no answer.
    private var isCertain = false
    /// The descriptor's position; nil: unknown. Unknown at first: Btrfs lists the names of open(2) until the descriptor is moved.
    var ofDescriptor: Int64?
    /// The last cookie that was added to a reply, and its position. The next request nearly always begins there.
    var last: (cookie: UInt64, position: Int64) = (0, 0)
    /// The position behind the first name, which may collide with that name: where that one is, nothing tells.
    private var second: (cookie: UInt64, position: Int64) = (0, 0)
    private var numbered: NumberedCookies

    init(_ cookies: DirectoryCookies, _ charge: CookieRoom.Charge) { (self.cookies, numbered) = (cookies, NumberedCookies(charge)) }

    func save() -> (last: SavedCookie, second: SavedCookie, numbered: [Int64]) {
        (
            SavedCookie(position: last.position, cookie: last.cookie), SavedCookie(position: second.position, cookie: second.cookie),
            numbered.positions
        )
    }

    /// - Returns: false if there is no room for it.
    mutating func restore(last: SavedCookie, second: SavedCookie, numbered positions: [Int64]) -> Bool {
        (self.last, self.second) = ((last.cookie, last.position), (second.cookie, second.position))
        return numbered.restore(positions)
    }

    /// The position in the backing directory that a cookie stands for.
    /// - Parameters:
    ///   - cookie: any number.
    ///   - descriptor: the open directory, which may be moved.
    ///   - colliding: of the directory.
    mutating func find(_ cookie: UInt64, _ descriptor: Int32, _ colliding: CollidingCookies?) throws(Errno) -> Int64 {
        let plain = Int64(bitPattern: cookie)
        switch cookies {
        case .small: return plain
        case .opaque:
            if cookie == 0 { numbered.rewind() }
            return numbered.position(of: cookie) ?? (cookie == last.cookie ? last.position : plain)
        case .hashed:
            if cookie == 0 || cookie > DirectoryCookies.largest { return plain }
            if cookie == last.cookie { return last.position }
            if let position = colliding?.position(of: cookie) { return position }
            if cookie == second.cookie { return second.position }
            try ask(descriptor)
            guard cookies == .hashed else { return plain }
            // Whether the name after the next one collides is told by where exactly the next one is.
            let found = try Syscall.findNextEntry(descriptor, from: plain << 32)
            ofDescriptor = found
            return found
        }
    }

    /// Leaves the descriptor where it is.
    private mutating func ask(_ descriptor: Int32) throws(Errno) {
        if isCertain { return }
        let position = try Syscall.lseek(descriptor, offset: 0, whence: Seek.current)
        cookies = try cookies.ofDirectory(descriptor)
        try Syscall.lseek(descriptor, offset: position, whence: Seek.set)
        isCertain = true
    }

    /// The cookie of a position.
    /// - Parameters:
    ///   - position: behind a name.
    ///   - previous: the position before that name.
    ///   - descriptor: the open directory.
    ///   - colliding: the directory's table, if it has one.
    ///   - make: makes one.
    @inline(__always)
    mutating func cookie(
        of position: Int64, after previous: Int64, _ descriptor: Int32, _ colliding: inout CollidingCookies?, make: () -> CollidingCookies
    ) throws(Errno) -> UInt64 {
        switch cookies {
        case .small: return UInt64(bitPattern: position)
        case .opaque: return try numbered.cookie(of: position)
        case .hashed:
            let hash = UInt64(bitPattern: position) >> 32
            if hash == 0 {
                try ask(descriptor)
                if cookies == .small { return UInt64(bitPattern: position) }
            }
            if previous == 0 { second = (hash, position) }
            // A listing begins at 0.
            let isColliding = hash == UInt64(bitPattern: previous) >> 32 || hash == 0
            if !isColliding, colliding == nil { return hash }
            let table = colliding ?? make()
            colliding = table
            return table.cookie(of: position, isColliding: isColliding)
        }
    }
}
