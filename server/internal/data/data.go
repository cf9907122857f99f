// Package data serves google.bigtable.v2: reads and writes of rows, queries, and change
// streams. It also serves smolwc.v1.Batches.
package data

import (
	"context"
	"errors"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/wire"
	"github.com/smolwc/smolwc/query/filter"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/read"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
	"github.com/smolwc/smolwc/views"
)

// A service is google.bigtable.v2.Bigtable.
type service struct {
	bigtablepb.UnimplementedBigtableServer
	*catalog.Catalog
	views     *views.Views
	clusterOf func(wire.Instance) string // names where changes come from
	deadline  time.Duration              // of every call
	inMemory  bool                       // nothing is written to disk

	likeBigtable bool            // queries have only parts that Bigtable has
	leads        context.Context // as of Register
}

// Register adds the service, and smolwc.v1.Batches, to a server. leads ends when the server is about to
// stop, and when another one takes the writes; then its cause is an error for clients. clusterOf names the cluster of an instance's changes, and the server ends every
// call after its deadline. If the database is in memory, queries write no files.
func Register(leads context.Context, to grpc.ServiceRegistrar, c *catalog.Catalog, v *views.Views, clusterOf func(wire.Instance) string, deadline time.Duration, inMemory, likeBigtable bool) {
	s := &service{Catalog: c, views: v, clusterOf: clusterOf, deadline: deadline, inMemory: inMemory, likeBigtable: likeBigtable, leads: leads}
	bigtablepb.RegisterBigtableServer(to, s)
	smolwcpb.RegisterBatchesServer(to, batches{service: s})
}

// Request is the common part of all requests to a table.
type Request interface {
	GetTableName() string
	GetAuthorizedViewName() string
}

func (s *service) open(req Request) (*catalog.Table, error) {
	view := req.GetAuthorizedViewName()
	switch {
	case view == "":
		t, err := s.LookUp(req.GetTableName())
		if grpcstatus.Code(err) == codes.NotFound {
			err = s.isView(req.GetTableName(), err)
		}
		return t, err
	case req.GetTableName() != "":
		return nil, wire.Invalid("the request names both a table and an authorized view")
	}
	return s.LookUpView(view)
}

// isView is the error for a table that does not exist: perhaps it is a view.
func (s *service) isView(name string, err error) error {
	t, bad := s.Own.ParseTable(name)
	if bad == nil && s.views.Taken(t.In.String(), t.ID) {
		return grpcstatus.Errorf(codes.FailedPrecondition, "%s is a view and not a table: it cannot be written, and it is read by SQL, or a materialized view as the materialized_view_name of ReadRows", t.ID)
	}
	return err
}

// openToRead looks up the table, the authorized view or the materialized view of a request.
func (s *service) openToRead(ctx context.Context, req interface {
	Request
	GetMaterializedViewName() string
}) (*catalog.Table, error) {
	view := req.GetMaterializedViewName()
	switch {
	case view == "":
		return s.open(req)
	case req.GetTableName() != "" || req.GetAuthorizedViewName() != "":
		return nil, wire.Invalid("the request names both a materialized view and a table or an authorized view")
	}
	return s.openMaterialized(ctx, view)
}

// openMaterialized is the table with the rows of a materialized view, without the family that
// only queries see. All rows that were written before the call are in it.
func (s *service) openMaterialized(ctx context.Context, name string) (*catalog.Table, error) {
	rows, families, err := s.views.Rows(ctx, name)
	if err != nil {
		return nil, catalog.OfViews(ctx, err)
	}
	all := &adminpb.AuthorizedView_FamilySubsets{QualifierPrefixes: [][]byte{{}}}
	subset := &adminpb.AuthorizedView_SubsetView{RowPrefixes: [][]byte{{}}, FamilySubsets: map[string]*adminpb.AuthorizedView_FamilySubsets{}}
	for _, family := range families {
		subset.FamilySubsets[family] = all
	}
	t := s.LookUpDerived(rows)
	t.View = catalog.NewView(&adminpb.AuthorizedView{Name: rows.ID, AuthorizedView: &adminpb.AuthorizedView_SubsetView_{SubsetView: subset}})
	return t, nil
}

// openRow looks up the table of a request to change one row, and checks the row's key
// and the number of changes.
func (s *service) openRow(req interface {
	Request
	GetRowKey() []byte
}, changes int) (*catalog.Table, error) {
	if err := checkCount(changes); err != nil {
		return nil, err
	}
	t, err := s.open(req)
	if err != nil {
		return nil, err
	}
	if err := catalog.CheckRowKey(req.GetRowKey()); err != nil {
		return nil, err
	}
	return t, t.View.CheckRow(wire.Text(req.GetRowKey()))
}

// PingAndWarm does nothing: there is nothing to warm.
func (s *service) PingAndWarm(_ context.Context, req *bigtablepb.PingAndWarmRequest) (*bigtablepb.PingAndWarmResponse, error) {
	if _, err := wire.ParseInstance(req.GetName()); err != nil {
		return nil, err
	}
	return &bigtablepb.PingAndWarmResponse{}, nil
}

// GetClientConfiguration fails, so that clients use their own configuration, without
// sessions.
func (*service) GetClientConfiguration(context.Context, *bigtablepb.GetClientConfigurationRequest) (*bigtablepb.ClientConfiguration, error) {
	return nil, grpcstatus.Error(codes.Unimplemented, "this server has no configuration for clients; they use their defaults")
}

var errSessions = grpcstatus.Error(codes.Unimplemented, "this server has no sessions; send each read and write as a call of its own, as clients do by default")

// OpenTable opens no session.
func (*service) OpenTable(bigtablepb.Bigtable_OpenTableServer) error { return errSessions }

// OpenAuthorizedView opens no session.
func (*service) OpenAuthorizedView(bigtablepb.Bigtable_OpenAuthorizedViewServer) error {
	return errSessions
}

// OpenMaterializedView opens no session.
func (*service) OpenMaterializedView(bigtablepb.Bigtable_OpenMaterializedViewServer) error {
	return errSessions
}

// MutateRow applies mutations to a row, all or none.
func (s *service) MutateRow(ctx context.Context, req *bigtablepb.MutateRowRequest) (*bigtablepb.MutateRowResponse, error) {
	ctx, h := account.HoldingLarge(ctx)
	defer h.Release()
	err := s.Under(ctx, func(ctx context.Context) error {
		t, err := s.openRow(req, len(req.GetMutations()))
		if err != nil {
			return err
		}
		m, err := s.newMutator(ctx, t).mutation(req.GetMutations())
		if err != nil {
			return err
		}
		return t.Status(ctx, t.Apply(ctx, wire.Text(req.GetRowKey()), m))
	})
	if err != nil {
		return nil, err
	}
	return &bigtablepb.MutateRowResponse{}, nil
}

// maxMutations is how many mutations one request may have, as in Bigtable.
const maxMutations = 100_000

// checkCount checks the number of a request's mutations, before anything else, as
// Bigtable does.
func checkCount(mutations int) error {
	switch {
	case mutations == 0:
		return wire.Invalid("No mutations provided")
	case mutations > maxMutations:
		return wire.Invalid("the request has %d mutations; it may have up to %d", mutations, maxMutations)
	}
	return nil
}

// MutateRows applies mutations to many rows, atomically within each row, and answers each
// row with its own status.
func (s *service) MutateRows(req *bigtablepb.MutateRowsRequest, stream bigtablepb.Bigtable_MutateRowsServer) error {
	n := 0
	for _, e := range req.GetEntries() {
		n += len(e.GetMutations())
	}
	if err := checkCount(n); err != nil {
		return err
	}
	ctx, h := account.HoldingLarge(stream.Context())
	defer h.Release()
	statuses := make([]*bigtablepb.MutateRowsResponse_Entry, len(req.GetEntries()))
	for done := 0; done < len(statuses); {
		batch := batchOf(req.GetEntries()[done:])
		err := s.Under(ctx, func(ctx context.Context) error {
			return s.mutateRows(ctx, req, batch, done, statuses)
		})
		switch {
		case err != nil && done == 0:
			return err
		case err != nil: // others are written
			for i := range batch {
				statuses[done+i] = &bigtablepb.MutateRowsResponse_Entry{Index: int64(done + i), Status: grpcstatus.Convert(err).Proto()}
			}
		}
		done += len(batch)
	}
	return stream.Send(&bigtablepb.MutateRowsResponse{Entries: statuses})
}

// batchBytes is the size of values from which a batch is written: a batch of 256
// MiB would be in memory several times over.
const batchBytes = 16 << 20

// batchOf are the first entries, which are written together.
func batchOf(all []*bigtablepb.MutateRowsRequest_Entry) []*bigtablepb.MutateRowsRequest_Entry {
	size := 0
	for i, e := range all {
		for _, c := range e.GetMutations() {
			size += len(c.GetSetCell().GetValue())
		}
		if size >= batchBytes {
			return all[:i+1]
		}
	}
	return all
}

// mutateRows writes a batch of a request's entries, numbered from first. Its error says
// that the request cannot be carried out, or that the schema changed; then nothing was
// written.
func (s *service) mutateRows(ctx context.Context, req *bigtablepb.MutateRowsRequest, batch []*bigtablepb.MutateRowsRequest_Entry, first int, statuses []*bigtablepb.MutateRowsResponse_Entry) error {
	t, err := s.open(req)
	if err != nil {
		return err
	}
	b := bulk{t: t, mutator: s.newMutator(ctx, t), statuses: statuses}
	for i, e := range batch {
		b.add(first+i, e)
	}
	if len(b.at) < len(batch) && s.Overtaken(ctx) {
		return plumbing.ErrSchemaChanged
	}
	return b.apply(ctx)
}

// A bulk is a batch of a MutateRows.
type bulk struct {
	t        *catalog.Table
	mutator  *mutator
	statuses []*bigtablepb.MutateRowsResponse_Entry

	at   []int // the entries of the batch
	keys []string
	ms   []*write.Mutation
}

var okStatus = &status.Status{}

func (b *bulk) add(i int, e *bigtablepb.MutateRowsRequest_Entry) {
	b.statuses[i] = &bigtablepb.MutateRowsResponse_Entry{Index: int64(i), Status: okStatus}
	if err := catalog.CheckRowKey(e.GetRowKey()); err != nil {
		b.fail(i, err)
		return
	}
	if err := b.t.View.CheckRow(wire.Text(e.GetRowKey())); err != nil {
		b.fail(i, err)
		return
	}
	m, err := b.mutator.mutation(e.GetMutations())
	if err != nil {
		b.fail(i, err)
		return
	}
	b.at, b.keys, b.ms = append(b.at, i), append(b.keys, wire.Text(e.GetRowKey())), append(b.ms, m)
}

func (b *bulk) fail(i int, err error) {
	b.statuses[i].Status = grpcstatus.Convert(err).Proto()
}

func (b *bulk) apply(ctx context.Context) error {
	if len(b.at) == 0 {
		return nil
	}
	errs, err := b.t.ApplyBulk(ctx, b.keys, b.ms)
	if errors.Is(err, plumbing.ErrSchemaChanged) {
		return err
	}
	for j, i := range b.at {
		switch {
		case err != nil:
			b.fail(i, b.t.Status(ctx, err))
		case errs != nil && errs[j] != nil:
			b.fail(i, b.t.Status(ctx, errs[j]))
		}
	}
	return nil
}

// CheckAndMutateRow applies one of two lists of mutations, depending on whether a
// filter leaves any cells of the row.
func (s *service) CheckAndMutateRow(ctx context.Context, req *bigtablepb.CheckAndMutateRowRequest) (resp *bigtablepb.CheckAndMutateRowResponse, err error) {
	err = s.Under(ctx, func(ctx context.Context) (err error) {
		resp, err = s.checkAndMutateRow(ctx, req)
		return err
	})
	return resp, err
}

func (s *service) checkAndMutateRow(ctx context.Context, req *bigtablepb.CheckAndMutateRowRequest) (*bigtablepb.CheckAndMutateRowResponse, error) {
	t, err := s.openRow(req, len(req.GetTrueMutations())+len(req.GetFalseMutations()))
	if err != nil {
		return nil, err
	}
	mutator := s.newMutator(ctx, t)
	predicate, exact, err := mutator.exactConditionOf(req.GetPredicateFilter())
	if err != nil {
		return nil, err
	}
	if !exact {
		if predicate, err = predicateOf(t, req.GetPredicateFilter()); err != nil {
			return nil, err
		}
	}
	ifTrue, unlessFalse, err := mutator.branch(req.GetTrueMutations())
	if err != nil {
		return nil, err
	}
	ifFalse, unlessTrue, err := mutator.branch(req.GetFalseMutations())
	if err != nil {
		return nil, err
	}
	ctx, h := account.Holding(ctx)
	defer h.Release()
	matched, err := t.CheckAndMutate(ctx, wire.Text(req.GetRowKey()), predicate, ifTrue, ifFalse)
	switch {
	case err != nil:
		return nil, t.Status(ctx, err)
	case matched && unlessFalse != nil:
		return nil, unlessFalse
	case !matched && unlessTrue != nil:
		return nil, unlessTrue
	}
	return &bigtablepb.CheckAndMutateRowResponse{PredicateMatched: matched}, nil
}

// predicateOf returns the predicate of a filter, which sees the table's view only. A
// missing filter lets every cell through.
func predicateOf(t *catalog.Table, m *bigtablepb.RowFilter) (read.Option, error) {
	if m == nil && t.View == nil {
		return nil, nil
	}
	var f filter.Filter
	if m != nil {
		var err error
		if f, err = wire.Filter(m); err != nil {
			return nil, err
		}
	}
	if t.View == nil {
		return read.BigtableFilter(f), nil
	}
	columns, ok := t.Columns()
	if !ok {
		return read.BigtableFilter(filter.BlockAll{}), nil
	}
	of, err := read.New(append(columns, read.BigtableFilter(f))...)
	if err != nil {
		return nil, wire.Invalid("%v", err)
	}
	return of, nil
}

// branch returns one branch's mutation, nil without changes. An unknown family is an
// error only when the branch is taken: then branch returns a mutation that changes
// nothing, and the error for that case.
func (m *mutator) branch(changes []*bigtablepb.Mutation) (_ *write.Mutation, ifTaken, err error) {
	if len(changes) == 0 {
		return nil, nil, nil
	}
	mutation, err := m.mutation(changes)
	if grpcstatus.Code(err) == codes.NotFound {
		return nil, err, nil
	}
	return mutation, nil, err
}
