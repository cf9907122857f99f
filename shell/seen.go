package shell

import (
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql/exec"
)

// seenColumns are the qualifiers that recent statements showed, by table and family,
// for completion.
type seenColumns map[columnsOf][]string

type columnsOf struct{ table, family string }

const (
	// seenRows is the number of a statement's rows that are examined.
	seenRows = 100
	// seenQualifiers is the number of latest qualifiers that are kept for a family.
	seenQualifiers = 500
)

// row records the columns of one of a statement's first rows.
func (s seenColumns) row(stream *exec.RowStream, r *query.Row) {
	if s == nil || stream.Count() > seenRows {
		return
	}
	for c := range r.Cells() {
		s.add(columnsOf{stream.Table.Name, c.Family}, c.Qualifier)
	}
}

func (s seenColumns) add(of columnsOf, qualifier string) {
	known := s[of]
	if slices.Contains(known, qualifier) {
		return
	}
	if len(known) == seenQualifiers {
		known = slices.Delete(known, 0, 1)
	}
	s[of] = append(known, qualifier)
}
