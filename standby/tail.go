package standby

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Tail reads the changes in a directory after the position up to which it agrees with
// the server that was promoted in its place. It belongs to one goroutine.
type Tail struct {
	After  uint64 // this position
	Last   uint64 // the directory's newest one
	Reason string // for which the directory is no longer followed or followed by others

	store   cf.Follower
	log     cf.Log
	names   map[string]string // of tables by their names in the store
	waiting []*TailChange     // of the last record
}

// A TailChange is one step of a [Tail].
type TailChange struct {
	Position uint64 // at which the change is, or shortly before
	Table    string // "" if its family is gone
	// Key is the row, and Changes are what was written to it.
	Key     string
	Changes []write.Change
	// Other describes what is no change of one row: a range of rows that was deleted, a
	// change of the schema, or a load whose cells are not in the log.
	Other string
}

// ErrNoTail matches the errors of a directory whose tail is not known or no longer there.
var ErrNoTail = errors.New("the directory does not have its own changes")

// OpenTail opens the tail of a directory: one that was kept aside, as the file DIVERGED in
// it says, or the directory of a primary in whose place a standby was promoted. Nothing is
// written. If the log does not reach back that far, or the position is not known, the
// error matches [ErrNoTail].
func OpenTail(ctx context.Context, dir string) (*Tail, error) {
	if ctx == nil {
		return nil, errors.New("the context is nil; context.Background gives one")
	}
	t, err := readTail(dir)
	if err != nil {
		return nil, err
	}
	if t.store, err = openTail(dir); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	t.Last = uint64(t.store.Latest())
	if t.Last > t.After {
		t.log, err = t.store.Log(cf.Position(t.After))
	}
	switch {
	case errors.Is(err, cf.ErrTrimmed):
		err = fmt.Errorf("%w: its log no longer begins at position %d", ErrNoTail, t.After)
	case errors.Is(err, cf.ErrDiverged):
		err = fmt.Errorf("%w: its log has no record that ends at position %d", ErrNoTail, t.After)
	}
	if err == nil {
		t.names, err = namesIn(ctx, t.store)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, errors.Join(err, t.Close()))
	}
	return t, nil
}

// readTail reads where the tail of a directory begins.
func readTail(dir string) (*Tail, error) {
	if !hasDatabase(dir) {
		return nil, fmt.Errorf("%s has no database", dir)
	}
	var own tail
	kept, err := readFile(dir, divergedFile, &own)
	if err != nil || own.After > 0 {
		return &Tail{After: own.After, Reason: own.Reason}, err
	}
	if kept {
		return nil, fmt.Errorf("%s: %w: %s", dir, ErrNoTail, own.Reason)
	}
	var by fence
	fenced, err := readFile(dir, plumbing.FencedFile, &by)
	if err != nil {
		return nil, err
	}
	if !fenced {
		return nil, fmt.Errorf("%s: %w: it has neither the file %s nor the file %s, which say where they begin", dir, ErrNoTail, divergedFile, plumbing.FencedFile)
	}
	return &Tail{After: by.After, Reason: by.refusal().Error()}, nil
}

// namesIn are the tables by their names in the store.
func namesIn(ctx context.Context, store cf.Reader) (map[string]string, error) {
	snap, err := store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	entries, err := snap.MetaPrefix(ctx, "")
	return tableNames(entries), err
}

// tableNames are the tables of a catalog by their names in the store.
func tableNames(entries map[string][]byte) map[string]string {
	names := map[string]string{}
	for key, value := range entries {
		if table, ok := strings.CutPrefix(key, "table/"); ok && entries["store/"+table] == nil {
			names[table] = table
		} else if table, ok := strings.CutPrefix(key, "store/"); ok {
			names[string(value)] = table
		}
	}
	return names
}

// Next is the next change, nil at the end. The change belongs to the caller.
func (t *Tail) Next(ctx context.Context) (*TailChange, error) {
	if t == nil || t.log == nil {
		return nil, nil
	}
	for len(t.waiting) == 0 {
		r, err := t.log.Next(ctx)
		if r == nil || err != nil {
			return nil, err
		}
		at := uint64(r.After)
		err = t.store.Ops(r, func(op *cf.LoggedOp) error {
			at++
			return t.take(min(at, uint64(r.Last)), op)
		})
		if err != nil {
			return nil, fmt.Errorf("%w: record %d of the log: %w", cf.ErrCorrupt, r.After+1, err)
		}
	}
	next := t.waiting[0]
	t.waiting = t.waiting[1:]
	return next, nil
}

// Close ends the reading.
func (t *Tail) Close() error {
	if t == nil || t.store == nil {
		return nil
	}
	if t.log != nil {
		t.log.Close()
	}
	return t.store.Close()
}

// take notes one operation. Those on one row that come one after the other are one change.
func (t *Tail) take(at uint64, op *cf.LoggedOp) error {
	if op.Family == "" {
		t.takeEntry(at, op)
		return nil
	}
	table, family, ok := cutFamily(op.Family)
	if name := t.names[table]; ok && name != "" {
		table = name
	} else if ok {
		table += " (deleted)"
	}
	if table == schema.HistoryTable { // the server's own samples of its metrics
		return nil
	}
	key, change, other, err := changeOf(op, family)
	if err != nil {
		if isToken(op.Key) || op.Kind == cf.OpDelete { // Pebble's Compact deletes keys that no cell has
			return nil
		}
		return err
	}
	if n := len(t.waiting); n > 0 && other == "" && t.waiting[n-1].Other == "" && t.waiting[n-1].Table == table && t.waiting[n-1].Key == key {
		t.waiting[n-1].Changes = append(t.waiting[n-1].Changes, change)
		return nil
	}
	c := &TailChange{Position: at, Table: table, Key: key, Other: other}
	if other == "" {
		c.Changes = []write.Change{change}
	}
	t.waiting = append(t.waiting, c)
	return nil
}

// isToken reports whether a key in a family is the store's own: a mark of a load.
func isToken(key []byte) bool { return len(key) > 0 && key[0] == 0 }

// cutFamily takes the name of a family in the store apart.
func cutFamily(stored string) (table, family string, ok bool) {
	i := strings.LastIndexByte(stored, '/')
	if i < 0 {
		return "", stored, false
	}
	return stored[:i], stored[i+1:], true
}

// takeEntry notes a change of the catalog that says dirForeign to a reader of the tail.
func (t *Tail) takeEntry(at uint64, op *cf.LoggedOp) {
	key := string(op.Key)
	table, ofTable := strings.CutPrefix(key, "table/")
	ofTable = ofTable && table != schema.HistoryTable
	id, ofLoad := strings.CutPrefix(key, cf.LoadedPrefix)
	switch {
	case ofLoad:
		for _, w := range t.waiting { // a load writes several marks
			if strings.Contains(w.Other, id) {
				return
			}
		}
		t.waiting = append(t.waiting, &TailChange{Position: at, Other: fmt.Sprintf("the cells of a load (%s), which are not in the log", id)})
	case ofTable && op.Kind == cf.OpPut:
		t.waiting = append(t.waiting, &TailChange{Position: at, Table: table, Other: "the table was declared"})
	case ofTable:
		t.waiting = append(t.waiting, &TailChange{Position: at, Table: table, Other: "the table was dropped"})
	}
}

// changeOf is the change that an operation makes in one row; other describes one in a range
// of rows.
func changeOf(op *cf.LoggedOp, family string) (key string, c write.Change, other string, err error) {
	c.Family = family
	if op.Kind == cf.OpDeleteRange {
		d, err := cf.SplitDeletedRange(op.Key, op.Value)
		row, single := d.Rows.Single()
		switch {
		case err != nil:
		case d.Column:
			c.Kind, c.Qualifier, c.Since, c.Until = write.DeleteVersionsChange, d.Qualifier, cells.Timestamp(d.Since), cells.Timestamp(d.Until)
		case single:
			c.Kind = write.DeleteFamilyChange
		case d.Rows.End == "":
			other = fmt.Sprintf("the rows from %q on were deleted in family %s", d.Rows.Start, family)
		default:
			other = fmt.Sprintf("the rows from %q to before %q were deleted in family %s", d.Rows.Start, d.Rows.End, family)
		}
		return row, c, other, err
	}
	row, qualifier, ts, err := cf.SplitCellKey(op.Key)
	if err != nil {
		return "", c, "", err
	}
	c.Qualifier, c.Since = string(qualifier), cells.Timestamp(ts)
	value := op.Value
	switch op.Kind {
	case cf.OpDelete:
		c.Kind, c.Until = write.DeleteVersionsChange, c.Since+1
		return string(row), c, "", nil
	case cf.OpMerge:
		if len(value) == 0 {
			return "", c, "", errors.New("an add of nothing")
		}
		c.Kind = write.AddChange
		if cf.MergeKind(value[0]) == cf.MergeDistinct {
			c.Kind = write.MergeChange
		}
		value = value[1:]
	}
	c.Value, err = cells.DecodeValue(value)
	return string(row), c, "", err
}
