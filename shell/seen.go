package shell

import (
	"slices"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/ql/exec"
)

// seenColumns are the qualifiers that statements showed lately, by table and family, for
// completion.
type seenColumns map[columnsOf][]string

type columnsOf struct{ table, family string }

const (
	// seenRows is how many rows of a statement are looked at.
	seenRows = 100
	// seenQualifiers is how many are kept of a family, the latest ones.
	seenQualifiers = 500
)

// row takes note of the columns of one of a statement's first rows.
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
