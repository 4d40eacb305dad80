// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "decide",
    dependencies: [.package(name: "aclfs", path: "../..")],
    targets: [.executableTarget(name: "decide", dependencies: [.product(name: "Authorization", package: "aclfs")])]
)
