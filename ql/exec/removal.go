package exec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/internal/humanize"
	"github.com/smolwc/smolwc/ql"
	"github.com/smolwc/smolwc/ql/lex"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
)

// A removal is the removal of a directory with its rows, by an rm.
type removal struct {
	*Runner
	st   *ql.RemoveDirectory
	dirs string // the table of the directories
	root *directory.Directory
	with []string // the tables with rows to remove
	top  *directory.Directory
	all  []*directory.Directory // top and all below it
}

// removedAtOnce is how many cells of a table rm removes in one transaction, which holds
// their deletes in memory. More are removed in ranges, before the directories.
const removedAtOnce = 100_000

// rm looks at everything before it asks, and again before it removes anything.
func (r *Runner) rm(ctx context.Context, st *ql.RemoveDirectory) (Result, error) {
	m := &removal{Runner: r, st: st, dirs: cmp.Or(st.In.Text, directory.DefaultTable)}
	for _, n := range st.With {
		t, err := r.table(n)
		if err != nil {
			return nil, err
		}
		m.with = append(m.with, t.Name)
	}
	var err error
	if m.root, err = r.rootDirectory(st, st.In, m.with...); err != nil {
		return nil, err
	}
	if err := m.find(ctx); err != nil {
		return nil, err
	}
	return m.run(ctx)
}

// find finds the directories.
func (m *removal) find(ctx context.Context) error {
	return m.DB.Update(ctx, func(tx *query.Tx) (err error) {
		if m.top, err = openDirectory(ctx, tx, m.root, m.st.Path); err != nil {
			return err
		}
		if len(m.st.Path.Names) == 0 {
			_, err = m.root.Remove(ctx, tx, nil) // the error of the root
			return failure(m.st.Path.Pos, err)
		}
		m.all, err = m.top.Descendants(ctx, tx, nil)
		m.all = append([]*directory.Directory{m.top}, m.all...)
		return err
	})
}

// run removes the directories that were found. Many rows go first.
func (m *removal) run(ctx context.Context) (Result, error) {
	rows, err := m.count(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.refuse(rows); err != nil {
		return nil, err
	}
	what := m.describe(rows)
	if err := m.confirm(m.st, m.st.Yes, "remove "+what+"?"); err != nil {
		return nil, err
	}
	for _, f := range rows {
		if f.exact && f.Cells <= removedAtOnce {
			continue
		}
		if err := m.deleteRows(ctx, f.table); err != nil {
			return nil, err
		}
	}
	err = m.DB.Update(ctx, func(tx *query.Tx) error {
		if err := m.check(ctx, tx); err != nil {
			return err
		}
		_, err := m.top.Remove(ctx, tx, nil)
		return err
	})
	return &Done{"removed " + what}, err
}

// deleteRows deletes the rows in a table. The directories stay, so that it can be run
// again when it is interrupted.
func (m *removal) deleteRows(ctx context.Context, table string) error {
	if err := m.DB.Update(ctx, func(tx *query.Tx) error { return m.check(ctx, tx) }); err != nil {
		return err
	}
	return m.DB.Table(table).DeleteRange(ctx, m.rows(table))
}

// found counts the rows of the directories in a table.
type found struct {
	table string
	query.Count
	exact bool
}

func (f found) String() string {
	text := fmt.Sprintf("%s of %s", humanize.Count(f.Rows, "row"), lex.QuoteName(f.table))
	if !f.exact {
		text = "about " + text
	}
	return text
}

// rows returns the rows of the directories in a table, without the rows that describe
// the directories of a partition.
func (m *removal) rows(table string) (rows read.RowSet) {
	for _, d := range m.all {
		if table != m.dirs || string(d.Layer()) != directory.PartitionLayer {
			rows.Ranges = append(rows.Ranges, read.Prefix(string(d.Prefix())).Ranges...)
		}
	}
	return rows
}

// count looks for rows in all tables.
func (m *removal) count(ctx context.Context) (all []found, err error) {
	for _, t := range m.DB.Schema().Tables {
		f := found{table: t.Name}
		if f.Count, f.exact, err = m.DB.Table(t.Name).EstimateCount(ctx, m.rows(t.Name)); err != nil {
			return nil, err
		}
		if f.Rows > 0 {
			all = append(all, f)
		}
	}
	return all, nil
}

// refuse fails if tables have rows that the statement does not name.
func (m *removal) refuse(rows []found) error {
	next := *m.st
	next.With = slices.Clone(m.st.With)
	var others []string
	for _, f := range rows {
		if !slices.Contains(m.with, f.table) {
			others = append(others, f.String())
			next.With = append(next.With, ql.Name{Text: f.table})
		}
	}
	if len(others) == 0 {
		return nil
	}
	return m.fail(query.KindFailedPrecondition, "directory %s has %s, and nothing was removed; to remove them too, write %s", m.st.Path, joined(others), ql.Print(&next))
}

// check fails if the directories differ from the ones found, or if a table that the
// statement does not name contains rows of them. The commit depends on it.
func (m *removal) check(ctx context.Context, tx *query.Tx) error {
	below, err := m.top.Descendants(ctx, tx, nil)
	if err != nil {
		return failure(m.st.Path.Pos, err)
	}
	if !slices.EqualFunc(below, m.all[1:], func(a, b *directory.Directory) bool { return a.String() == b.String() }) {
		return m.fail(query.KindConflict, "directories below %s were created or removed meanwhile; look again", m.st.Path)
	}
	for _, t := range m.DB.Schema().Tables {
		if slices.Contains(m.with, t.Name) {
			continue
		}
		for _, err := range tx.ReadRows(ctx, t.Name, m.rows(t.Name), read.KeysOnly(), read.Limit(1)) {
			if err != nil {
				return err
			}
			return m.fail(query.KindConflict, "rows of %s were written to table %s meanwhile; look again", m.st.Path, lex.QuoteName(t.Name))
		}
	}
	return nil
}

// describe says what is removed.
func (m *removal) describe(rows []found) string {
	text := "directory " + m.st.Path.String()
	var more []string
	if n := len(m.all) - 1; n > 0 {
		more = append(more, humanize.Count(n, "directory", "directories")+" below it")
	}
	for _, f := range rows {
		more = append(more, f.String())
	}
	if len(more) > 0 {
		text += ", with " + joined(more)
	}
	return text
}

// fail is an error about the path.
func (m *removal) fail(kind query.Kind, format string, args ...any) error {
	msg := fmt.Sprintf(format, args...)
	return &lex.Error{Pos: m.st.Path.Pos, Msg: msg, Err: &query.Error{Op: "remove directory", Kind: kind, Err: errors.New(msg)}}
}
