package ql_test

import (
	"testing"

	"github.com/smolwc/smolwc/query/ql"
)

func TestEveryStatementHasHelp(t *testing.T) {
	for _, verb := range append(ql.Verbs(), "lookup", "deleterow") {
		if page, err := ql.HelpPage(verb); verb != "help" && (err != nil || page == "") {
			t.Errorf("help %s: %v", verb, err)
		}
	}
}
