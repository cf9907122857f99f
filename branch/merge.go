package branch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/claim"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Winner says which side of a merge wins a conflict.
type Winner int

// The winners. With NoWinner a merge with conflicts writes nothing.
const (
	NoWinner Winner = iota
	Ours            // the database keeps its cells
	Theirs          // the database gets the cells of the branch
)

// MergeOptions say how a branch is merged. The zero value writes nothing if there are
// conflicts.
type MergeOptions struct {
	// Winner is the side that wins all conflicts.
	Winner Winner
	// DryRun finds conflicts and counts changes, and writes nothing.
	DryRun bool
	// Checkpoint copies the branch to a directory that does not exist, where this process has
	// it open. Nil opens it, and then nobody else may have it open, unless DryRun is set.
	Checkpoint func(ctx context.Context, dir string) error
}

// A Conflict is a column that was changed in the database and in the branch since the base,
// and has different cells in both now.
type Conflict struct {
	Table, Row, Family, Qualifier string
	// Base, Ours and Theirs are the newest values; the zero value is an empty column.
	Base, Ours, Theirs cells.Value
}

// A MergeReport is the result of a merge.
type MergeReport struct {
	// Schema are the tables and families that were created.
	Schema schema.Plan
	// Rows and Cells count the changes; an aggregate's state is one cell.
	Rows, Cells int64
	// Conflicts is the number of columns with conflicts, and First are the first of them, up
	// to 20.
	Conflicts int64
	First     []Conflict
	// Commits is the number of commits. If it is 1, readers saw all changes of cells at once.
	Commits int
}

const maxConflicts = 20

// ErrConflicts matches the error of a merge with conflicts that no side wins.
var ErrConflicts = errors.New("the database and the branch have changed the same columns")

// commitBytes is the size up to which a merge is one commit, and about the size of each one of
// a larger merge. Only tests change it.
var commitBytes = mostCommit

// keyBytes is about how much memory the keys of the rows may take that a branch has changed. Of
// further rows all are compared. Only tests change it.
var keyBytes = mostKeys

const (
	mostCommit = 16 << 20
	mostKeys   = 4 << 20
	// MergeMemory is how much memory a [Merge] takes: for the two databases that it opens, for a
	// commit, and for the keys of the rows that were changed.
	MergeMemory = 2*memory + mostCommit + mostKeys
)

// beforeWrite is called when the conflicts are counted. Only tests change it.
var beforeWrite = func() {}

// Merge makes the changes of a branch since its base in the database that it was made of,
// which is open for writing. Others may write the database and the branch meanwhile: the state
// that the branch has at the beginning is merged. While it is merged, another Merge and
// [Dir.Drop] are errors of kind [query.KindBusy].
//
// It compares column by column, all versions with timestamps and types. A column that only the
// branch has changed gets the branch's cells, and loses those that the branch has deleted. A
// column that both have changed, so that they are not equal now, is a conflict. Without a
// winner the error then matches [ErrConflicts], the report names the first ones, and nothing
// was written. The state of an aggregate is one value: two sums that have both grown are a
// conflict.
//
// Tables and families that are new in the branch are created first. All other differences of
// the schema are an error of kind [query.KindFailedPrecondition], and nothing was written.
//
// Changes of up to 16 MiB are one commit, a transaction. A larger merge consists of several
// ones, each of whole rows: if it is interrupted, a part is merged, and the same Merge makes
// the rest. A conflict that somebody writes meanwhile ends it too.
//
// Afterwards the branch's state at the beginning is its base: the next merge makes only later
// changes.
func Merge(ctx context.Context, ours *query.DB, b Branch, o MergeOptions) (MergeReport, error) {
	m := &merging{ours: ours, b: b, o: o}
	err := m.run(ctx)
	return m.report, fail("merge branch", err)
}

type merging struct {
	ours, base, theirs *query.DB
	b                  Branch
	o                  MergeOptions
	report             MergeReport
	claim              *claim.Claim // on the directory of the branch; nil if nothing is written

	changed  map[string][]cf.Range       // by table: the rows that the branch has changed, and perhaps more
	families map[string]schema.Aggregate // of the current table
	table    string
	counts   bool // conflicts and changes, the first time
	batch    []write.Entry
	size     int // of the batch
}

func (m *merging) run(ctx context.Context) (err error) {
	if m.ours == nil {
		return errorf(query.KindInvalidArgument, "the database is missing")
	}
	if id := m.ours.UUID().String(); id != m.b.Origin {
		return errorf(query.KindFailedPrecondition, "branch %q is of the database %s, and this one is %s", m.b.Name, m.b.Origin, id)
	}
	defer func() {
		if m.claim != nil {
			m.claim.Release()
		}
	}()
	next, err := m.fix(ctx)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, m.theirs.Close(), m.base.Close())
		if sweepErr := m.sweep(); err == nil { // the base before, or the new one that is not in force
			err = sweepErr
		}
	}()
	if err := m.plan(); err != nil {
		return err
	}
	if err := m.find(ctx); err != nil {
		return err
	}
	if err := m.count(ctx); err != nil {
		return err
	}
	switch {
	case m.report.Conflicts > 0 && m.o.Winner == NoWinner:
		return kinded{query.KindConflict, fmt.Errorf("%w: %d; nothing was written", ErrConflicts, m.report.Conflicts)}
	case m.o.DryRun:
		return nil
	}
	beforeWrite()
	if err := m.write(ctx); err != nil {
		return err
	}
	if err := next.write(filepath.Dir(m.b.Base)); err != nil {
		return err
	}
	m.b = next
	return nil
}

// fix opens the base, and a copy of the branch: the base of next. A dry run of a branch that
// this process has not open reads the branch itself.
func (m *merging) fix(ctx context.Context) (next Branch, err error) {
	next = m.b
	if m.o.DryRun && m.o.Checkpoint == nil {
		m.base, m.theirs, err = m.b.open(m.b.Dir)
		return next, err
	}
	if err := m.take(); err != nil {
		return next, err
	}
	next = m.b
	if err := m.sweep(); err != nil { // of a merge that was interrupted
		return next, err
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(filepath.Base(m.b.Base), basePrefix), 10, 64)
	if err != nil {
		return next, err
	}
	next.Base = filepath.Join(filepath.Dir(m.b.Base), basePrefix+strconv.FormatInt(number+1, 10))
	if m.o.Checkpoint != nil {
		err = m.o.Checkpoint(ctx, next.Base)
	} else {
		err = m.b.checkpoint(ctx, next.Base)
	}
	if err == nil {
		m.base, m.theirs, err = m.b.open(next.Base)
	}
	if err != nil {
		err = errors.Join(err, m.sweep())
	}
	return next, err
}

// take keeps the branch from others that merge or drop it, and looks it up again: it may have
// another base since, or be another branch.
func (m *merging) take() (err error) {
	dir := filepath.Dir(m.b.Dir)
	m.claim, err = takeBranch(dir, m.b.Name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !m.claim.Holds(dir) {
		return errorf(query.KindNotFound, "branch %q was dropped", m.b.Name)
	}
	if err != nil {
		return err
	}
	now, err := Dir{filepath.Dir(dir)}.Get(m.b.Name)
	if err == nil && now.ID != m.b.ID {
		err = errorf(query.KindNotFound, "branch %q was dropped, and there is another one of this name", m.b.Name)
	}
	m.b = now
	return err
}

// takeBranch claims the directory of a branch: it is merged or dropped.
func takeBranch(dir, name string) (*claim.Claim, error) {
	c, err := claim.Take(dir)
	switch {
	case errors.Is(err, claim.ErrHere) || errors.Is(err, claim.ErrElsewhere):
		return nil, errorf(query.KindBusy, "branch %q is being merged or dropped", name)
	case err != nil:
		return nil, fileError(err)
	}
	return c, nil
}

// checkpoint copies a branch that nobody has open.
func (b Branch) checkpoint(ctx context.Context, dir string) error {
	db, err := query.Open(b.Dir, query.Options{MustExist: true, GCInterval: -1, Memory: memory})
	if err != nil {
		return err
	}
	return errors.Join(db.Checkpoint(ctx, dir), db.Close())
}

// plan finds the tables and families to create, and refuses other differences.
func (m *merging) plan() error {
	base, ours, theirs := m.base.Schema(), m.ours.Schema(), m.theirs.Schema()
	did := schema.Diff(base, theirs).Changes
	var refused []string
	for _, c := range schema.Diff(ours, theirs).Changes {
		created := c.Kind == schema.CreateTable || c.Kind == schema.AddFamily
		same := func(d schema.Change) bool {
			return d.Table == c.Table && (d.Kind == c.Kind && d.Family == c.Family || created && d.Kind == schema.CreateTable)
		}
		switch {
		case slices.ContainsFunc(did, same) && created:
			m.report.Schema.Changes = append(m.report.Schema.Changes, c)
		case slices.ContainsFunc(did, same):
			refused = append(refused, c.String()+": make this change of the database, or undo it in the branch")
		case created: // the database dropped it
			refused = append(refused, c.String()+": the database has dropped it since; drop it in the branch too, or create it again")
		case c.Kind == schema.SetType || c.Kind == schema.SetAggregate:
			refused = append(refused, c.String()+": both have created this family, or created it again, in different ways")
		}
	}
	if len(refused) > 0 {
		return errorf(query.KindFailedPrecondition, "the schema of branch %q cannot be merged; nothing was written:\n%s", m.b.Name, strings.Join(refused, "\n"))
	}
	return nil
}

// find finds the rows that the branch has changed. The database, which is read at these alone,
// changes meanwhile; base and branch do not.
func (m *merging) find(ctx context.Context) error {
	m.changed = map[string][]cf.Range{}
	room := keyBytes
	for _, t := range m.theirs.Schema().Tables {
		var rows []cf.Range
		err := m.theirs.Plumbing().Diverge(ctx, t.Name, []plumbing.DB{m.base.Plumbing()}, wholly, func(c *plumbing.Column) error {
			if n := len(rows); n > 0 && rows[n-1].Start == c.Row {
				return nil
			}
			if room -= 96 + 2*len(c.Row); room < 0 {
				rows = append(rows, cf.Range{Start: c.Row})
				return errFull
			}
			rows = append(rows, cf.Single(c.Row))
			return nil
		})
		if err != nil && err != errFull {
			return err
		}
		m.changed[t.Name] = rows
	}
	return nil
}

// count counts conflicts and changes.
func (m *merging) count(ctx context.Context) error {
	m.counts = true
	defer func() { m.counts = false }()
	for _, t := range m.theirs.Schema().Tables {
		m.begin(t)
		if _, err := m.gather(ctx, m.ours.Plumbing(), ""); err != nil {
			return err
		}
	}
	return nil
}

// begin begins with a table.
func (m *merging) begin(t schema.Table) {
	m.table, m.families = t.Name, map[string]schema.Aggregate{}
	for _, f := range t.Families {
		m.families[f.Name] = f.Aggregate
	}
}

// errFull ends a comparison where the batch is full.
var errFull = errors.New("the batch is full")

// gather gathers the changes of the rows of a table from one on, until the batch is full.
// Then rest is the first row that is not in it.
func (m *merging) gather(ctx context.Context, ours plumbing.Diverging, from string) (rest string, err error) {
	others := []plumbing.DB{m.base.Plumbing(), m.theirs.Plumbing()}
	for rows := range slices.Chunk(after(m.changed[m.table], from), rowsAtOnce) {
		err = ours.Diverge(ctx, m.table, others, rows, func(c *plumbing.Column) error {
			if err := m.column(c); err != errFull {
				return err
			}
			rest = c.Row
			return errFull
		})
		if err == errFull {
			return rest, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// rowsAtOnce is how many rows are compared by one scan.
const rowsAtOnce = 512

// after are the rows from one on that are in sorted ranges.
func after(rows []cf.Range, from string) []cf.Range {
	i, _ := slices.BinarySearchFunc(rows, from, func(r cf.Range, from string) int { return strings.Compare(r.Start, from) })
	if n := len(rows); i == n && n > 0 && rows[n-1].End == "" { // the last one has all further rows
		return []cf.Range{{Start: from}}
	}
	return rows[i:]
}

// The databases of a column's versions.
const (
	inOurs = iota
	inBase
	inTheirs
)

func (m *merging) column(c *plumbing.Column) error {
	differ := func(a, b int) bool {
		return slices.ContainsFunc(c.Versions, func(v plumbing.Version) bool { return !v.In[a].Equal(v.In[b]) })
	}
	if !differ(inBase, inTheirs) || !differ(inOurs, inTheirs) {
		return nil
	}
	if differ(inBase, inOurs) {
		if m.counts {
			m.conflict(c)
		} else if m.o.Winner == NoWinner {
			return kinded{query.KindConflict, fmt.Errorf("%w: table %s, row %.80q, column %s:%.80q was written during the merge, which made %d commits", ErrConflicts, m.table, c.Row, c.Family, c.Qualifier, m.report.Commits)}
		}
		if m.o.Winner != Theirs {
			return nil
		}
	}
	row, err := m.row(c.Row)
	if err != nil {
		return err
	}
	aggregate := m.families[c.Family]
	for _, v := range c.Versions {
		if v.In[inOurs].Equal(v.In[inTheirs]) {
			continue
		}
		if m.counts {
			m.report.Cells++
		}
		if err := change(row, aggregate, c, v); err != nil {
			return err
		}
		m.size += 64 + len(c.Family) + len(c.Qualifier) + v.In[inTheirs].State.Len()
	}
	return nil
}

func (m *merging) conflict(c *plumbing.Column) {
	m.report.Conflicts++
	if len(m.report.First) == maxConflicts {
		return
	}
	m.report.First = append(m.report.First, Conflict{m.table, c.Row, c.Family, c.Qualifier, c.Newest[inBase].Value, c.Newest[inOurs].Value, c.Newest[inTheirs].Value})
}

// row is the mutation of a row.
func (m *merging) row(row string) (*write.Mutation, error) {
	if n := len(m.batch); n > 0 && m.batch[n-1].Table == m.table && m.batch[n-1].Key == row {
		return m.batch[n-1].Mutation, nil
	}
	if m.counts {
		m.report.Rows++
		m.batch = m.batch[:0]
	} else if m.size >= commitBytes {
		return nil, errFull
	}
	e := write.Entry{Table: m.table, Key: row, Mutation: write.NewMutation()}
	m.batch, m.size = append(m.batch, e), m.size+64+len(row)
	return e.Mutation, nil
}

// change makes one cell as it is in the branch. Versions come the newest first, so a delete
// that takes hidden versions along comes before these are set.
func change(to *write.Mutation, aggregate schema.Aggregate, c *plumbing.Column, v plumbing.Version) error {
	theirs := v.In[inTheirs]
	if aggregate != schema.NoAggregate || !theirs.Exists() {
		to.DeleteCell(c.Family, c.Qualifier, v.Timestamp) // an aggregate may be hidden here, and would be added to
	}
	switch sketch, isBytes := theirs.State.AsBytes(); {
	case !theirs.Exists():
	case aggregate == schema.NoAggregate:
		to.SetAt(c.Family, c.Qualifier, v.Timestamp, theirs.Value)
	case aggregate == schema.AggregateHLL:
		to.MergeAt(c.Family, c.Qualifier, v.Timestamp, sketch)
	case isBytes:
		return errorf(query.KindFailedPrecondition, "row %.80q, column %s:%.80q: the branch's sum is beyond i64, and cannot be merged", c.Row, c.Family, c.Qualifier)
	default:
		to.AddAt(c.Family, c.Qualifier, v.Timestamp, theirs.Value)
	}
	return nil
}

// write makes the changes, in transactions that compare again.
func (m *merging) write(ctx context.Context) error {
	if !m.report.Schema.Empty() {
		if err := m.ours.ApplyPlan(ctx, m.report.Schema); err != nil {
			return err
		}
	}
	tables, row := m.theirs.Schema().Tables, ""
	for len(tables) > 0 {
		var left []schema.Table
		var rest string
		err := m.ours.Update(ctx, func(tx *query.Tx) (err error) {
			m.batch, m.size = nil, 0
			left, rest = tables, row
			for len(left) > 0 {
				m.begin(left[0])
				if rest, err = m.gather(ctx, tx.Plumbing(), rest); err != nil {
					return err
				}
				if rest != "" {
					break
				}
				left = left[1:]
			}
			for _, e := range m.batch {
				if err := tx.Apply(ctx, e.Table, e.Key, e.Mutation); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(m.batch) > 0 {
			m.report.Commits++
		}
		tables, row = left, rest
	}
	return nil
}

// sweep removes the bases that are no longer in force, and those that never were.
func (m *merging) sweep() error {
	dir := filepath.Dir(m.b.Base)
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, basePrefix) && name != filepath.Base(m.b.Base) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return fileError(err)
}
