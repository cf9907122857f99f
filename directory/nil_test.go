package directory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/smolwc/smolwc/directory"
	"github.com/smolwc/smolwc/internal/nilcheck"
	"github.com/smolwc/smolwc/query"
)

// TestNil calls everything with nil and with zero values: nothing panics, and errors
// have kinds.
func TestNil(t *testing.T) {
	p := nilcheck.Package{
		Funcs: []any{directory.New},
		Types: []any{},
		Usable: []any{
			func(t testing.TB) context.Context { return t.Context() },
			func(t testing.TB) []string { return []string{"t"} },
		},
		Fresh: []any{usableTx},
		Judge: func(c nilcheck.Call) string {
			if c.Err != nil && query.KindOf(c.Err) == query.KindInternal {
				return "the error has no kind"
			}
			return ""
		},
	}
	p.Run(t, ".")
}

// usableTx is a transaction that stays open until the test ends.
func usableTx(t testing.TB) *query.Tx {
	db := open(t)
	began, end, ended := make(chan *query.Tx), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		db.Update(t.Context(), func(tx *query.Tx) error {
			began <- tx
			<-end
			return errors.New("rolled back")
		})
	}()
	t.Cleanup(func() {
		close(end)
		<-ended
	})
	return <-began
}
