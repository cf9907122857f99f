package standby

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

// A slowStore reads when it is told to.
type slowStore struct {
	cf.Follower
	began, end chan struct{}
}

func (s slowStore) Read(context.Context, *cf.Scan, *cf.Answer) error {
	s.began <- struct{}{}
	<-s.end
	return nil
}

// A change of the catalog does not wait for a read, which then fails if it has demanded the
// catalog before, and is made again if it has not.
func TestAChangeDoesNotWaitForARead(t *testing.T) {
	for _, catalog := range []uint64{0, 1} {
		store := slowStore{began: make(chan struct{}), end: make(chan struct{})}
		r := newReader(store, func() error { return cf.ErrReadOnly })
		read := make(chan error)
		go func() {
			read <- r.Read(context.Background(), &cf.Scan{Catalog: catalog}, new(cf.Answer))
		}()
		<-store.began
		if err := r.change(func() error { return nil }); err != nil { // hangs if it waits
			t.Error(err)
		}
		store.end <- struct{}{}
		if catalog == 0 {
			<-store.began
			store.end <- struct{}{}
		}
		if err := <-read; (catalog == 0) != (err == nil) || err != nil && !errors.Is(err, cf.ErrCatalogChanged) {
			t.Errorf("catalog %d: %v", catalog, err)
		}
	}
}
