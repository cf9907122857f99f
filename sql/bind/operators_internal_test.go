package bind

import (
	"slices"
	"testing"

	"github.com/smolwc/smolwc/sql/parse"
)

// Every operator is compiled: by its entry in the registry, or in compileNode.
func TestEveryOperatorIsCompiled(t *testing.T) {
	inPlace := []parse.Operator{parse.OpNull, parse.OpBool, parse.OpFields, parse.OpStar, parse.OpLambda}
	for op := parse.OpLiteral; op <= parse.OpSample; op++ {
		if (allFunctions().operators[op] == nil) != slices.Contains(inPlace, op) {
			t.Errorf("operator %d is not compiled in one place", op)
		}
	}
}

// A function is compiled in one way, and what is said about it goes with that way.
func TestFunctionsAreCompiledInOneWay(t *testing.T) {
	for name, b := range allFunctions().byName {
		if b.name != name {
			t.Errorf("%s is listed as %s", b.name, name)
		}
		if b.complete != nil && (b.compile != nil || b.forms != nil || b.most < 1) {
			t.Errorf("%s is an aggregate function and another one, or takes no argument", name)
		}
		if b.complete == nil && (b.most > 0 || b.respectNulls || b.ignoreNulls || b.ordered || b.inViews) {
			t.Errorf("%s is described as an aggregate function, and is not one", name)
		}
		if b.exists() && b.instead != "" || !b.exists() && !b.unsteady && b.instead == "" {
			t.Errorf("%s is listed without a reason", name)
		}
	}
}
