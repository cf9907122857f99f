package bigtable

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/schema"
)

// A copying is a Copy under way.
type copying struct {
	from   *Source
	to     *query.DB
	o      Options
	bound  uint64 // of the hashes of sampled keys, exclusive, or 0
	masker masker
	own    []byte // the note of this copy among others of the same target
	limit  *rate.Limiter
	record record
	tables []*table

	mu     sync.Mutex // guards what follows
	report *Report
	told   Progress
	met    []string // the masks that have replaced a value; some more than once
	// throughs are the times before which the changes of tables are in the target.
	throughs map[*table]time.Time
}

func (c *copying) check() error {
	o := &c.o
	switch {
	case c.from == nil:
		return invalid("there is no source; Dial gives one")
	case o.Sample < 0 || o.Sample > 1 || math.IsNaN(o.Sample):
		return invalid("the sample is %v; it is a share of the rows, above 0 and up to 1", o.Sample)
	case o.Rate < 0 || o.Parallel < 0:
		return invalid("rate and parallel cannot be negative")
	case o.Verify && o.Follow:
		return invalid("a copy that follows is not compared; verify it without Follow")
	case o.MaskKey != nil && len(o.MaskKey) < minKey:
		return invalid("the key of the masks has %d bytes; it needs at least %d", len(o.MaskKey), minKey)
	}
	c.limit = rate.NewLimiter(rate.Inf, 0)
	if o.Rate > 0 {
		c.limit = rate.NewLimiter(rate.Limit(o.Rate), int(min(max(o.Rate/10, 16<<10), math.MaxInt32)))
	}
	if o.Sample > 0 && o.Sample < 1 {
		c.bound = max(1, uint64(math.Ldexp(o.Sample, 64)))
	}
	o.Parallel, o.flushAt, o.noteAt, o.attempts = cmp.Or(o.Parallel, defaultParallel), cmp.Or(o.flushAt, defaultFlushAt), cmp.Or(o.noteAt, defaultNoteAt), cmp.Or(o.attempts, defaultAttempts)
	o.pause, o.heartbeat = cmp.Or(o.pause, defaultPause), cmp.Or(o.heartbeat, defaultBeat)
	if c.masker.key = o.MaskKey; len(c.masker.key) == 0 {
		c.masker.key = make([]byte, 2*minKey)
		_, _ = rand.Read(c.masker.key) // it never fails
	}
	return nil
}

// tell adds to the progress.
func (c *copying) tell(n Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told.Count.add(n)
	c.told.Fault = nil
	if c.o.Progress != nil {
		c.o.Progress(c.told)
	}
}

// reported is the report of a table.
func (c *copying) reported(t *table, change func(*TableReport)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.report.Tables[t.number])
}

// A table is copied to a table of the same name.
type table struct {
	number   int    // in the report
	id       string // also its name in the target
	declared schema.Table
	families map[string]*family // of the source
	streams  bool               // it has a change stream there
}

// A family is one of a source's table, as the target has it.
type family struct {
	schema.Family
	limits []schema.Limit
	masks  []*Mask // of its columns
}

// mask is the mask of a column, or nil.
func (f *family) mask(qualifier string) *Mask {
	for _, m := range f.masks {
		if matches(m.Qualifier, qualifier) {
			return m
		}
	}
	return nil
}

// A record is what a target notes of its copy. It stays there when the copy is whole.
type record struct {
	Source string   `json:"source"`
	Tables []string `json:"tables,omitempty"`
	Prefix []byte   `json:"prefix,omitempty"`
	Sample float64  `json:"sample,omitempty"`
	Masks  []string `json:"masks,omitempty"`
	// Key tells whether the next copy has the same key for the masks.
	Key   string `json:"key,omitempty"`
	Whole bool   `json:"whole,omitempty"`
}

const (
	recordNote = "bigtable/copy"
	planNote   = "bigtable/plan/"  // then the table: where its ranges end
	rangeNotes = "bigtable/range/" // then the table, a slash and the number of the range
	// changesNote and the table: a time, see followed.
	changesNote = "bigtable/changes/"
	runNote     = "bigtable/run" // which of the copies writes the target, see owned
	allNotes    = "bigtable/"
)

func (c *copying) setNote(ctx context.Context, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return written(ctx, "", c.to.Plumbing().SetNote(ctx, name, text))
}

func damagedNote(name string, err error) error {
	return newError(query.KindCorruption, "", "the target's note %s about its copy is damaged: %w", name, err)
}

func rangeNote(table string, number int) string {
	return fmt.Sprintf("%s%s/%04d", rangeNotes, table, number)
}

// atOnce is the run note of a target that two copies have written.
const atOnce = "two copies at once"

var errAtOnce = newError(query.KindConflict, "", "another copy has written the target at the same time, so sums may count twice; copy into a new database")

// claim notes that this copy writes the target.
func (c *copying) claim(ctx context.Context) error {
	id := uuid.New()
	c.own = []byte(id.String())
	return written(ctx, "", c.to.Plumbing().SetNote(ctx, runNote, c.own))
}

// owned is an error if another copy, of this process or of another one on TiKV, has begun
// to write the target. Either may have removed or doubled rows of the other, so neither
// goes on.
func (c *copying) owned(ctx context.Context) error {
	notes, err := c.to.Plumbing().Notes(ctx, runNote)
	if err != nil || bytes.Equal(notes[runNote], c.own) {
		return err
	}
	if err := c.to.Plumbing().SetNote(ctx, runNote, []byte(atOnce)); err != nil {
		return written(ctx, "", err)
	}
	return errAtOnce
}
