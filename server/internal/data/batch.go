package data

import (
	"context"

	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/server/internal/account"
	"github.com/smolwc/smolwc/server/internal/catalog"
)

// A batches is smolwc.v1.Batches.
type batches struct {
	smolwcpb.UnimplementedBatchesServer
	*service
}

// ApplyBatch applies mutations to rows of any tables, all or none.
func (s batches) ApplyBatch(ctx context.Context, req *smolwcpb.ApplyBatchRequest) (*smolwcpb.ApplyBatchResponse, error) {
	n := 0
	for _, e := range req.GetEntries() {
		n += len(e.GetMutations())
	}
	if err := checkCount(n); err != nil {
		return nil, err
	}
	ctx, h := account.HoldingLarge(ctx)
	defer h.Release()
	err := s.Under(ctx, func(ctx context.Context) error {
		b := batch{service: s.service, mutators: map[string]*mutator{}, to: write.NewBatch()}
		for i, e := range req.GetEntries() {
			if err := b.add(ctx, e); err != nil {
				st := status.Convert(err)
				return status.Errorf(st.Code(), "entry %d: %s", i, st.Message())
			}
		}
		err := s.DB.Apply(ctx, b.to)
		for i, e := range b.to.Entries() {
			b.tables[i].Wrote(ctx, err, e.Mutation.Len(), e.Key)
		}
		return catalog.Status(ctx, err)
	})
	return &smolwcpb.ApplyBatchResponse{}, err
}

// A batch is an ApplyBatch under way.
type batch struct {
	*service
	mutators map[string]*mutator // by the name of the table or view
	to       *write.Batch
	tables   []*catalog.Table // of its entries
}

func (b *batch) add(ctx context.Context, e *smolwcpb.ApplyBatchRequest_Entry) error {
	name := e.GetTableName() + "\x00" + e.GetAuthorizedViewName()
	m := b.mutators[name]
	if m == nil {
		t, err := b.open(e)
		if err != nil {
			return err
		}
		m = b.newMutator(ctx, t)
		b.mutators[name] = m
	}
	if err := catalog.CheckRowKey(e.GetRowKey()); err != nil {
		return err
	}
	key := string(e.GetRowKey())
	if err := m.of.View.CheckRow(key); err != nil {
		return err
	}
	mutation, err := m.mutation(e.GetMutations())
	if err != nil {
		return err
	}
	b.to.Add(m.table.Name, key, mutation)
	b.tables = append(b.tables, m.of)
	return nil
}
