package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/smolwc/smolwc/internal/bytere"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/schema"
)

// tables lists the tables whose whole names match the pattern.
func (r *Runner) tables(ctx context.Context, st *ql.Tables) (Result, error) {
	matches := func(string) (bool, error) { return true, nil }
	if st.Regex != nil {
		re, err := bytere.Compile(st.Regex.Expr)
		if err != nil {
			return nil, lex.ErrorAt(st.Regex.Pos, "%s", lex.Escape(err.Error()))
		}
		work := bytere.WorkOf(ctx)
		matches = func(name string) (bool, error) {
			ok, err := re.Match(work, name)
			if errors.Is(err, bytere.ErrTooMuch) {
				err = lex.ErrorAt(st.Regex.Pos, "the expression takes too long on the names of tables; repeat less in it")
			}
			return ok, err
		}
	}
	list := &TableList{}
	for _, t := range r.Database().Schema().Tables {
		ok, err := matches(t.Name)
		if err != nil {
			return nil, err
		}
		if ok {
			list.Tables = append(list.Tables, t)
		}
	}
	views, err := r.views()
	if err != nil {
		return list, nil // a program without views
	}
	var failed error // views that the token may not list, or that the server does not have, are left out
	_ = views.EachView(ctx, func(name, sql string, materialized bool) bool {
		var ok bool
		if ok, failed = matches(name); ok {
			list.Views = append(list.Views, View{name, sql, materialized})
		}
		return failed == nil
	})
	return list, failed
}

func (r *Runner) describe(ctx context.Context, st *ql.Describe) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		if all, bad := r.viewsThat(ctx, func(name string) bool { return name == st.Table.Text }); bad == nil && len(all.Lines) > 0 {
			all.Upright = true
			return all, nil
		}
	}
	return &Description{t}, err
}

// viewsThat lists the views whose names are wanted.
func (r *Runner) viewsThat(ctx context.Context, wanted func(name string) bool) (*Listing, error) {
	views, err := r.views()
	if err != nil {
		return nil, err
	}
	list := &Listing{Columns: []string{"view", "kind", "query"}}
	err = views.EachView(ctx, func(name, sql string, materialized bool) bool {
		if wanted(name) {
			list.Lines = append(list.Lines, []any{name, Word(kindOfView(materialized)), sql})
		}
		return true
	})
	return list, err
}

func (r *Runner) listViews(ctx context.Context, _ *ql.Views) (Result, error) {
	return r.viewsThat(ctx, func(string) bool { return true })
}

func (r *Runner) createView(ctx context.Context, st *ql.CreateView) (Result, error) {
	views, err := r.views()
	if err == nil {
		err = views.CreateView(ctx, st.View.Text, st.Query, st.Materialized)
	}
	return &Done{"created " + kindOfView(st.Materialized) + " view " + st.View.Text}, err
}

func (r *Runner) dropView(ctx context.Context, st *ql.DropView) (Result, error) {
	views, err := r.views()
	if err == nil {
		err = views.DropView(ctx, st.View.Text, st.Materialized)
	}
	if query.KindOf(err) == query.KindNotFound {
		err = r.noView(ctx, st, err)
	}
	return &Done{"dropped " + kindOfView(st.Materialized) + " view " + st.View.Text}, err
}

// noView says that a view that was not found is one of the other kind, if it is.
func (r *Runner) noView(ctx context.Context, st *ql.DropView, notFound error) error {
	var known []string
	all, err := r.viewsThat(ctx, func(name string) bool { known = append(known, name); return name == st.View.Text })
	switch {
	case err != nil:
		return notFound
	case len(all.Lines) == 0:
		return unknown(st.View, "view", known, "")
	}
	other := &ql.DropView{View: st.View, Materialized: !st.Materialized}
	return &query.Error{Op: "drop view " + st.View.Text, Kind: query.KindNotFound, Err: fmt.Errorf("this is a %s view: write %s", kindOfView(other.Materialized), ql.Print(other))}
}

func (r *Runner) compact(ctx context.Context, st *ql.Compact) (Result, error) {
	return r.maintain(st.Table, "compacted", func(name string) error {
		return r.DB.Table(name).CompactRows(ctx, rowSet(st.Rows))
	})
}

func (r *Runner) flush(ctx context.Context, st *ql.Flush) (Result, error) {
	return r.maintain(st.Table, "flushed", func(name string) error { return r.DB.Table(name).Flush(ctx) })
}

// refreshed brings a read-only database up to date. A server's clients see the newest state.
func (r *Runner) refreshed(ctx context.Context, _ *ql.Refresh) (Result, error) {
	if r.Remote != nil {
		return &Done{"refreshed"}, nil
	}
	return &Done{"refreshed"}, r.DB.Refresh(ctx)
}

func (r *Runner) maintain(n ql.Name, did string, do func(table string) error) (Result, error) {
	t, err := r.table(n)
	if err != nil {
		return nil, err
	}
	return &Done{did + " " + t.Name}, do(t.Name)
}

func (r *Runner) collect(ctx context.Context, st *ql.GC) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	report, err := r.DB.GC(ctx, t.Name, query.GCOptions{DryRun: st.DryRun, Compact: !st.DryRun})
	return &Collected{report}, err
}

func (r *Runner) createTable(ctx context.Context, st *ql.CreateTable) (Result, error) {
	if err := schema.CheckTableName(st.Table.Text); err != nil {
		return nil, lex.ErrorAt(st.Table.Pos, "table: %s", err)
	}
	if _, exists := r.Database().LookupTable(st.Table.Text); exists && st.IfNotExists {
		return &Done{"table " + st.Table.Text + " exists already; nothing was changed"}, nil
	}
	t := schema.Table{Name: st.Table.Text}
	if st.Like.Text != "" {
		like, err := r.table(st.Like)
		if err != nil {
			return nil, err
		}
		t = like
		t.Name, t.ChangeStream, t.Families = st.Table.Text, 0, slices.Clone(like.Families)
	}
	setOptionsOf(&t, st.TableOptions)
	for _, f := range st.Families {
		made, err := newFamily(f)
		if err != nil {
			return nil, err
		}
		if _, twice := t.Family(made.Name); twice {
			return nil, lex.ErrorAt(f.Name.Pos, "family %s is declared twice", made.Name)
		}
		t.Families = append(t.Families, made)
	}
	if err := r.Database().CreateTable(ctx, t); err != nil {
		return nil, failure(st.Table.Pos, err)
	}
	return &Done{"created table " + t.Name}, nil
}

// setTable makes either all of its changes or none.
func (r *Runner) setTable(ctx context.Context, st *ql.SetTable) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	_, set, _ := strings.Cut(ql.Print(st), " set ")
	done := &Done{fmt.Sprintf("set %s of table %s", strings.TrimSuffix(set, " yes"), t.Name)}
	now := t
	setOptionsOf(&now, st.TableOptions)
	plan := schema.Diff(&schema.Schema{Tables: []schema.Table{t}}, &schema.Schema{Tables: []schema.Table{now}})
	if err := r.mayHide(ctx, st, st.Yes, t, plan); err != nil {
		return nil, err
	}
	if st.KeyFormat == nil && st.Retention == nil { // over the network too
		return done, r.Database().SetChangeStream(ctx, t.Name, *st.Changes)
	}
	return done, r.DB.ApplyPlan(ctx, plan)
}

// setOptionsOf sets the given options of a table.
func setOptionsOf(t *schema.Table, o ql.TableOptions) {
	set(&t.KeyFormat, o.KeyFormat)
	set(&t.Retention, o.Retention)
	set(&t.ChangeStream, o.Changes)
}

// set sets a value if the statement gives one.
func set[T any](to *T, given *T) {
	if given != nil {
		*to = *given
	}
}

func (r *Runner) addFamily(ctx context.Context, st *ql.AddFamily) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	f, err := newFamily(st.Family)
	if err != nil {
		return nil, err
	}
	if _, there := t.Family(f.Name); there { // before a server says it in its own words
		return nil, alreadyThere(st.Family.Name.Pos, "family %s is in table %s already", f.Name, t.Name)
	}
	if err := r.Database().AddFamily(ctx, t.Name, f); err != nil {
		return nil, failure(st.Family.Name.Pos, err)
	}
	return &Done{fmt.Sprintf("added family %s to table %s", f.Name, t.Name)}, nil
}

func alreadyThere(at lex.Pos, format string, args ...any) error {
	return ofKind(query.KindAlreadyExists, lex.ErrorAt(at, format, args...))
}

func ofKind(kind query.Kind, e *lex.Error) error {
	e.Err = &query.Error{Kind: kind, Err: errors.New(e.Msg)}
	return e
}

func (r *Runner) setFamily(ctx context.Context, st *ql.SetFamily) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	if _, there := t.Family(st.Family.Name.Text); st.Add && !there {
		return r.addFamily(ctx, &ql.AddFamily{Node: st.Node, Table: st.Table, Family: added(st)})
	}
	old, err := family(t, st.Family.Name)
	if err != nil {
		return nil, err
	}
	if st.Family.SaysNothing() {
		return &Done{fmt.Sprintf("family %s of table %s is there already", old, t.Name)}, nil
	}
	f, err := changed(old, st.Family)
	if err != nil {
		return nil, err
	}
	plan := schema.Plan{Changes: []schema.Change{{Kind: schema.SetRetention, Table: t.Name, Family: f.Name, Old: old, New: f}}}
	if err := r.mayHide(ctx, st, st.Yes, t, plan); err != nil {
		return nil, err
	}
	if err := r.Database().SetFamily(ctx, t.Name, f); err != nil {
		return nil, failure(st.Family.Name.Pos, err)
	}
	return &Done{fmt.Sprintf("set family %s of table %s", f, t.Name)}, nil
}

func (r *Runner) dropFamily(ctx context.Context, st *ql.DropFamily) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	f, err := family(t, st.Family)
	if err != nil {
		return nil, err
	}
	if err := r.confirmRows(ctx, st, st.Yes, "drop family "+f.Name+" of table "+t.Name+" and its cells", "this deletes the cells of %s for good", t.Name, read.Family(f.Name)); err != nil {
		return nil, err
	}
	return &Done{fmt.Sprintf("dropped family %s of table %s", f.Name, t.Name)}, r.Database().DropFamily(ctx, t.Name, f.Name)
}

func (r *Runner) dropTable(ctx context.Context, st *ql.DropTable) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	question := fmt.Sprintf("drop table %s with %s", t.Name, humanize.Count(len(t.Families), "family", "families"))
	if err := r.confirmRows(ctx, st, st.Yes, question, "this drops the table with %s", t.Name); err != nil {
		return nil, err
	}
	if err := r.Database().DeleteTable(ctx, t.Name); err != nil {
		return nil, err
	}
	done := &Done{"dropped table " + t.Name}
	kept, err := r.Database().DeletedTables(ctx)
	if n := len(kept); err == nil && n > 0 && kept[n-1].Table == t.Name {
		done.Message += "; undelete table " + lex.QuoteName(t.Name) + " brings it back until " + lex.FormatTimestamp(kept[n-1].Until, nil)
	}
	return done, nil
}

func (r *Runner) undelete(ctx context.Context, st *ql.Undelete) (Result, error) {
	if _, there := r.Database().LookupTable(st.Table.Text); there {
		return nil, alreadyThere(st.Table.Pos, "table %s is there; a deleted table of this name cannot come back beside it", st.Table.Text)
	}
	if err := r.Database().UndeleteTable(ctx, st.Table.Text); query.KindOf(err) == query.KindNotFound {
		return nil, r.noDeleted(ctx, st.Table)
	} else if err != nil {
		return nil, failure(st.Table.Pos, err)
	}
	return &Done{"table " + st.Table.Text + " is back"}, nil
}

// noDeleted is the error of a deleted table that is not there.
func (r *Runner) noDeleted(ctx context.Context, name ql.Name) error {
	var known []string
	all, _ := r.Database().DeletedTables(ctx) // without them there is no hint
	for _, d := range all {
		known = append(known, d.Table)
	}
	return ofKind(query.KindNotFound, lex.ErrorAt(name.Pos, "there is no deleted table %s%s", lex.QuoteName(name.Text), schema.DidYouMean(name.Text, known)))
}

func (r *Runner) deleted(ctx context.Context, _ *ql.Deleted) (Result, error) {
	all, err := r.Database().DeletedTables(ctx)
	list := &Listing{Columns: []string{"table", "families", "bytes", "deleted", "until"}}
	for _, d := range all {
		list.Lines = append(list.Lines, []any{d.Table, strings.Join(d.Families, " "), d.Bytes, d.Deleted, d.Until})
	}
	return list, err
}

// purge removes deleted tables of one name, or all of them.
func (r *Runner) purge(ctx context.Context, st *ql.Purge) (Result, error) {
	all, err := r.Database().DeletedTables(ctx)
	if err != nil {
		return nil, err
	}
	if !st.All {
		all = slices.DeleteFunc(all, func(d query.DeletedTable) bool { return d.Table != st.Table.Text })
	}
	if len(all) == 0 {
		if st.All {
			return &Done{"there are no deleted tables"}, nil
		}
		return nil, r.noDeleted(ctx, st.Table)
	}
	names, bytes := map[string]bool{}, int64(0)
	for _, d := range all {
		names[d.Table] = true
		bytes += d.Bytes
	}
	what := humanize.Count(len(all), "deleted table")
	if !st.All {
		what += " of the name " + lex.QuoteName(st.Table.Text)
	}
	if err := r.confirm(st, st.Yes, fmt.Sprintf("remove %s for good?", what)); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := r.Database().PurgeTable(ctx, name); err != nil {
			return nil, err
		}
	}
	if bytes > 0 {
		what += ", with files of " + humanize.Count(bytes, "byte")
	}
	return &Done{"removed " + what}, nil
}

func (r *Runner) truncate(ctx context.Context, st *ql.Truncate) (Result, error) {
	t, err := r.table(st.Table)
	if err != nil {
		return nil, err
	}
	if err := r.confirmRows(ctx, st, st.Yes, "delete all rows of table "+t.Name, deletes, t.Name); err != nil {
		return nil, err
	}
	return &Done{"truncated table " + t.Name}, r.Database().TruncateTable(ctx, t.Name)
}

func newFamily(f ql.Family) (schema.Family, error) {
	if err := schema.CheckFamilyName(f.Name.Text); err != nil {
		return schema.Family{}, lex.ErrorAt(f.Name.Pos, "family: %s", err)
	}
	return changed(schema.Family{Name: f.Name.Text}, f)
}

func changed(old schema.Family, f ql.Family) (schema.Family, error) {
	set(&old.Type, f.Type)
	set(&old.Aggregate, f.Aggregate)
	if f.Versions == nil && f.TTL == nil && f.Both == nil {
		return old, nil
	}
	versions, age, both, simple := ql.SimpleRule(old.GC)
	if !simple && (f.Versions == nil || f.TTL == nil) {
		return old, lex.ErrorAt(f.Name.Pos, "family %s keeps cells by the rule %s; set both max_versions= and max_age= to replace it", old.Name, old.GC)
	}
	set(&versions, f.Versions)
	set(&age, f.TTL)
	set(&both, f.Both)
	old.GC = ruleOf(versions, age, both)
	return old, nil
}

// ruleOf returns a rule that drops a cell that exceeds the versions or the age; if both
// is set, only a cell that exceeds both.
func ruleOf(versions int, age time.Duration, both bool) *schema.Rule {
	switch {
	case versions > 0 && age > 0 && both:
		return schema.All(schema.MaxVersions(versions), schema.MaxAge(age))
	case versions > 0 && age > 0:
		return schema.Any(schema.MaxVersions(versions), schema.MaxAge(age))
	case versions > 0:
		return schema.MaxVersions(versions)
	case age > 0:
		return schema.MaxAge(age)
	}
	return nil
}
