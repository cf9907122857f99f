package standby

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/wire"
)

// A record is a context with the position of the last write.
type record struct {
	context.Context
	at atomic.Uint64
}

type recordKey struct{}

// Value implements [context.Context].
func (r *record) Value(key any) any {
	if _, ok := key.(recordKey); ok {
		return r
	}
	return r.Context.Value(key)
}

func (r *record) add(at uint64) {
	for before := r.at.Load(); at > before && !r.at.CompareAndSwap(before, at); before = r.at.Load() {
	}
}

// Record implements [standbys.Service].
func (f *feed) Record(ctx context.Context) context.Context {
	return &record{Context: ctx}
}

// Position implements [standbys.Service].
func (f *feed) Position(ctx context.Context) string {
	s := f.store.Load()
	if s == nil || (*s).Ships() == "" {
		return ""
	}
	epoch := f.epoch.Load()
	if epoch == 0 {
		return ""
	}
	at := uint64(0)
	if r, ok := ctx.Value(recordKey{}).(*record); ok {
		at = r.at.Load()
	}
	if at == 0 { // it wrote nothing
		at = uint64((*s).Latest())
	}
	return wire.Position{Epoch: epoch, At: at}.String()
}

// SemiSync implements [standbys.Service].
func (f *feed) SemiSync(ctx context.Context, mode string) (context.Context, error) {
	m, err := ParseSemiSyncMode(mode)
	if err != nil {
		return ctx, wire.Invalid("%s: %v", wire.SemiSyncHeader, err)
	}
	return WithSemiSync(ctx, m), nil
}

// Confirm implements [standbys.Service].
func (f *feed) Confirm(ctx context.Context) context.Context { return f.acks.confirm(ctx) }

// Await waits until the database contains the change at a position, and so all earlier
// ones.
func (f *feed) Await(ctx context.Context, position string) error {
	p, err := wire.ParsePosition(position)
	if err != nil {
		return err
	}
	store, err := f.shipper()
	if err != nil {
		return err
	}
	for {
		news, at := store.News(), store.Latest() // before looking, so that nothing is missed, and the history knows the position's epoch
		id, err := identify(context.WithoutCancel(ctx), store)
		if err != nil {
			return err
		}
		if id.history.ID == "" {
			return status.Errorf(codes.FailedPrecondition, "this database has never had a standby, and has no position %v", p)
		}
		for _, e := range id.history.Epochs {
			if e.Number > p.Epoch && e.After < p.At {
				return status.Errorf(codes.DataLoss, "the change at position %s is lost: %s was promoted without it (epoch %d, after position %d)", position, e.Leader, e.Number, e.After)
			}
		}
		now := wire.Position{Epoch: id.history.Epoch, At: uint64(at)}
		if now.Epoch >= p.Epoch && now.At >= p.At {
			return nil
		}
		select {
		case <-news:
		case <-f.closed:
			return status.Error(codes.Unavailable, "the server stops")
		case <-ctx.Done():
			return status.Errorf(status.FromContextError(ctx.Err()).Code(), "the server is at position %v, and the call waits for %v", now, p)
		}
	}
}
