package server

import (
	"maps"
	"slices"
)

// HasNeed reports whether a method is in the list of needs.
func HasNeed(method string) bool { return needs[method] != needUnknown }

// MethodsWithNeeds are the methods of the list.
func MethodsWithNeeds() []string { return slices.Collect(maps.Keys(needs)) }
