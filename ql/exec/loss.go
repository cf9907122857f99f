package exec

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// mayHide asks for confirmation of a change that hides data of a table, unless the
// statement ends in yes. The question says how much data.
func (r *Runner) mayHide(ctx context.Context, st ql.Statement, yes bool, t schema.Table, plan schema.Plan) error {
	if yes {
		return nil
	}
	if err := r.writable(); err != nil {
		return err
	}
	var losses []string
	_, takes := plan.Split(&schema.Schema{Tables: []schema.Table{t}})
	for _, c := range takes.Changes {
		loss, err := r.loss(ctx, t, c)
		if err != nil {
			return err
		}
		if loss != "" {
			losses = append(losses, loss)
		}
	}
	if len(losses) == 0 {
		return nil
	}
	what := strings.Join(losses, ", and ") + ", for good"
	return r.ask(st, yes, what+"; change it?", what, "nothing was changed")
}

// loss describes what a change hides; "" if it hides nothing.
func (r *Runner) loss(ctx context.Context, t schema.Table, c schema.Change) (string, error) {
	switch {
	case c.Kind == schema.SetChangeStream && c.NewChangeStream == 0:
		return fmt.Sprintf("the changes of table %s would be lost", t.Name), nil
	case c.Kind == schema.SetChangeStream:
		return fmt.Sprintf("changes of table %s older than %s would be lost", t.Name, schema.FormatAge(c.NewChangeStream)), nil
	case r.Remote != nil:
		return r.remoteLoss(ctx, t, c)
	}
	n, exact, err := r.DB.EstimateHidden(ctx, c)
	switch {
	case err != nil || exact && n == 0:
		return "", err
	case exact:
		return humanize.Count(n, "cell") + invisible, nil
	case n == 0: // as far as a sample shows
		return "few cells, if any," + invisible, nil
	}
	return "about " + humanize.Count(n, "cell") + invisible, nil
}

const invisible = " would become invisible"

// lookedAt is the number of rows that are read over the network to see what a change
// hides.
const lookedAt = 1000

// remoteLoss reads the first rows and counts the cells that the change hides.
func (r *Runner) remoteLoss(ctx context.Context, t schema.Table, c schema.Change) (string, error) {
	rows, n := 0, 0 // the most rows read of any one family
	for _, tighter := range (schema.Plan{Changes: []schema.Change{c}}).Tightenings(&schema.Schema{Tables: []schema.Table{t}}) {
		seen := 0
		family := read.Family(tighter.Family)
		for row, err := range r.Database().Table(t.Name).ReadRows(ctx, family, read.Limit(lookedAt)) {
			if err != nil {
				return "", err
			}
			seen++
			n += hiddenIn(row, tighter, r.Database().Now())
		}
		rows = max(rows, seen)
	}
	switch {
	case rows == lookedAt:
		return fmt.Sprintf("%s of the first %d rows, and such cells of others,", humanize.Count(n, "cell"), lookedAt) + invisible, nil
	case n == 0:
		return "", nil
	}
	return humanize.Count(n, "cell") + invisible, nil
}

// hiddenIn counts the cells of a row that the new limits drop and the current limits do
// not. The cells of a column are adjacent, the newest first.
func hiddenIn(row *query.Row, t schema.Tightening, now cells.Timestamp) (n int) {
	rank, column := 0, ""
	drops := func(limits []schema.Limit, age time.Duration) bool {
		for _, l := range limits {
			if l.Drops(rank, age) {
				return true
			}
		}
		return false
	}
	for c := range row.Cells() {
		if rank++; c.Qualifier != column {
			rank, column = 1, c.Qualifier
		}
		if age := now.Time().Sub(c.Timestamp.Time()); drops(t.After, age) && !drops(t.Before, age) {
			n++
		}
	}
	return n
}
