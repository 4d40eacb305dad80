/// What capabilities take from one check (docs/reference/authorization.md 3.12).
struct Lift {
    /// Rights on the object that neither entries nor mode bits decide.
    var rights: Rights = []
    /// The object's entries do not decide its removal.
    var passesObject = false
    /// Neither entries nor mode bits of the directory decide a removal.
    var passesDirectory = false
    /// The caller counts as the owner of the object.
    var owns = false
    /// The sticky bit of the directory does not forbid the removal of the object.
    var passesSticky = false

    var isEmpty: Bool { rights.isEmpty && !passesObject && !passesDirectory && !owns }
}
