package querytest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// A history that no order explains is reported as not linear.
func TestHistoriesThatAreNotLinear(t *testing.T) {
	op := func(call, back int64, in Call, out Answer) porcupine.Operation {
		return porcupine.Operation{Input: in, Output: out, Call: call, Return: back}
	}
	put := func(row int, n int64) Call { return Call{Kind: "put", Row: row, N: n} }
	get := func(row int) Call { return Call{Kind: "get", Row: row} }
	told := func(ns ...int64) (out Answer) {
		for i, n := range ns {
			out.Numbers[i] = Number{n, true}
		}
		return out
	}
	pending := Answer{Pending: true}
	for _, test := range []struct {
		name    string
		history []porcupine.Operation
		linear  bool
	}{
		{"a pending write that happened", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), told(1))}, true},
		{"a pending write that did not", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), Answer{})}, true},
		{"a pending write that happens after the kill", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), Answer{}), op(12, 13, get(0), told(1))}, false},
		{"a pending write that was seen and is gone", []porcupine.Operation{op(1, 9, put(0, 1), pending), op(10, 11, get(0), told(1)), op(12, 13, get(0), Answer{})}, false},
		{"a write that was acknowledged and is gone", []porcupine.Operation{op(1, 2, put(0, 1), Answer{}), op(10, 11, get(0), Answer{})}, false},
		{"half of an exchange", []porcupine.Operation{op(1, 2, put(0, 1), Answer{}), op(3, 4, put(1, 2), Answer{}),
			op(5, 9, Call{Kind: "exchange"}, pending), op(10, 11, Call{Kind: "both"}, told(2, 2))}, false},
	} {
		if got := porcupine.CheckOperations(pairs, test.history); got != test.linear {
			t.Errorf("%s: linear %v", test.name, got)
		}
	}
}
