package bigtable

import (
	"context"
	"slices"

	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

// A part is a range of the rows of a table that is copied, and how far. It is the sink of
// its reading.
type part struct {
	reading
	note string // the name of its note
	done progress

	batch   *write.Batch
	changes []write.Change // of the row key, after those in batch
	key     string
	size    int  // of batch and changes, in bytes
	number  int  // of changes in both
	open    bool // the row has begun and not ended
	partly  bool // cells of the open row have been written
	row     Count
	counted Count // of the rows that ended and are not in done
	since   int   // bytes that were written since the last note
	through string
}

// A progress is the note of a part: the rows up to Through are copied.
type progress struct {
	Through []byte `json:"through,omitempty"`
	Count   Count  `json:"count"`
	Done    bool   `json:"done,omitempty"`
	// Met are the masks that have replaced a value.
	Met []string `json:"met,omitempty"`
}

func (p *part) copy(ctx context.Context) error {
	p.batch, p.through = write.NewBatch(), p.reading.last
	if err := p.clear(ctx); err != nil {
		return err
	}
	if err := p.run(ctx); err != nil {
		return err
	}
	p.abandon()
	if err := p.flush(ctx); err != nil {
		return err
	}
	p.done.Done = true
	return p.store(ctx)
}

// clear removes what was written after the last note: adds of aggregates must not count
// twice, and rows may be gone since.
func (p *part) clear(ctx context.Context) error {
	set := read.RowSet{Ranges: []cf.Range{p.rows}}
	if p.through != "" {
		set.Ranges = cf.ClipRanges(set.Ranges, cf.Range{Start: p.through + "\x00"})
	}
	if len(set.Ranges) == 0 {
		return nil
	}
	table := p.c.to.Table(p.t.id)
	for _, err := range table.ReadRows(ctx, set, read.Limit(1), read.KeysOnly()) {
		if err != nil {
			return err
		}
		return written(ctx, p.t.id, table.DeleteRange(ctx, set))
	}
	return nil
}

func (p *part) begin(_ context.Context, key string) error {
	p.abandon()
	p.key, p.open, p.row = key, true, Count{Rows: 1, Bytes: int64(len(key))}
	p.size += len(key)
	return nil
}

// abandon takes back a row that begins anew, or is gone after its first cells came.
func (p *part) abandon() {
	switch {
	case !p.open:
		return
	case p.partly: // the batch has nothing else
		p.size, p.number = len(p.key), 1
		m := write.NewMutation()
		m.DeleteRow()
		p.batch.Add(p.t.id, p.key, m)
	default:
		p.size, p.number = p.size-int(p.row.Bytes), p.number-int(p.row.Cells)
	}
	p.changes, p.open, p.partly = nil, false, false
}

func (p *part) cell(ctx context.Context, f *family, qualifier string, ts cells.Timestamp, v cells.Value) error {
	change := write.Change{Kind: write.SetChange, Family: f.Name, Qualifier: qualifier, Since: ts, Value: v}
	if f.Aggregate != schema.NoAggregate {
		change.Kind = write.AddChange
	}
	p.changes = append(p.changes, change)
	n := len(qualifier) + size(v)
	p.row.Cells++
	p.row.Bytes += int64(n)
	p.size += n
	if p.number++; p.size < p.c.o.flushAt && p.number < changesAtMost {
		return nil
	}
	return p.flush(ctx)
}

func (p *part) end(ctx context.Context) error {
	p.add()
	p.open, p.partly, p.through = false, false, p.key
	p.counted.add(p.row)
	return p.noted(ctx)
}

func (p *part) passed(ctx context.Context, key string) error {
	p.abandon()
	p.through = key
	return p.noted(ctx)
}

// size is the number of bytes of a value on disk, without its type.
func size(v cells.Value) int { return v.EncodedLen() - 1 }

// add moves the changes of the row into the batch.
func (p *part) add() {
	if len(p.changes) > 0 {
		p.batch.Add(p.t.id, p.key, write.MutationOf(p.changes))
		p.changes = nil
	}
}

func (p *part) flush(ctx context.Context) error {
	p.add()
	if p.batch.Len() == 0 {
		return nil
	}
	if err := p.c.to.Apply(ctx, p.batch); err != nil {
		return written(ctx, p.t.id, err)
	}
	p.since += p.size
	p.batch, p.size, p.number, p.partly = write.NewBatch(), 0, 0, p.open
	return nil
}

// noted notes how far the part is, if much was written since.
func (p *part) noted(ctx context.Context) error {
	if p.since+p.size < p.c.o.noteAt {
		return nil
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	return p.store(ctx)
}

// counts reports a number of rows that were copied, now or before.
func (p *part) counts(n Count) {
	p.c.reported(p.t, func(r *TableReport) {
		r.Copied.add(n)
		p.c.met = append(p.c.met, p.done.Met...)
	})
	p.c.tell(n)
}

// store notes how far the part is. The note is synced, and so is what was written before.
func (p *part) store(ctx context.Context) error {
	p.done.Through, p.since = []byte(p.through), 0
	p.done.Count.add(p.counted)
	for m := range p.met {
		if text := m.String(); !slices.Contains(p.done.Met, text) {
			p.done.Met = append(p.done.Met, text)
		}
	}
	if err := p.c.owned(ctx); err != nil {
		return err
	}
	if err := p.c.setNote(ctx, p.note, &p.done); err != nil {
		return err
	}
	n := p.counted
	p.counted = Count{}
	p.counts(n)
	return nil
}
