print("aclfs")
