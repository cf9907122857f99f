package bind

import (
	"slices"
	"strings"

	"github.com/smolwc/smolwc/sql/parse"
)

// notInBigtable are functions that Bigtable's GoogleSQL does not have.
// https://cloud.google.com/bigtable/docs/reference/sql/functions-all
var notInBigtable = strings.Fields(`CONTAINS_SUBSTR DATE_BUCKET EDIT_DISTANCE GENERATE_UUID GROUPING JSON_EXTRACT
	JSON_EXTRACT_ARRAY JSON_EXTRACT_SCALAR JSON_EXTRACT_STRING_ARRAY RANGE_BUCKET TIMESTAMP_BUCKET`)

// Beyond is the first call in the text of a function that Bigtable does not have; nil: there is
// none.
func (q *Query) Beyond() (first *parse.Beyond) {
	q.Parsed.EachNode(func(n *parse.Node) {
		if n.Op == parse.OpCall && slices.Contains(notInBigtable, strings.TrimPrefix(n.Text, "SAFE.")) && (first == nil || n.Pos < first.Pos) {
			first = &parse.Beyond{What: n.Text, Pos: n.Pos}
		}
	})
	return first
}
