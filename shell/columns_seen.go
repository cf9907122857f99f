package shell

import (
	"slices"
	"time"

	"github.com/smolwc/smolwc/ql/exec"
	"github.com/smolwc/smolwc/query"
)

// seenColumns are the qualifiers that recent statements showed, by table and family,
// for completion.
type seenColumns map[columnsOf][]string

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

type columnsOf struct{ table, family string }

const (
	// completionTime bounds the database reads of one completion.
	completionTime = 50 * time.Millisecond
	// completionKeys is the maximum number of proposed row keys.
	completionKeys = 50
	// completionItems is the maximum number of proposed zones and items: if there are
	// more, none of them is proposed.
	completionItems = 1000
	// completionRows is the number of rows of a group of keys that are read for the
	// qualifiers of a family.
	completionRows = 20
)

const (
	// seenRows is the number of a statement's rows that are examined.
	seenRows = 100
	// seenQualifiers is the number of latest qualifiers that are kept for a family.
	seenQualifiers = 500
)
