// Package exec runs statements: a [Runner] takes a statement of the language, runs it
// against a [query.DB], or against a [Database] over the network, and returns a typed
// [Result]. It prints nothing and reads no files.
package exec

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// A Runner runs statements against a database. Either DB or Remote must be set.
type Runner struct {
	DB *query.DB
	// Remote is the database if it is reached over the network; DB is then nil.
	// Statements that need a local database are refused.
	Remote Remote
	// Versions is the default number of versions of a column for get and scan; 0 means
	// 1, Unlimited means all.
	Versions int
	// Limit is the default number of rows for scan; 0 means all.
	Limit int
	// Zone is the zone of days in histograms of times, and of times in notes; nil: UTC.
	Zone *time.Location
	// Confirm asks the user before a statement without yes drops data. If Confirm is
	// nil, such a statement is an error.
	Confirm func(question string) (bool, error)
	// ReadOnly says that DB takes no writes, so that a statement that needs them is refused before
	// it asks.
	ReadOnly bool
	// Shows reports whether errors may name a table for which nobody asked; nil: all.
	Shows func(table string) bool
	// Standbys returns the figures of the database's standbys, for a [ql.Stats]; nil
	// without a server.
	Standbys func(context.Context) ([]Figure, error)
	// Outside runs an Import, an Export, whose opts say what to read, and the statements
	// about backups. If it is nil, these statements are refused.
	Outside func(ctx context.Context, st ql.Statement, opts []read.Option) (Result, error)

	pending *pending // nil: no batch is open
	moment  *moment  // of the pages that are being prepared; nil: now
	batches int
}

// Run runs one statement. It looks up the names of tables and families first, so that
// errors have their places. Errors are *[lex.Error] and wrap the database's error. No
// row is read before the caller ranges over the [RowStream]. The error of a count comes
// with the rows counted until then.
func (r *Runner) Run(ctx context.Context, st ql.Statement) (Result, error) {
	if r == nil || ql.IsNil(st) {
		return nil, lex.ErrorAt(lex.Pos{}, "there is no statement, or nothing to run it on")
	}
	res, err := r.run(ctx, st)
	err = r.orView(ctx, err)
	if counted, ok := res.(*Counted); ok && err != nil {
		return counted, failure(st.Position(), err)
	}
	if err != nil {
		return nil, failure(st.Position(), err)
	}
	return res, nil
}

func (r *Runner) run(ctx context.Context, st ql.Statement) (Result, error) {
	entry, ok := statements[reflect.TypeOf(st)]
	if !ok {
		return nil, fmt.Errorf("no way to run %T", st)
	}
	if err := entry.refuse(r, st); err != nil {
		return nil, err
	}
	if r.Remote != nil && entry.atServer(st) {
		res, err := r.serve(ctx, st)
		if _, isCopy := st.(*ql.CopyTable); !isCopy || !errors.Is(err, errors.ErrUnsupported) {
			return res, err
		}
	}
	if r.Remote != nil && entry.needsTables() {
		if err := r.Remote.Refresh(ctx); err != nil {
			return nil, err
		}
	}
	return entry.start(r, ctx, st)
}

func (r *Runner) help(_ context.Context, st *ql.Help) (Result, error) {
	text, err := ql.HelpPage(st.Topic)
	return &HelpText{text}, err
}

func (r *Runner) quit(context.Context, *ql.Quit) (Result, error) { return &Leave{}, nil }

// failure gives an error the place at, unless it already carries one.
func failure(at lex.Pos, err error) error {
	if _, ok := err.(*lex.Error); ok {
		return err
	}
	return &lex.Error{Pos: at, Msg: lex.Escape(err.Error()), Err: err}
}

func unknown(n ql.Name, what string, known []string, in string) error {
	msg := fmt.Sprintf("unknown %s %s%s%s", what, quoteAlways(n.Text), in, schema.DidYouMean(n.Text, known))
	return &lex.Error{Pos: n.Pos, Msg: msg, Err: &query.Error{Op: "look up", Kind: query.KindNotFound, Err: fmt.Errorf("%s", msg)}}
}

func quoteAlways(name string) string { return lex.QuoteText(lex.Clip(name)) }

func (r *Runner) table(n ql.Name) (schema.Table, error) {
	db := r.Database()
	if t, ok := db.LookupTable(n.Text); ok {
		return t, nil
	}
	err := unknown(n, "table", r.tableNames(), "")
	if e, ok := errors.AsType[*lex.Error](err); ok {
		e.Err = unknownTable{n.Text, e.Err}
	}
	return schema.Table{}, err
}

// An unknownTable is the error of a name that no table has.
type unknownTable struct {
	name string
	error
}

func (u unknownTable) Unwrap() error { return u.error }

// orView says of a table that there is not that its name is a view's, if it is.
func (r *Runner) orView(ctx context.Context, err error) error {
	u, ok := errors.AsType[unknownTable](err)
	e, placed := errors.AsType[*lex.Error](err)
	if !ok || !placed {
		return err
	}
	drop := ""
	if views, none := r.views(); none == nil {
		_ = views.EachView(ctx, func(name, _ string, materialized bool) bool {
			if name == u.name {
				drop = ql.Print(&ql.DropView{View: ql.Name{Text: name}, Materialized: materialized})
			}
			return drop == ""
		})
	}
	if drop == "" {
		return err
	}
	return &lex.Error{Pos: e.Pos, Msg: fmt.Sprintf("%s is a view: select reads it, describe shows its query, and %s drops it", quoteAlways(u.name), drop), Err: e.Err}
}

// tableNames are the tables that errors may name.
func (r *Runner) tableNames() (names []string) {
	for _, t := range r.Database().Schema().Tables {
		if r.Shows == nil || r.Shows(t.Name) {
			names = append(names, t.Name)
		}
	}
	return names
}

func family(t schema.Table, n ql.Name) (schema.Family, error) {
	if f, ok := t.Family(n.Text); ok {
		return *f, nil
	}
	var known []string
	for _, f := range t.Families {
		known = append(known, f.Name)
	}
	return schema.Family{}, unknown(n, "family", known, " in table "+t.Name)
}

func column(t schema.Table, c ql.Column) (schema.Family, error) {
	return family(t, ql.Name{Text: c.Family, Pos: c.Pos})
}

// valueFor makes a value for a column of the family; its errors name the family's
// declared type.
func valueFor(f schema.Family, make func(cells.Type) (cells.Value, error)) (cells.Value, error) {
	v, err := make(f.Type)
	if bad, ok := err.(*lex.Error); ok && f.Type != cells.TypeAny && !strings.Contains(bad.Msg, "declared") {
		bad.Msg += fmt.Sprintf("; family %s is declared %s", f.Name, f.Type)
	}
	return v, err
}

// resolve returns the time, or missing if the statement gives no time.
func (r *Runner) resolve(t *lex.Time, missing cells.Timestamp) (cells.Timestamp, error) {
	if t == nil {
		return missing, nil
	}
	now := r.Database().Now()
	if m := r.moment; m != nil && t.Now {
		if m.at == 0 {
			m.at = now
		}
		m.used, now = true, m.at
	}
	return t.Resolve(now)
}

// A moment is the now of a read in pages, fixed by its first page.
type moment struct {
	at   cells.Timestamp // 0: not fixed yet
	used bool
}

// momentMark separates the token of a page from the moment of the first page.
const momentMark = "."

// page prepares the read of a page, whose token may have the moment of the first page.
func (r *Runner) page(token string) (of string, m *moment, err error) {
	of, at, fixed := strings.Cut(token, momentMark)
	if !fixed {
		return of, &moment{}, nil
	}
	n, err := strconv.ParseInt(at, 36, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 36) != at || of == "" {
		return "", nil, &query.Error{Op: "read page", Kind: query.KindInvalidArgument, Err: errors.New("page token is damaged: it has no valid moment")}
	}
	return of, &moment{at: cells.Timestamp(n)}, nil
}

// token adds the moment to the token of the next page, if times depend on it.
func (m *moment) token(next string) string {
	if m == nil || !m.used || next == "" {
		return next
	}
	return next + momentMark + strconv.FormatInt(int64(m.at), 36)
}

// timeRange resolves since and until; 0 means no bound.
func (r *Runner) timeRange(since, until *lex.Time) (from, to cells.Timestamp, err error) {
	if from, err = r.resolve(since, 0); err != nil {
		return 0, 0, err
	}
	if to, err = r.resolve(until, 0); err != nil {
		return 0, 0, err
	}
	if until != nil && to <= from {
		return 0, 0, lex.ErrorAt(until.Pos, "until is exclusive and must be after since; nothing lies between %s and %s", from, to)
	}
	return from, to, nil
}

// confirm asks whether the data should be dropped.
func (r *Runner) confirm(st ql.Statement, yes bool, question string) error {
	return r.ask(st, yes, question, "this deletes data for good", "nothing was deleted")
}

// deletes is the effect of deleting rows, for confirmRows.
const deletes = "this deletes %s for good"

// mostCounted is the number of rows up to which a question says exactly how many there are.
const mostCounted = 1_000_000

// confirmRows asks whether rows should be deleted, and says how many there are: the effect
// leaves a place for their number.
func (r *Runner) confirmRows(ctx context.Context, st ql.Statement, yes bool, question, effect, table string, rows ...read.Option) error {
	if yes {
		return nil
	}
	if err := r.writable(); err != nil {
		return err
	}
	n, err := r.Database().Table(table).Count(ctx, append(rows, read.KeysOnly(), read.Limit(mostCounted+1))...)
	lost := humanize.Count(n.Rows, "row")
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // rows that cannot be read can be deleted all the same
		lost = "an unknown number of rows"
	case n.Rows > mostCounted:
		lost = fmt.Sprintf("more than %d rows", mostCounted)
	}
	return r.ask(st, yes, question+": "+lost+"?", fmt.Sprintf(effect, lost), "nothing was deleted")
}

// writable refuses a statement that asks first and would then be refused.
func (r *Runner) writable() error {
	if r.ReadOnly {
		return &query.Error{Op: "write", Kind: query.KindFailedPrecondition, Err: query.ErrReadOnly}
	}
	return nil
}

// ask asks for permission, unless the statement ends in yes. effect says what the
// statement does, and refused the meaning of a refusal.
func (r *Runner) ask(st ql.Statement, yes bool, question, effect, refused string) error {
	if yes {
		return nil
	}
	if err := r.writable(); err != nil {
		return err
	}
	if r.Confirm == nil {
		return lex.ErrorAt(st.Position(), "%s; to confirm, end the statement with yes: %s yes", effect, ql.Print(st))
	}
	ok, err := r.Confirm(question)
	if err == nil && !ok {
		err = lex.ErrorAt(st.Position(), "%s", refused)
	}
	return err
}

// Native returns the statement in smolwc's own syntax. A value that HBase's syntax
// quotes is printed without quotes where its column's type would refuse a quoted value.
func (r *Runner) Native(st ql.Statement) string {
	if ql.IsNil(st) {
		return ""
	}
	if alter, ok := st.(*ql.SetFamily); ok && alter.Add {
		table, known := r.Database().LookupTable(alter.Table.Text)
		if _, there := table.Family(alter.Family.Name.Text); known && !there {
			return ql.Print(&ql.AddFamily{Table: alter.Table, Family: added(alter)})
		}
	}
	put, isPut := st.(*ql.Put)
	if !isPut {
		return ql.Print(st)
	}
	native := *put
	native.Cells = slices.Clone(put.Cells)
	table, _ := r.Database().LookupTable(put.Table.Text)
	for i := range native.Cells {
		a := &native.Cells[i]
		family, ok := table.Family(a.Column.Family)
		if ok && a.Value.Loose && (family.Type.Numeric() || family.Type == cells.TypeBool) {
			a.Value.Quoted = false
		}
	}
	return ql.Print(&native)
}

// added returns the family that the statement adds if it does not exist.
func added(st *ql.SetFamily) ql.Family {
	if st.Foreign {
		return st.Family.OfHBase()
	}
	return st.Family
}
