package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func (r *Runner) why(ctx context.Context, st *ql.Why) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	if len(st.Where) > 0 {
		return r.whyNot(ctx, t, st)
	}
	var columns []read.ColumnSpec
	for _, c := range st.Columns {
		if _, err := column(t, c); err != nil {
			return nil, err
		}
		columns = append(columns, columnSpec(c))
	}
	why, err := r.DB.Table(t.Name).Why(ctx, st.Key, columns...)
	if err != nil {
		return nil, err
	}
	l := whyListing(why)
	l.Format, l.Notes = st.Format, whyNotes(why)
	if len(why.Versions) == 0 {
		more, err := r.elsewhere(ctx, t, st)
		if err != nil {
			return nil, err
		}
		l.Notes = append(l.Notes, more...)
	}
	return l, nil
}

// whyListing has a line for each version, then one for each delete that ended none of them.
// Without a log there are no columns for commits.
func whyListing(why *query.Why) *Listing {
	l := &Listing{Columns: []string{"column", "timestamp", "value", "state", "why", "ended"}}
	logged := why.LogErr == nil
	if logged {
		l.Columns = append(l.Columns, "ended_position", "written", "written_position")
	}
	add := func(line []any, ended, written query.WhyCommit) {
		if logged {
			line = append(line, positionField(ended), timeField(written.Time), positionField(written))
		}
		l.Lines = append(l.Lines, line)
	}
	for i := range why.Versions {
		v := &why.Versions[i]
		ended := v.Ended.Time
		if v.Rule.Age > 0 {
			ended = v.Timestamp + cells.Timestamp(v.Rule.Age.Microseconds())
		}
		add([]any{lex.QuoteColumn(v.Family, v.Qualifier), v.Timestamp, whyValue(v.Value, v.Size), v.State.String(), reason(v), timeField(ended)}, v.Ended.WhyCommit, v.Written)
	}
	for i := range why.Deletes {
		d := &why.Deletes[i]
		add([]any{deletedColumn(&d.By), nil, nil, "delete", deletion(d) + "; it deleted nothing here, or versions older than the log", timeField(d.Time)}, d.WhyCommit, query.WhyCommit{})
	}
	return l
}

func timeField(t cells.Timestamp) any {
	if t == 0 {
		return nil
	}
	return t
}

func positionField(c query.WhyCommit) any {
	if c.Position == 0 {
		return nil
	}
	return int64(c.Position)
}

// whyValue is a value of the given size, which may be cut off.
func whyValue(v cells.Value, size int) any {
	n, whole := v.Int()
	f, broken := v.Float()
	b, truth := v.AsBool()
	text, isText := v.AsString()
	switch {
	case whole:
		return n
	case broken:
		return f
	case truth:
		return fmt.Sprint(b)
	case isText && v.Len() < size:
		return cells.String(text + "…")
	case v.Type() == cells.TypeAny:
		return nil
	}
	return v
}

// reason is why a version is hidden or gone; nil if it is the newest that is visible.
func reason(v *query.WhyVersion) any {
	switch v.State {
	case query.WhyOlder:
		return fmt.Sprintf("%s; versions=%d shows it", humanize.Count(v.Newer, "newer version"), v.Newer+1)
	case query.WhyHidden:
		return ruleText(v.Rule) + ": " + dropped(v)
	case query.WhyReplaced:
		return "the column was written again at this timestamp"
	case query.WhyDeleted:
		return deletion(&v.Ended)
	case query.WhyRemoved:
		if v.Rule.Age > 0 {
			return ruleText(v.Rule) + ": it is too old, and was removed"
		}
		return "the family's rule dropped it, and it was removed"
	}
	return nil
}

// ruleText is a part of a rule as the language writes it.
func ruleText(l schema.Limit) string {
	var parts []string
	if l.Versions > 0 {
		parts = append(parts, fmt.Sprint("max_versions=", l.Versions))
	}
	if l.Age > 0 {
		parts = append(parts, "max_age="+schema.FormatAge(l.Age))
	}
	return strings.Join(parts, " and ")
}

func dropped(v *query.WhyVersion) string {
	var parts []string
	if v.Rule.Versions > 0 {
		parts = append(parts, humanize.Count(v.Newer, "newer version"))
	}
	if v.Rule.Age > 0 {
		parts = append(parts, "it is too old")
	}
	return strings.Join(parts, ", and ")
}

// deletion names the deleted part of the row.
func deletion(d *query.WhyEnd) string {
	switch by := &d.By; {
	case d.Collected:
		return "a collection removed surplus versions"
	case by.Kind == write.DeleteRowChange:
		return "the row was deleted"
	case by.Kind == write.DeleteFamilyChange:
		return "the family was deleted in this row"
	case by.Since == 0 && by.Until == 0:
		return "the column was deleted"
	case by.Until == by.Since+1:
		return "the version was deleted"
	case by.Until == 0:
		return "versions since " + lex.FormatTimestamp(by.Since, nil) + " were deleted"
	default:
		return "versions from " + lex.FormatTimestamp(by.Since, nil) + " to before " + lex.FormatTimestamp(by.Until, nil) + " were deleted"
	}
}

// deletedColumn is the column, or the columns, of a delete.
func deletedColumn(by *write.Change) any {
	switch by.Kind {
	case write.DeleteRowChange:
		return nil
	case write.DeleteFamilyChange:
		return lex.QuoteColumn(by.Family, "") + "*"
	}
	return lex.QuoteColumn(by.Family, by.Qualifier)
}

// whyNotes say how far back the log goes, and why versions may be missing.
func whyNotes(why *query.Why) (notes []string) {
	if n := len(why.Versions); n == 0 {
		notes = append(notes, "no version is known")
	} else {
		notes = append(notes, humanize.Count(n, "version"))
	}
	switch {
	case why.LogErr == nil:
		notes = append(notes, "the log of changes begins at "+lex.FormatTimestamp(why.LogBegins, nil)+"; what ended before is not known")
	case errors.Is(why.LogErr, query.ErrNoChangeStream):
		notes = append(notes, "without a change stream, what is no longer stored is not known")
	default:
		notes = append(notes, "what is no longer stored is not known: "+why.LogErr.Error())
	}
	if why.More {
		notes = append(notes, fmt.Sprintf("there are more than %d; ask for one column", query.MaxWhy))
	}
	for i := range why.Versions {
		if v := &why.Versions[i]; v.Value.Len() < v.Size {
			return append(notes, fmt.Sprintf("long values are cut off after %d bytes", query.MaxWhyValue))
		}
	}
	return notes
}

// mostTables is in how many other tables a row is looked for.
const mostTables = 100

// elsewhere looks for the qualifier in other families of the row, or, in the database of
// this process, for the row in other tables.
func (r *Runner) elsewhere(ctx context.Context, t schema.Table, st *ql.Why) (notes []string, err error) {
	var others []read.Option
	for _, f := range t.Families {
		for _, c := range st.Columns {
			if c.Kind == ql.ColumnExact && c.Family != f.Name {
				others = append(others, read.Column(f.Name, c.Qualifier))
			}
		}
	}
	if len(others) > 0 {
		row, err := r.DB.Table(t.Name).ReadRow(ctx, st.Key, append(others, read.Versions(1), read.Filter(filter.StripValue{}))...)
		if err != nil {
			return nil, err
		}
		for c := range row.Cells() {
			notes = append(notes, "the row has "+lex.QuoteColumn(c.Family, c.Qualifier))
		}
	}
	for i, other := range r.DB.Schema().Tables {
		if r.Shows != nil || i == mostTables || len(notes) > 0 {
			break
		}
		if other.Name == t.Name {
			continue
		}
		n, err := r.DB.Table(other.Name).Count(ctx, read.Key(st.Key), read.KeysOnly())
		if err != nil {
			return nil, err
		}
		if n.Rows > 0 {
			notes = append(notes, fmt.Sprintf("table %s has a row with this key", lex.QuoteName(other.Name)))
		}
	}
	return notes, nil
}

// whyNot judges the conditions of the statement on the row.
func (r *Runner) whyNot(ctx context.Context, t schema.Table, st *ql.Why) (Result, error) {
	var conditions []read.Condition
	for i := range st.Where {
		c, err := r.condition(t, &st.Where[i])
		if err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	not, err := r.DB.Table(t.Name).WhyNot(ctx, st.Key, conditions...)
	if err != nil {
		return nil, err
	}
	l := &Listing{Columns: []string{"part", "is", "value", "other"}, Format: st.Format}
	for i := range not.Parts {
		p := &not.Parts[i]
		l.Lines = append(l.Lines, []any{strings.Repeat("  ", p.Depth) + p.Condition.String(), p.Verdict.String(), judgedValue(p.Condition.On, p.Value), judgedValue(p.Condition.On, p.Other)})
	}
	switch {
	case !not.Exists:
		l.Notes = append(l.Notes, "the row has no visible cell, so no read shows it")
	case not.Holds:
		l.Notes = append(l.Notes, "the condition is true of the row")
	default:
		l.Notes = append(l.Notes, "the condition leaves the row out")
	}
	return l, nil
}

// judgedValue is the value that a condition judged. A key of text is text.
func judgedValue(on read.Subject, v cells.Value) any {
	if n, ok := v.AsI64(); ok && on == read.OnTime {
		return cells.Timestamp(n)
	}
	if b, ok := v.AsBytes(); ok && on == read.OnKey && utf8.Valid(b) {
		v = cells.String(string(b))
	}
	return whyValue(v, 0)
}
