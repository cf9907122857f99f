//go:build unix

package stack_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/anishathalye/porcupine"

	"github.com/smolwc/smolwc/query/querytest"
)

// Clients of two servers see one database, while the servers are killed with kill -9 and
// others take their places. A call without an answer may have happened.
func TestLinearizabilityThroughKillsOfServers(t *testing.T) {
	const clients, each, kills = 4, 60, 4
	s, bin := start(t)
	url := s.URL("killed")
	var servers [2]atomic.Pointer[server]
	for i := range servers {
		servers[i].Store(serve(t, bin, url))
	}
	if err := servers[0].Load().admin.CreateTableFromConf(t.Context(), &bigtable.TableConf{
		TableID: "t", ColumnFamilies: map[string]bigtable.Family{"f": {GCPolicy: bigtable.MaxVersionsPolicy(1)}},
	}); err != nil {
		t.Fatal(err)
	}
	began, killed := time.Now(), make(chan struct{})
	histories := make([][]porcupine.Operation, clients)
	var working sync.WaitGroup
	for c := range clients {
		working.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 9))
			for n := 0; n < each || !isClosed(killed); n++ {
				in := drawRowCall(rng)
				op := porcupine.Operation{ClientId: c, Input: in, Call: int64(time.Since(began))}
				out, err := rowCall(t.Context(), servers[c%2].Load(), in)
				op.Output, op.Return = out, int64(time.Since(began))
				if err != nil { // the next call is to the successor, perhaps
					time.Sleep(100 * time.Millisecond)
					if in.Kind == "get" {
						continue
					}
					op.Output, op.Return = querytest.Answer{Pending: true}, int64(time.Hour)
				}
				histories[c] = append(histories[c], op)
			}
		})
	}
	for i := range kills {
		time.Sleep(300 * time.Millisecond)
		if err := servers[i%2].Load().cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		servers[i%2].Store(serve(t, bin, url))
	}
	close(killed)
	working.Wait()
	history := slices.Concat(histories...)
	t.Logf("%d calls", len(history))
	querytest.CheckLinear(t, history)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// drawRowCall draws a call that Bigtable's protocol has.
func drawRowCall(rng *rand.Rand) querytest.Call {
	for {
		if in := querytest.DrawCall(rng, 2); slices.Contains([]string{"put", "get", "delete", "increment", "swap"}, in.Kind) {
			return in
		}
	}
}

// rowCall carries out a call within a few seconds.
func rowCall(ctx context.Context, s *server, in querytest.Call) (out querytest.Answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	table, row := s.client.Open("t"), fmt.Sprintf("%d#%d", in.Pair, in.Row)
	put, remove := bigtable.NewMutation(), bigtable.NewMutation()
	put.Set("f", "n", bigtable.ServerTime, number(in.N))
	remove.DeleteRow()
	switch in.Kind {
	case "put":
		err = table.Apply(ctx, row, put)
	case "delete":
		err = table.Apply(ctx, row, remove)
	case "get":
		var r bigtable.Row
		if r, err = table.ReadRow(ctx, row); err == nil {
			out.Numbers[0] = numberOf(r)
		}
	case "increment":
		add := bigtable.NewReadModifyWrite()
		add.Increment("f", "n", in.N)
		var r bigtable.Row
		if r, err = table.ApplyReadModifyWrite(ctx, row, add); err == nil {
			out.Numbers[0] = numberOf(r)
		}
	case "swap":
		is := bigtable.ChainFilters(bigtable.LatestNFilter(1), bigtable.ValueRangeFilter(number(in.Old), number(in.Old+1)))
		err = table.Apply(ctx, row, bigtable.NewCondMutation(is, put, nil), bigtable.GetCondMutationResult(&out.Made))
	}
	return out, err
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func numberOf(r bigtable.Row) querytest.Number {
	if len(r["f"]) == 0 {
		return querytest.Number{}
	}
	return querytest.Number{N: int64(binary.BigEndian.Uint64(r["f"][0].Value)), OK: true}
}
