package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// typesNotInBigtable are types that Bigtable's GoogleSQL does not have.
var typesNotInBigtable = []string{"DATETIME", "NUMERIC", "INTERVAL", "JSON"}

// notInBigtable are functions that Bigtable's GoogleSQL does not have.
// https://cloud.google.com/bigtable/docs/reference/sql/functions-all
var notInBigtable = strings.Fields(`CONTAINS_SUBSTR CURRENT_DATETIME DATE_BUCKET DATETIME DATETIME_ADD DATETIME_DIFF DATETIME_SUB
	DATETIME_TRUNC EDIT_DISTANCE FORMAT_DATETIME PARSE_DATETIME GENERATE_UUID GROUPING JUSTIFY_DAYS JUSTIFY_HOURS JUSTIFY_INTERVAL MAKE_INTERVAL
	JSON_EXTRACT_ARRAY JSON_EXTRACT_STRING_ARRAY JSON_VALUE_ARRAY PARSE_JSON RANGE_BUCKET TIMESTAMP_BUCKET TO_JSON
	JSON_ARRAY JSON_ARRAY_APPEND JSON_ARRAY_INSERT JSON_KEYS JSON_OBJECT JSON_REMOVE JSON_SET JSON_STRIP_NULLS JSON_TYPE
	BOOL FLOAT32 FLOAT64 INT64 LAX_BOOL LAX_FLOAT32 LAX_FLOAT64 LAX_INT64 LAX_STRING BOOL_ARRAY FLOAT32_ARRAY FLOAT64_ARRAY INT64_ARRAY
	STRING_ARRAY LAX_BOOL_ARRAY LAX_FLOAT32_ARRAY LAX_FLOAT64_ARRAY LAX_INT64_ARRAY LAX_STRING_ARRAY`)

// Beyond is the first function or type in the text that Bigtable does not have; nil: there is
// none.
func (q *Query) Beyond() (first *parse.Beyond) {
	q.Parsed.EachNode(func(n *parse.Node) {
		what := n.Text
		switch n.Op {
		case parse.OpCast, parse.OpSafeCast, parse.OpArray, parse.OpStruct:
			words := strings.FieldsFunc(what, func(r rune) bool { return strings.ContainsRune("<>, ", r) })
			of := slices.IndexFunc(words, func(word string) bool { return slices.Contains(typesNotInBigtable, word) })
			if of < 0 {
				return
			}
			what = words[of]
		case parse.OpInterval:
			if what = "INTERVAL"; !strings.Contains(n.Text, " TO ") {
				return
			}
		case parse.OpName: // without brackets
			if what = strings.ToUpper(what); what != "CURRENT_DATETIME" {
				return
			}
		case parse.OpCall:
			if !slices.Contains(notInBigtable, strings.TrimPrefix(what, "SAFE.")) {
				return
			}
		default:
			return
		}
		if first == nil || n.Pos < first.Pos {
			first = &parse.Beyond{What: what, Pos: n.Pos}
		}
	})
	return first
}
