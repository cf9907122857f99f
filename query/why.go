package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/internal/catalog"
	"github.com/smolwc/smolwc/query/internal/changes"
	"github.com/smolwc/smolwc/query/internal/fault"
	"github.com/smolwc/smolwc/query/internal/plan"
	"github.com/smolwc/smolwc/query/internal/scan"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A Why says which versions of a row's columns reads show, and why not the others.
type Why struct {
	// Versions are the stored versions, and those that the log of changes knows of, by
	// family, qualifier, timestamp and commit, the newest first.
	Versions []WhyVersion
	// Deletes are the deletes in the log that ended none of Versions: they deleted
	// nothing in these columns, or versions from before the log begins. The oldest is first.
	Deletes []WhyEnd
	// More says that there are more versions or deletes than the [MaxWhy] of each that are
	// here: of the stored ones the first, of the others those that ended last.
	More bool
	// Now is the time by which ages were judged.
	Now cells.Timestamp
	// LogBegins is the time since which the log has all changes, and LogErr says why there
	// is no log: it matches [ErrNoChangeStream] if the table has no change stream,
	// [ErrChangesGone] if the log was trimmed meanwhile, and is of the kind
	// [KindFailedPrecondition] in a database that is opened read-only or lives in a cluster. Without a log, no
	// version that is no longer stored is known, and no commit.
	LogBegins cells.Timestamp
	LogErr    error
}

// A WhyVersion is a version of a column, and its fate.
type WhyVersion struct {
	Family, Qualifier string
	Timestamp         cells.Timestamp
	// Value is the value, or the beginning of one of text or bytes that has more than
	// [MaxWhyValue] bytes; Size is the number of bytes of all of it. A version of an
	// aggregate that is no longer stored holds the last number that was added.
	Value cells.Value
	Size  int
	State WhyState
	// Newer is how many stored versions of the column are newer, if this one is stored.
	Newer int
	// Rule is the part of the family's rule that drops the version: with [WhyHidden]
	// always, with [WhyRemoved] if the age alone says so.
	Rule schema.Limit
	// Written is the commit that wrote the version; it is zero if the log does not have it.
	Written WhyCommit
	// Ended is the commit that ended the version, with [WhyDeleted] and [WhyReplaced].
	Ended WhyEnd
}

// Stored reports whether the version is stored.
func (v *WhyVersion) Stored() bool { return v.State <= WhyHidden }

// A WhyCommit is a commit in the log of changes.
type WhyCommit struct {
	Time     cells.Timestamp // by the database's clock
	Position uint64          // of its end in the log
}

// A WhyEnd is a commit that deleted or replaced versions.
type WhyEnd struct {
	WhyCommit
	// By is the delete; one of every family is of the kind [write.DeleteRowChange]. It has
	// no value. After a version that was replaced, it is a set or an add.
	By write.Change
	// Collected says that retention collected surplus versions; no user deleted anything.
	Collected bool
}

// A WhyState is the fate of a version.
type WhyState uint8

const (
	WhyVisible  WhyState = iota // reads show it
	WhyOlder                    // reads of more than one version show it
	WhyHidden                   // it is stored, and retention hides it
	WhyDeleted                  // it was deleted, by a user or a collection of surplus versions
	WhyReplaced                 // its column was written again at the same timestamp
	// WhyRemoved: it is not stored, and the log has no delete of it: retention had hidden
	// it, and a compaction, a delete of a newer version or a change of the rule removed it.
	WhyRemoved
)

// String is the state in a word.
func (s WhyState) String() string {
	names := [...]string{"visible", "older", "hidden", "deleted", "replaced", "removed"}
	return names[min(int(s), len(names)-1)]
}

const (
	// MaxWhy bounds the versions that a [Why] describes: the stored ones, the others, and
	// the deletes besides.
	MaxWhy = 2_000
	// MaxWhyValue is how many bytes of a value of text or bytes a [Why] has.
	MaxWhyValue = 256
)

// Why says which versions of a row reads show, and why not the others: of some columns, or
// without any of all. It reads the stored versions, and the log of changes if the table has
// a change stream, which takes a second for each 500 MB of the log of all tables. The result
// takes a few MiB at most, and the caller owns it. The context is looked at between blocks.
func (t *Table) Why(ctx context.Context, key string, columns ...read.ColumnSpec) (*Why, error) {
	w, err := t.why(ctx, key, columns)
	return w, fail("why", t.Name(), key, err)
}

func (t *Table) why(ctx context.Context, key string, columns []read.ColumnSpec) (*Why, error) {
	src, done, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	stored, err := src.Stored(key, columns)
	if err != nil {
		return nil, err
	}
	w := &whyNote{Why: Why{Now: src.Now}, families: len(src.Table.Families), asked: stored, stored: map[cellAt]int{}, open: map[cellAt]int{}, hold: cf.HoldingOf(ctx)}
	defer w.release()
	log, err := t.logOf(ctx, key)
	switch {
	case err == nil:
		defer log.Close()
		w.LogBegins = log.Begins()
	case fault.KindOf(err) == fault.FailedPrecondition:
		w.LogErr = err
	default:
		return nil, err
	}
	// The log is read up to its end, then the row, then the log up to the commits that are
	// under way by then: commits of the first part are in the row, and all that are in the
	// row are in one of the parts.
	if err := w.readLog(ctx, log); err != nil {
		return nil, err
	}
	seen := w.last
	if err := stored.Each(ctx, w.addStored); err != nil || w.err != nil {
		return nil, cmp.Or(err, w.err)
	}
	if log != nil {
		if err := log.Finish(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.readLog(ctx, log); err != nil {
		return nil, err
	}
	w.conclude(seen, src.Table)
	return &w.Why, nil
}

// logOf opens the log of a row's changes.
func (t *Table) logOf(ctx context.Context, key string) (*changes.Reader, error) {
	log, err := t.readChanges(ctx, []ChangesOption{ChangesIn(read.RowRange{Start: key, End: key + "\x00"}), changesOption(func(s *changes.Spec) { s.Kept = true })})
	if _, behind := t.db.state.Shared.(cf.Behind); err == nil && t.db.state.Shared != nil && !behind { // the law of why does not hold there
		log.Close()
		return nil, fault.Errorf(fault.FailedPrecondition, "in a cluster the log of changes is not read for this")
	}
	return log, err
}

// A cellAt is the place of a version.
type cellAt struct {
	family, qualifier string
	at                cells.Timestamp
}

// A whyNote is a Why in the making.
type whyNote struct {
	Why
	families int // of the table
	asked    *scan.Stored
	stored   map[cellAt]int // places in Versions
	cut      bool           // there are more stored versions
	logged   []WhyVersion   // of the log, in the order of the commits
	open     map[cellAt]int // places in logged of those that nothing ended
	last     uint64         // the last commit of the log
	hold     cf.Holding
	held     int
	err      error
}

// whyBytes is about the memory of a version with its places in the maps, besides its texts.
const whyBytes = 400

// take counts memory.
func (w *whyNote) take(n int) {
	if w.hold == nil || w.err != nil {
		return
	}
	if w.err = w.hold.Hold(n, true); w.err == nil {
		w.held += n
	}
}

func (w *whyNote) release() {
	if w.held > 0 {
		_ = w.hold.Hold(-w.held, true) // giving bytes back cannot fail
	}
}

func (w *whyNote) addStored(f *catalog.Family, c cells.Cell) bool {
	if len(w.stored) == MaxWhy {
		w.More, w.cut = true, true
		return false
	}
	v := WhyVersion{Family: f.Name, Qualifier: strings.Clone(c.Qualifier), Timestamp: c.Timestamp}
	v.Value, v.Size = whyValue(c.Value)
	if n := len(w.Versions); n > 0 && w.Versions[n-1].Family == v.Family && w.Versions[n-1].Qualifier == v.Qualifier {
		v.Newer = w.Versions[n-1].Newer + 1
		v.State = WhyOlder
	}
	for i, r := range f.Retention(w.Now) {
		if v.Newer+1 > r.Versions && int64(v.Timestamp) <= r.UpTo {
			v.State, v.Rule = WhyHidden, f.Limits[i]
			break
		}
	}
	w.stored[v.place()] = len(w.Versions)
	w.Versions = append(w.Versions, v)
	w.take(whyBytes + len(v.Qualifier) + v.Value.Len())
	return w.err == nil
}

func (v *WhyVersion) place() cellAt { return cellAt{v.Family, v.Qualifier, v.Timestamp} }

// whyValue is the beginning of a value, and its size.
func whyValue(v cells.Value) (cells.Value, int) {
	size := v.Len()
	if text, ok := v.AsString(); ok {
		cut := min(size, MaxWhyValue)
		for cut > 0 && cut < size && !utf8.RuneStart(text[cut]) {
			cut--
		}
		v = cells.String(strings.Clone(text[:cut]))
	} else if b, ok := v.AsBytes(); ok {
		v = cells.Bytes(slices.Clone(b[:min(size, MaxWhyValue)]))
	}
	return v, size
}

// readLog reads the log up to its end.
func (w *whyNote) readLog(ctx context.Context, log *changes.Reader) error {
	if log == nil || w.LogErr != nil {
		return nil
	}
	for {
		c, err := log.Next(ctx)
		switch {
		case fault.KindOf(err) == fault.FailedPrecondition: // it was trimmed, or its stream ended
			w.LogErr, w.LogBegins, w.logged, w.Deletes = err, 0, nil, nil
			return nil
		case err != nil || c == nil || w.err != nil:
			return cmp.Or(err, w.err)
		}
		w.last = uint64(c.Position)
		w.addChanges(c)
	}
}

func (w *whyNote) addChanges(c *changes.Change) {
	by := WhyEnd{WhyCommit: WhyCommit{c.Time, uint64(c.Position)}, Collected: c.Collected}
	deleted := map[string]bool{}
	for i := range c.Changes {
		if c.Changes[i].Kind == write.DeleteFamilyChange {
			deleted[c.Changes[i].Family] = true
		}
	}
	ofRow, ended := len(deleted) == w.families, false
	for i := range c.Changes {
		change := &c.Changes[i]
		by.By = *change
		by.By.Value = cells.Value{}
		switch {
		case change.Kind == write.DeleteFamilyChange && ofRow:
			by.By = write.Change{Kind: write.DeleteRowChange}
			ended = w.end(change, by) || ended
		case change.Kind == write.DeleteFamilyChange && w.asked.HasFamily(change.Family),
			change.Kind == write.DeleteVersionsChange && w.asked.Has(change.Family, change.Qualifier):
			if !w.end(change, by) {
				w.addDelete(by)
			}
		case change.Kind != write.DeleteFamilyChange && change.Kind != write.DeleteVersionsChange && w.asked.Has(change.Family, change.Qualifier):
			w.addWritten(change, by)
		}
	}
	if ofRow && !ended {
		by.By = write.Change{Kind: write.DeleteRowChange}
		w.addDelete(by)
	}
	w.dropOldest()
}

func (w *whyNote) addWritten(c *write.Change, by WhyEnd) {
	v := WhyVersion{Family: c.Family, Qualifier: c.Qualifier, Timestamp: c.Since, Written: by.WhyCommit, State: WhyRemoved}
	v.Value, v.Size = whyValue(c.Value)
	at, open := w.open[v.place()]
	if open && c.Kind != write.SetChange { // it becomes part of the same version
		w.logged[at].Written = v.Written
		w.logged[at].Value, w.logged[at].Size = v.Value, v.Size
		return
	}
	if open {
		w.logged[at].State, w.logged[at].Ended = WhyReplaced, by
	}
	w.open[v.place()] = len(w.logged)
	w.logged = append(w.logged, v)
	w.take(whyBytes + len(v.Qualifier) + v.Value.Len())
}

// end ends the versions that a change deletes, and reports whether there are any.
func (w *whyNote) end(c *write.Change, by WhyEnd) (any bool) {
	for place, at := range w.open {
		if place.family != c.Family {
			continue
		}
		if c.Kind == write.DeleteVersionsChange && (place.qualifier != c.Qualifier || place.at < c.Since || c.Until != 0 && place.at >= c.Until) {
			continue
		}
		w.logged[at].State, w.logged[at].Ended = WhyDeleted, by
		delete(w.open, place)
		any = true
	}
	return any
}

func (w *whyNote) addDelete(by WhyEnd) {
	w.Deletes = append(w.Deletes, by)
	w.take(whyBytes)
}

// dropOldest keeps the versions and deletes of the log within bounds.
func (w *whyNote) dropOldest() {
	if len(w.Deletes) > 2*MaxWhy {
		w.Deletes, w.More = slices.Delete(w.Deletes, 0, MaxWhy), true
	}
	if len(w.logged) <= 2*MaxWhy {
		return
	}
	w.logged, w.More = slices.Delete(w.logged, 0, MaxWhy), true
	for place, at := range w.open {
		if w.open[place] = at - MaxWhy; at < MaxWhy {
			delete(w.open, place)
		}
	}
}

// conclude brings the stored versions and those of the log together. Commits after the last
// one that was seen may be later than the stored versions.
func (w *whyNote) conclude(seen uint64, t *catalog.Table) {
	stored := len(w.Versions)
	same := make([]int, stored) // places in logged, from 1
	for i := range w.logged {
		at, ok := w.stored[w.logged[i].place()]
		if ok && (same[at] == 0 || w.logged[i].fits(seen) >= w.logged[same[at]-1].fits(seen)) {
			same[at] = i + 1
			w.Versions[at].Written = w.logged[i].Written
		}
	}
	for i := range w.logged {
		v := &w.logged[i]
		if at, ok := w.stored[v.place()]; ok && same[at] == i+1 {
			continue
		}
		if v.Written.Position > seen || w.cut && comparePlaces(v, &w.Versions[stored-1]) > 0 {
			continue // it came meanwhile, or may be one of the others that are stored
		}
		if v.State == WhyRemoved {
			v.Rule = expired(t, v, w.Now)
		}
		w.Versions = append(w.Versions, *v)
	}
	if n := len(w.Versions) - stored - MaxWhy; n > 0 {
		w.Versions, w.More = slices.Delete(w.Versions, stored, stored+n), true
	}
	slices.Reverse(w.Versions[stored:]) // a commit may have written a version several times
	slices.SortStableFunc(w.Versions, func(a, b WhyVersion) int {
		return cmp.Or(comparePlaces(&a, &b), cmp.Compare(a.State/WhyDeleted, b.State/WhyDeleted))
	})
	w.Deletes = slices.DeleteFunc(w.Deletes, func(d WhyEnd) bool { return d.Position > seen })
	if n := len(w.Deletes) - MaxWhy; n > 0 {
		w.Deletes, w.More = w.Deletes[n:], true
	}
}

// fits says how well a version of the log fits the one that was stored when the commits up to
// one were seen. It was there then, or came later, or it was hidden already when it was
// deleted: such a delete need not remove it.
func (v *WhyVersion) fits(seen uint64) int {
	switch {
	case v.Written.Position <= seen && (v.Ended.Position == 0 || v.Ended.Position > seen):
		return 3
	case v.Written.Position > seen:
		return 2
	}
	return 1
}

func comparePlaces(a, b *WhyVersion) int {
	return cmp.Or(strings.Compare(a.Family, b.Family), strings.Compare(a.Qualifier, b.Qualifier), cmp.Compare(b.Timestamp, a.Timestamp))
}

// expired is the part of a family's rule that drops a version by its age alone; it is zero
// if none does.
func expired(t *catalog.Table, v *WhyVersion, now cells.Timestamp) schema.Limit {
	f, err := t.Family(v.Family)
	if err != nil || len(f.Limits) == 0 || f.Limits[0].Versions > 0 || int64(v.Timestamp) > f.Retention(now)[0].UpTo {
		return schema.Limit{}
	}
	return f.Limits[0]
}

// A WhyNot says why conditions leave a row out, or that they do not.
type WhyNot struct {
	// Parts are the conditions, each before its terms, which are of a greater depth. Of
	// values of text and bytes they have the first [MaxWhyValue] bytes.
	Parts []read.Part
	// Holds says that all conditions hold, and Exists that the row has a visible cell: a
	// read with the conditions shows the rows of which both are true.
	Holds, Exists bool
}

// WhyNot judges conditions on a row part by part: which are true, which are false, and
// which are neither, since a cell is absent. The caller owns the result.
func (t *Table) WhyNot(ctx context.Context, key string, conditions ...read.Condition) (*WhyNot, error) {
	w, err := t.whyNot(ctx, key, conditions)
	return w, fail("why not", t.Name(), key, err)
}

func (t *Table) whyNot(ctx context.Context, key string, conditions []read.Condition) (*WhyNot, error) {
	src, done, err := t.source(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := catalog.CheckRowKey(key); err != nil {
		return nil, err
	}
	prepared, err := plan.Prepare(src.Table, conditions)
	if err != nil {
		return nil, err
	}
	snap, err := src.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	w := &WhyNot{Holds: true}
	if w.Parts, w.Exists, err = src.Judge(ctx, snap, key, prepared); err != nil {
		return nil, err
	}
	for i := range w.Parts {
		p := &w.Parts[i]
		p.Value, _ = whyValue(p.Value)
		p.Other, _ = whyValue(p.Other)
		w.Holds = w.Holds && (p.Depth > 0 || p.Verdict == read.Yes)
	}
	return w, nil
}
