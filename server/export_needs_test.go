package server

// HasNeed reports whether a method is in the list of needs.
func HasNeed(method string) bool { return known(method) }

// MethodsWithNeeds are the methods of the list.
func MethodsWithNeeds() []string { return methods() }
