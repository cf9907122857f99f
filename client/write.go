package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
)

// Apply applies a mutation to a row. It is tried once: when the connection
// breaks, it is unknown whether the mutation took effect.
func (t *Table) Apply(ctx context.Context, key string, m *write.Mutation) error {
	const op = "apply"
	t, err := t.ready(ctx)
	if err != nil {
		return clientError(op, t.name, key, err)
	}
	changes, err := t.mutations(m)
	if err == nil {
		_, err = t.client.data.MutateRow(ctx, &bigtablepb.MutateRowRequest{TableName: t.client.name(t.name), RowKey: []byte(key), Mutations: changes})
	}
	return clientError(op, t.name, key, err)
}

// ApplyBulk makes many mutations, ms[i] of the row keys[i], as [query.Table.ApplyBulk]
// does. It is tried once, like Apply: after an error the outcome of rows may be unknown.
func (t *Table) ApplyBulk(ctx context.Context, keys []string, ms []*write.Mutation) (errs []error, err error) {
	const op = "apply bulk"
	t, err = t.ready(ctx)
	if err != nil {
		return nil, clientError(op, t.name, "", err)
	}
	if len(keys) != len(ms) {
		return nil, clientError(op, t.name, "", wire.Invalid("%d row keys and %d mutations; the numbers must be equal", len(keys), len(ms)))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	b := bulkWrite{t: t, keys: keys}
	req, from, n := &bigtablepb.MutateRowsRequest{TableName: t.client.name(t.name)}, 0, 0
	for i, m := range ms {
		changes, err := t.mutations(m)
		if err != nil {
			return nil, clientError(op, t.name, keys[i], err)
		}
		if n+len(changes) > maxChanges && n > 0 {
			if err := b.send(ctx, req, from); err != nil {
				return nil, clientError(op, t.name, "", err)
			}
			req.Entries, from, n = nil, i, 0
		}
		req.Entries = append(req.Entries, &bigtablepb.MutateRowsRequest_Entry{RowKey: []byte(keys[i]), Mutations: changes})
		n += len(changes)
	}
	if err := b.send(ctx, req, from); err != nil {
		return nil, clientError(op, t.name, "", err)
	}
	return b.errs, nil
}

// maxChanges is how many changes a request may have.
const maxChanges = 100_000

// A bulkWrite is a write of many rows, in one request or several.
type bulkWrite struct {
	t    *Table
	keys []string
	errs []error // nil until a row fails
}

// send sends a request with the rows from number from on, and notes their errors.
func (b *bulkWrite) send(ctx context.Context, req *bigtablepb.MutateRowsRequest, from int) error {
	stream, err := b.t.client.data.MutateRows(ctx, req)
	for answered := 0; err == nil; {
		var resp *bigtablepb.MutateRowsResponse
		if resp, err = stream.Recv(); errors.Is(err, io.EOF) {
			if answered < len(req.Entries) {
				return status.Error(codes.Unknown, "the server has not answered for all rows")
			}
			return nil
		}
		for _, e := range resp.GetEntries() {
			answered++
			i := e.GetIndex()
			if e.GetStatus().GetCode() == 0 || i < 0 || i >= int64(len(req.Entries)) {
				continue
			}
			if b.errs == nil {
				b.errs = make([]error, len(b.keys))
			}
			b.errs[from+int(i)] = clientError("apply bulk", b.t.name, b.keys[from+int(i)], status.ErrorProto(e.GetStatus()))
		}
	}
	return err
}

// Apply makes all mutations of a batch, over rows and tables, or none of them, as
// [query.DB.Apply] does. It is tried once. If the connection breaks or the context ends
// while the server works, the kind of the error is [query.KindUnknownOutcome]: a batch that
// is applied again adds to aggregates twice. Only smolwc's servers have batches.
func (c *Client) Apply(ctx context.Context, b *write.Batch) error {
	const op = "apply batch"
	if err := c.known(ctx); err != nil {
		return clientError(op, "", "", err)
	}
	req := &smolwcpb.ApplyBatchRequest{}
	for _, e := range b.Entries() {
		t, err := c.Table(e.Table).ready(ctx)
		if err != nil {
			return clientError(op, e.Table, e.Key, err)
		}
		changes, err := t.mutations(e.Mutation)
		if err != nil {
			return clientError(op, e.Table, e.Key, err)
		}
		req.Entries = append(req.Entries, &smolwcpb.ApplyBatchRequest_Entry{TableName: c.name(e.Table), RowKey: []byte(e.Key), Mutations: changes})
	}
	var at peer.Peer
	var trailer metadata.MD
	_, err := c.batches.ApplyBatch(ctx, req, grpc.Peer(&at), grpc.Trailer(&trailer))
	switch {
	case status.Code(err) == codes.Unimplemented:
		err = status.Error(codes.FailedPrecondition, "the server has no batches: it is not smolwc serve, or an older one, and only the changes of one row are atomic there")
	case at.Addr != nil && len(trailer) == 0 && withoutAnswer(status.Code(err)): // it was sent
		e, _ := errors.AsType[*query.Error](clientError(op, "", "", err))
		e.Kind, e.Err = query.KindUnknownOutcome, fmt.Errorf("no answer came, and the batch may have been written: %w", e.Err)
		return e
	}
	return clientError(op, "", "", err)
}

// withoutAnswer reports whether gRPC gives a code to calls that end without an answer.
func withoutAnswer(c codes.Code) bool {
	switch c {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Internal, codes.Unknown:
		return true
	}
	return false
}

func (t *Table) mutations(m *write.Mutation) ([]*bigtablepb.Mutation, error) {
	var list []*bigtablepb.Mutation
	for i := range m.Changes() {
		message, err := t.mutation(&m.Changes()[i])
		if err != nil {
			return nil, err
		}
		list = append(list, message)
	}
	return list, nil
}

func (t *Table) mutation(c *write.Change) (*bigtablepb.Mutation, error) {
	m := wire.Mutation(c)
	if c.Kind != write.SetChange {
		return m, nil
	}
	f, ok := t.declared.Family(c.Family)
	if ok && f.Type != cells.TypeAny && f.Type != c.Value.Type() {
		return nil, wire.Invalid("%s:%q: the value is %s, and the family's type is %s", c.Family, c.Qualifier, c.Value.Type(), f.Type)
	}
	wire.SetExact(m.GetSetCell(), c.Value.Type())
	return m, t.checkKept(c.Family, c.Value.Type())
}

// checkKept refuses a value that the server would keep with another type.
func (t *Table) checkKept(family string, of cells.Type) error {
	f, ok := t.declared.Family(family)
	if ok && f.Type != cells.TypeAny || of == cells.TypeBytes || t.client.isExact() {
		return nil
	}
	return wire.Invalid("family %s declares no type, and this server would keep the %s as bytes; declare one, as in alter table %s set %s type=%s", family, of, t.name, family, of)
}

// CheckAndMutate applies one of two mutations, depending on a condition.
func (t *Table) CheckAndMutate(ctx context.Context, key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (bool, error) {
	const op = "check and mutate"
	t, err := t.ready(ctx)
	if err != nil {
		return false, clientError(op, t.name, key, err)
	}
	req, absent, err := t.checkRequest(key, predicate, ifTrue, ifFalse)
	if err != nil {
		return false, clientError(op, t.name, key, err)
	}
	resp, err := t.client.data.CheckAndMutateRow(ctx, req)
	return resp.GetPredicateMatched() != absent && err == nil, clientError(op, t.name, key, err)
}

// checkRequest returns the message. If absent is true, the condition is negated and the
// two mutations are swapped.
func (t *Table) checkRequest(key string, predicate read.Option, ifTrue, ifFalse *write.Mutation) (req *bigtablepb.CheckAndMutateRowRequest, absent bool, err error) {
	want, err := read.New(predicate)
	if err != nil {
		return nil, false, wire.Invalid("%v", err)
	}
	if len(want.Where) != 1 {
		return nil, false, wire.Invalid("over the network the condition of a cas is about one column")
	}
	absent = want.Where[0].Kind == read.IsAbsent
	if absent {
		ifTrue, ifFalse = ifFalse, ifTrue
	}
	req = &bigtablepb.CheckAndMutateRowRequest{TableName: t.client.name(t.name), RowKey: []byte(key)}
	if req.PredicateFilter, err = t.predicate(want.Where[0]); err != nil {
		return nil, false, err
	}
	if req.TrueMutations, err = t.mutations(ifTrue); err != nil {
		return nil, false, err
	}
	req.FalseMutations, err = t.mutations(ifFalse)
	return req, absent, err
}

// ApplyReadModifyWrite changes cells depending on their values.
func (t *Table) ApplyReadModifyWrite(ctx context.Context, key string, m *write.ReadModifyWrite) (*query.Row, error) {
	const op = "read-modify-write"
	t, err := t.ready(ctx)
	if err != nil {
		return nil, clientError(op, t.name, key, err)
	}
	req := &bigtablepb.ReadModifyWriteRowRequest{TableName: t.client.name(t.name), RowKey: []byte(key)}
	for _, r := range m.Rules() {
		rule := &bigtablepb.ReadModifyWriteRule{FamilyName: r.Family, ColumnQualifier: []byte(r.Qualifier)}
		of := cells.TypeI64
		if r.Appends {
			rule.Rule, of = &bigtablepb.ReadModifyWriteRule_AppendValue{AppendValue: r.Append}, r.Absent
		} else {
			rule.Rule = &bigtablepb.ReadModifyWriteRule_IncrementAmount{IncrementAmount: r.Delta}
		}
		if err := t.checkKept(r.Family, of); err != nil {
			return nil, clientError(op, t.name, key, err)
		}
		wire.SetExact(rule, of)
		req.Rules = append(req.Rules, rule)
	}
	resp, err := t.client.data.ReadModifyWriteRow(ctx, req)
	if err != nil {
		return nil, clientError(op, t.name, key, err)
	}
	var cs []cells.Cell
	for _, f := range resp.GetRow().GetFamilies() {
		for _, col := range f.GetColumns() {
			for _, c := range col.GetCells() {
				v := t.decoded(f.GetName(), wire.ExactOf(c), c.GetValue())
				cs = append(cs, cells.Cell{Family: f.GetName(), Qualifier: string(col.GetQualifier()), Timestamp: cells.Timestamp(c.GetTimestampMicros()), Value: v})
			}
		}
	}
	return query.NewRow(key, cs), nil
}

// DeleteRange deletes rows: a prefix, or all, at once, and other sets some rows at a
// time, so that an error may come when a part is deleted.
func (t *Table) DeleteRange(ctx context.Context, rows read.RowSet) error {
	const op = "delete range"
	t, err := t.ready(ctx)
	if err != nil {
		return clientError(op, t.name, "", err)
	}
	if rows.Err != nil {
		return clientError(op, t.name, "", wire.Invalid("%v", rows.Err))
	}
	req := &adminpb.DropRowRangeRequest{Name: t.client.name(t.name)}
	switch ranges := cf.MergeRanges(rows.Ranges); {
	case len(ranges) == 1 && ranges[0] == read.RowRange{}:
		req.Target = &adminpb.DropRowRangeRequest_DeleteAllDataFromTable{DeleteAllDataFromTable: true}
	case len(ranges) == 1 && ranges[0] == cf.Prefix(ranges[0].Start):
		req.Target = &adminpb.DropRowRangeRequest_RowKeyPrefix{RowKeyPrefix: []byte(ranges[0].Start)}
	default:
		return clientError(op, t.name, "", t.deleteEach(ctx, rows))
	}
	_, err = t.client.admin.DropRowRange(ctx, req)
	return clientError(op, t.name, "", err)
}

// deleteEach deletes rows by their keys.
func (t *Table) deleteEach(ctx context.Context, rows read.RowSet) error {
	const atOnce = 1000
	m := write.NewMutation()
	m.DeleteRow()
	var keys []string
	flush := func() error {
		failed, err := t.ApplyBulk(ctx, keys, slices.Repeat([]*write.Mutation{m}, len(keys)))
		keys = keys[:0]
		return errors.Join(append(failed, err)...)
	}
	for row, err := range t.ReadRows(ctx, rows, read.KeysOnly()) {
		if err != nil {
			return err
		}
		if keys = append(keys, row.Key()); len(keys) == atOnce {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}
