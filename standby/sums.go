package standby

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/cf/tally"
)

// A rangeSum is the sum of a range of rows.
type rangeSum struct {
	tally.Sum
	rows  int64
	first string // the key of the first row
}

func (s *rangeSum) add(t rangeSum) {
	s.Sum.Add(t.Sum)
	if s.rows == 0 {
		s.first = t.first
	}
	s.rows += t.rows
}

// same reports whether both are sums of the same cells.
func (s rangeSum) same(t rangeSum) bool { return s.Sum == t.Sum && s.rows == t.rows }

func (s rangeSum) message() *smolwcpb.Sum {
	return &smolwcpb.Sum{Rows: s.rows, Cells: s.Cells, Bytes: s.Bytes, Checksum: s.Checksum, First: []byte(s.first)}
}

func rangeSumOf(m *smolwcpb.Sum) rangeSum {
	return rangeSum{tally.Sum{Cells: m.GetCells(), Bytes: m.GetBytes(), Checksum: m.GetChecksum()}, m.GetRows(), string(m.GetFirst())}
}

// A part is a range of the rows of some families, all of one table. Of each family, the
// cells from a timestamp on count. Without families it is a range of the catalog's
// entries.
type part struct {
	families []string
	since    map[string]int64
	rows     cf.Range
}

func (p part) message() *smolwcpb.SumRange {
	m := &smolwcpb.SumRange{Start: []byte(p.rows.Start), End: []byte(p.rows.End)}
	for _, f := range p.families {
		m.Families = append(m.Families, &smolwcpb.SumFamily{Name: f, Since: p.since[f]})
	}
	return m
}

func partOf(m *smolwcpb.SumRange) part {
	p := part{since: map[string]int64{}, rows: cf.Range{Start: string(m.GetStart()), End: string(m.GetEnd())}}
	for _, f := range m.GetFamilies() {
		p.families = append(p.families, f.GetName())
		p.since[f.GetName()] = f.GetSince()
	}
	return p
}

// sum adds the part up as of a moment, and calls row for each row. Families that the store
// does not have then are empty.
func (p part) sum(ctx context.Context, at *cf.LogSnapshot, row func(key string)) (s rangeSum, err error) {
	each := func(key string) {
		if s.rows++; s.rows == 1 {
			s.first = key
		}
		if row != nil {
			row(key)
		}
	}
	if len(p.families) == 0 {
		return s, p.sumCatalog(ctx, at, &s, each)
	}
	var scans []cf.Scan
	for _, f := range p.families {
		if slices.Contains(at.Families, f) {
			scans = append(scans, cf.Scan{Family: f, Rows: []cf.Range{p.rows}, Filter: cf.Filter{Since: p.since[f]}})
		}
	}
	s.Sum, _, err = tally.Rows(ctx, at, scans, each)
	return s, err
}

// sumCatalog adds up entries of the catalog.
func (p part) sumCatalog(ctx context.Context, at *cf.LogSnapshot, to *rangeSum, row func(key string)) error {
	entries, err := at.MetaPrefix(ctx, "")
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if key >= p.rows.Start && (p.rows.End == "" || key < p.rows.End) {
			row(key)
			to.Sum.Add(tally.Entry(key, entries[key]))
		}
	}
	return nil
}

// Sums implements [smolwcpb.StandbysServer].
func (f *feed) Sums(stream smolwcpb.Standbys_SumsServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	go func() {
		select {
		case <-f.closed:
			cancel()
		case <-ctx.Done():
		}
	}()
	first, err := askedBy(stream)
	if err != nil {
		return err
	}
	store, err := f.summed(ctx, first.GetHello())
	if err != nil {
		return err
	}
	at, err := store.LogSnapshot(ctx)
	if err != nil {
		return err
	}
	defer at.Close()
	m := &smolwcpb.SumsResponse{Position: uint64(at.At), Families: at.Families}
	m.Crc = crcOfSummed(m)
	if err := stream.Send(m); err != nil {
		return err
	}
	for {
		m, err := askedBy(stream)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if m.GetResult() != nil {
			f.hearResult(first.GetHello().GetName(), m.GetResult())
			continue
		}
		if m.GetRange() == nil {
			return status.Error(codes.InvalidArgument, "a request after the first one is neither a range nor a result")
		}
		if err := answer(ctx, stream, store, at, partOf(m.GetRange())); err != nil {
			return err
		}
	}
}

// askedBy is the next request.
func askedBy(stream smolwcpb.Standbys_SumsServer) (*smolwcpb.SumsRequest, error) {
	m, err := stream.Recv()
	if err == nil {
		err = intact(m.GetCrc(), crcOfAsked(m))
	}
	return m, err
}

// ask sends a request, and answered is the next response.
func (c *comparison) ask(m *smolwcpb.SumsRequest) error {
	m.Crc = crcOfAsked(m)
	return c.there.Send(m)
}

func (c *comparison) answered() (*smolwcpb.SumsResponse, error) {
	m, err := c.there.Recv()
	if err == nil {
		err = intact(m.GetCrc(), crcOfSummed(m))
	}
	return m, err
}

// answer sends the sum of a part.
func answer(ctx context.Context, stream smolwcpb.Standbys_SumsServer, store cf.Shipper, at *cf.LogSnapshot, p part) error {
	s, err := p.sum(ctx, at, nil)
	if err != nil {
		return err
	}
	m := &smolwcpb.SumsResponse{Sum: s.message()}
	for _, name := range p.families { // after the scan: until now cells could be dropped from it
		m.Dropped = append(m.Dropped, store.DroppedBefore(name))
	}
	m.Crc = crcOfSummed(m)
	return stream.Send(m)
}

// summed checks a standby that is to be compared with the store: positions mean the same
// in both only within one history and epoch.
func (f *feed) summed(ctx context.Context, hello *smolwcpb.SumsHello) (cf.Shipper, error) {
	store, err := f.shipper()
	if err := cmp.Or(err, f.checkUsable()); err != nil {
		return nil, err
	}
	id, err := identify(ctx, store)
	if err != nil {
		return nil, err
	}
	switch now := id.history.Current(); {
	case hello == nil:
		return nil, status.Error(codes.InvalidArgument, "the first request is no hello")
	case hello.GetDatabase() != id.uuid || hello.GetHistory() != id.history.ID:
		return nil, status.Error(codes.FailedPrecondition, "this server has another database, or another history of it")
	case epochOf(hello.GetEpoch()) != now:
		return nil, status.Errorf(codes.Unavailable, "this server has epoch %d, and the standby follows epoch %d", now.Number, hello.GetEpoch().GetNumber())
	}
	return store, nil
}

// hearResult records what a standby found.
func (f *feed) hearResult(standby string, v *smolwcpb.Verification) {
	v.Tables = nil
	f.mu.Lock()
	f.verified[standby] = v
	f.mu.Unlock()
	if v.GetDifference() != "" {
		f.logger.Error("a standby differs from this server, and is rebuilt", "standby", standby, "position", v.GetPosition(), "difference", v.GetDifference())
		return
	}
	f.logger.Info("a standby has compared itself with this server, and is equal", "standby", standby, "position", v.GetPosition())
}
