package lex_test

import (
	"strings"
	"testing"

	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/ql/lex"
)

// TestNil calls everything with nil and with zero values: nothing panics.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{
			lex.Caret, lex.Clip, lex.Complete, lex.CompleteTyped, lex.CutSuffix, lex.CutTime, lex.EndsPath, lex.ErrorAt, lex.Escape, lex.FormatTimestamp, lex.IsInteger, lex.OpenMapKey,
			lex.IsPrintable, lex.IsQuery, lex.IsQueryWord, lex.QueryWords,
			lex.IsReserved, lex.Join, lex.LastStatement, lex.NewReader, lex.OneLine, lex.ParseInteger, lex.ParseTime,
			lex.PartialTokens, lex.PlainLiteral, lex.Printable, lex.QuoteColumn, lex.QuoteKey, lex.QuoteName, lex.QuotePath, lex.QuoteQualifier,
			lex.QuoteText, lex.Recover, lex.QuoteValue, lex.QuoteValueAs, lex.Spelling, lex.Tokens, lex.TypedLiteral, lex.TypedReader,
			lex.WordLiteral,
		},
		Usable: []any{
			func(t testing.TB) *lex.Reader {
				return lex.NewReader(strings.NewReader("tables"), func(string) bool { return true })
			},
		},
	}
	p.Run(t, ".")
}
