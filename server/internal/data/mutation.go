package data

import (
	"context"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// millisecond is the usual granularity of timestamps, in microseconds.
const millisecond = 1000

// A mutator converts the mutations of one request to one table for package query.
type mutator struct {
	ctx   context.Context
	db    *query.DB
	table schema.Table
	of    *catalog.Table  // as the request names it
	now   cells.Timestamp // of adds without a timestamp
	unit  int64           // timestamps are multiples of it
	round cells.Timestamp // and the server's are multiples of this
	last  *schema.Family  // the family looked up last
	exact bool            // the client says the types of values
}

// newMutator takes the time. The server's timestamps are whole milliseconds,
// except in a table of microseconds. A table that was not created through the API
// may have cells at any microsecond, and accepts such timestamps.
func (s *service) newMutator(ctx context.Context, t *catalog.Table) *mutator {
	m := &mutator{ctx: ctx, db: s.DB, table: t.Declared, of: t, now: s.DB.Now(), unit: millisecond, round: millisecond, exact: wire.WantsExact(ctx)}
	g := s.Granularity(t.Name.Stored)
	if g == adminpb.Table_MICROS {
		m.round = 1
	}
	m.now -= m.now % m.round
	if g != adminpb.Table_MILLIS {
		m.unit = 1
	}
	return m
}

func (m *mutator) family(name string) (*schema.Family, error) {
	if m.last != nil && m.last.Name == name {
		return m.last, nil
	}
	f, ok := m.table.Family(name)
	if !ok { // another process may have just added it
		m.table, _ = m.db.Plumbing().NewestTable(m.ctx, m.table.Name)
		f, ok = m.table.Family(name)
	}
	if !ok {
		return nil, status.Errorf(codes.NotFound, "column family %q not found", name)
	}
	m.last = f
	return f, nil
}

func (m *mutator) mutation(changes []*bigtablepb.Mutation) (*write.Mutation, error) {
	if len(changes) == 0 {
		return nil, wire.Invalid("No mutations provided")
	}
	to := write.NewMutation()
	for i, c := range changes {
		if err := m.add(to, c); err != nil {
			if len(changes) > 1 {
				st := status.Convert(err)
				err = status.Errorf(st.Code(), "mutation %d: %s", i, st.Message())
			}
			return nil, err
		}
	}
	return to, nil
}

func (m *mutator) add(to *write.Mutation, c *bigtablepb.Mutation) error {
	switch change := c.GetMutation().(type) {
	case *bigtablepb.Mutation_SetCell_:
		return m.setCell(to, change.SetCell, c.GetTimestampOrigin())
	case *bigtablepb.Mutation_AddToCell_:
		a := change.AddToCell
		return m.addToCell(to, "add_to_cell", a.GetFamilyName(), a.GetColumnQualifier(), a.GetTimestamp(), a.GetInput())
	case *bigtablepb.Mutation_MergeToCell_:
		a := change.MergeToCell
		return m.addToCell(to, "merge_to_cell", a.GetFamilyName(), a.GetColumnQualifier(), a.GetTimestamp(), a.GetInput())
	case *bigtablepb.Mutation_DeleteFromColumn_:
		return m.deleteFromColumn(to, change.DeleteFromColumn)
	case *bigtablepb.Mutation_DeleteFromFamily_:
		if err := m.of.View.CheckFamily(change.DeleteFromFamily.GetFamilyName()); err != nil {
			return err
		}
		f, err := m.family(change.DeleteFromFamily.GetFamilyName())
		if err != nil {
			return err
		}
		to.DeleteCellsInFamily(f.Name)
		return nil
	case *bigtablepb.Mutation_DeleteFromRow_:
		to.DeleteRow()
		return m.of.CheckWholeRow(m.ctx)
	}
	return wire.Invalid("the mutation says nothing to do")
}

func (m *mutator) column(family string, qualifier []byte) (*schema.Family, error) {
	if err := m.of.View.CheckColumn(family, wire.Text(qualifier)); err != nil {
		return nil, err
	}
	f, err := m.family(family)
	if err == nil && len(qualifier) > cells.MaxQualifier {
		err = wire.Invalid("%s: the column qualifier has %d bytes; it may have up to %d", family, len(qualifier), cells.MaxQualifier)
	}
	return f, err
}

func (m *mutator) setCell(to *write.Mutation, c *bigtablepb.Mutation_SetCell, origin bigtablepb.Mutation_TimestampOrigin) error {
	f, err := m.column(c.GetFamilyName(), c.GetColumnQualifier())
	if err != nil {
		return err
	}
	if f.Aggregate != schema.NoAggregate {
		return wire.Invalid("family %q aggregates: set_cell cannot write to it, add_to_cell can", f.Name)
	}
	micros := c.GetTimestampMicros()
	if origin == bigtablepb.Mutation_CLIENT_AUTO_GENERATED && micros > 0 {
		micros -= micros % m.unit // the client does not know the granularity
	}
	ts, err := m.timestamp(micros)
	if err != nil {
		return err
	}
	var v cells.Value
	if m.exact {
		v, err = exactValue(f, c, c.GetColumnQualifier(), c.GetValue())
	} else {
		v, err = givenValue(f, c.GetColumnQualifier(), c.GetValue())
	}
	if err != nil {
		return err
	}
	if micros == serverTime {
		to.SetRounded(f.Name, wire.Text(c.GetColumnQualifier()), m.round, v)
	} else {
		to.SetAt(f.Name, wire.Text(c.GetColumnQualifier()), ts, v)
	}
	return nil
}

// serverTime in place of a timestamp means the server's time.
const serverTime = -1

// timestamp checks a cell's timestamp, which may be the server's.
func (m *mutator) timestamp(micros int64) (cells.Timestamp, error) {
	switch {
	case micros == serverTime:
		return m.now, nil
	case micros < 0:
		return 0, wire.Invalid("timestamp %d is neither -1, for the server's, nor from 0 to %d", micros, cells.MaxTimestamp)
	case micros%m.unit != 0:
		return 0, wire.Invalid("Timestamp granularity mismatch: timestamp %d is not a multiple of %d microseconds, the table's granularity", micros, m.unit)
	}
	return cells.Timestamp(micros), nil
}

func (m *mutator) deleteFromColumn(to *write.Mutation, c *bigtablepb.Mutation_DeleteFromColumn) error {
	f, err := m.column(c.GetFamilyName(), c.GetColumnQualifier())
	if err != nil {
		return err
	}
	since, until := c.GetTimeRange().GetStartTimestampMicros(), c.GetTimeRange().GetEndTimestampMicros()
	if since < 0 || until < 0 || until != 0 && since >= until {
		return wire.Invalid("%s:%q: inverted or invalid timestamp range [%d, %d]", f.Name, c.GetColumnQualifier(), since, until)
	}
	if since%m.unit != 0 || until%m.unit != 0 {
		return wire.Invalid("Timestamp granularity mismatch: the range [%d, %d] is not one of multiples of %d microseconds, the table's granularity", since, until, m.unit)
	}
	to.DeleteTimestampRange(f.Name, wire.Text(c.GetColumnQualifier()), cells.Timestamp(since), cells.Timestamp(until))
	return nil
}

// addToCell adds an input to an aggregate. The state of a sum, a min or a max looks like
// an input, so merging a state is adding it; the state of an hll is a sketch, as in
// change streams.
func (m *mutator) addToCell(to *write.Mutation, what, family string, qualifier, timestamp, input *bigtablepb.Value) error {
	raw, ok := qualifier.GetKind().(*bigtablepb.Value_RawValue)
	if !ok {
		return wire.Invalid("%s: column_qualifier must be a raw_value", what)
	}
	f, err := m.column(family, raw.RawValue)
	if err != nil {
		return err
	}
	if f.Aggregate == schema.NoAggregate {
		return wire.Invalid("%s: family %q does not aggregate", what, family)
	}
	at, ok := timestamp.GetKind().(*bigtablepb.Value_RawTimestampMicros)
	if !ok {
		return wire.Invalid("%s: timestamp must be a raw_timestamp_micros", what)
	}
	ts, err := m.timestamp(at.RawTimestampMicros)
	if err != nil {
		return err
	}
	if what == "merge_to_cell" && f.Aggregate == schema.AggregateHLL {
		sketch, ok := input.GetKind().(*bigtablepb.Value_RawValue)
		if !ok {
			return wire.Invalid("%s: family %q has the aggregate hll, whose state is a raw_value", what, family)
		}
		to.MergeAt(f.Name, wire.Text(raw.RawValue), ts, sketch.RawValue)
		return nil
	}
	v, err := inputOf(f, input)
	if t := wire.ExactOf(input); m.exact && f.Aggregate == schema.AggregateHLL && t != cells.TypeAny {
		v, err = givenValue(&schema.Family{Name: f.Name, Type: t}, raw.RawValue, input.GetBytesValue())
	}
	if err != nil {
		return wire.Invalid("%s: %v", what, status.Convert(err).Message())
	}
	to.AddAt(f.Name, wire.Text(raw.RawValue), ts, v)
	return nil
}

func inputOf(f *schema.Family, input *bigtablepb.Value) (cells.Value, error) {
	switch v := input.GetKind().(type) {
	case *bigtablepb.Value_IntValue:
		return cells.I64(v.IntValue), nil
	case *bigtablepb.Value_RawValue:
		if f.Aggregate == schema.AggregateHLL {
			return cells.Bytes(v.RawValue), nil
		}
		return givenValue(&schema.Family{Name: f.Name, Type: cells.TypeI64}, nil, v.RawValue)
	case *bigtablepb.Value_BytesValue:
		if f.Aggregate == schema.AggregateHLL {
			return cells.Bytes(v.BytesValue), nil
		}
	case *bigtablepb.Value_StringValue:
		if f.Aggregate == schema.AggregateHLL {
			return cells.String(v.StringValue), nil
		}
	}
	return cells.Value{}, wire.Invalid("family %q has the aggregate %s, which does not take such an input", f.Name, f.Aggregate)
}
