package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// typesNotInBigtable are types that Bigtable's GoogleSQL does not have.
var typesNotInBigtable = []string{"DATETIME", "NUMERIC", "INTERVAL"}

// notInBigtable are functions that Bigtable's GoogleSQL does not have.
// https://cloud.google.com/bigtable/docs/reference/sql/functions-all
var notInBigtable = strings.Fields(`CONTAINS_SUBSTR CURRENT_DATETIME DATE_BUCKET DATETIME DATETIME_ADD DATETIME_DIFF DATETIME_SUB
	DATETIME_TRUNC EDIT_DISTANCE FORMAT_DATETIME PARSE_DATETIME GENERATE_UUID GROUPING JSON_EXTRACT JUSTIFY_DAYS JUSTIFY_HOURS JUSTIFY_INTERVAL MAKE_INTERVAL
	JSON_EXTRACT_ARRAY JSON_EXTRACT_SCALAR JSON_EXTRACT_STRING_ARRAY RANGE_BUCKET TIMESTAMP_BUCKET`)

// Beyond is the first function or type in the text that Bigtable does not have; nil: there is
// none.
func (q *Query) Beyond() (first *parse.Beyond) {
	q.Parsed.EachNode(func(n *parse.Node) {
		what := n.Text
		switch n.Op {
		case parse.OpCast, parse.OpSafeCast, parse.OpArray, parse.OpStruct:
			of := slices.IndexFunc(typesNotInBigtable, func(name string) bool { return strings.Contains(what, name) })
			if of < 0 {
				return
			}
			what = typesNotInBigtable[of]
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
