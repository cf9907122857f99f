// Package remote runs statements on a server: it gives a client the form that the
// language's executor asks for.
package remote

import (
	"context"
	"iter"

	"github.com/smolwc/smolwc/client"
	"github.com/smolwc/smolwc/query/ql/exec"
)

// A Database is a server as statements see it. It is safe for concurrent use, as its
// client is.
type Database struct{ *client.Client }

// Table implements [exec.Database].
func (d Database) Table(name string) exec.Table { return table{d.Client.Table(name)} }

type table struct{ *client.Table }

func (t table) Changes(ctx context.Context, want exec.ChangesRequest) iter.Seq2[*exec.Change, error] {
	return func(yield func(*exec.Change, error) bool) {
		for c, err := range t.Table.Changes(ctx, client.ChangesRequest(want)) {
			if !yield((*exec.Change)(c), err) {
				return
			}
		}
	}
}
