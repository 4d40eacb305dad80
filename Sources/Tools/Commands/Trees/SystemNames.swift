import ACLFormats
import Authorization
import Identity

/// Names of the account databases, cached: a tree contains the same few identities again and again.
package final class SystemNames: IdentityNames {
    private struct Question: Hashable {
        var name: String
        var kind: IdentityKind?
    }
    private let accounts = AccountIdentityNames()
    private var identities: [Question: GUID?] = [:]
    private var names: [GUID: IdentityName?] = [:]

    package init() {}

    package func identity(named name: String, kind: IdentityKind?) -> GUID? {
        let question = Question(name: name, kind: kind)
        if let known = identities[question] { return known }
        let answer = accounts.identity(named: name, kind: kind)
        identities.updateValue(answer, forKey: question)
        return answer
    }

    package func name(of identity: GUID) -> IdentityName? {
        if let known = names[identity] { return known }
        let answer = accounts.name(of: identity)
        names.updateValue(answer, forKey: identity)
        return answer
    }
}
