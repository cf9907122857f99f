package standby_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/cf"
	"github.com/smolwc/smolwc/internal/badnet"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/standby"
)

// semi opens a primary whose writes wait for a standby.
func semi(t *testing.T, o standby.SemiSync) *node {
	t.Helper()
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0", semi: o}
	n.open()
	t.Cleanup(n.close)
	_, err := n.db.Declare(standby.Async(t.Context()), schemaOf(table("a", "f")))
	must(t, err)
	return n
}

// put writes a row.
func put(ctx context.Context, db *query.DB, row, value string) error {
	m := write.NewMutation()
	m.Set("f", "q", cells.String(value))
	return db.Table("a").Apply(ctx, row, m)
}

func describe(t *testing.T, n *node) *smolwcpb.ListReplicasResponse {
	t.Helper()
	all, err := n.primary.Service().ListReplicas(t.Context(), nil)
	must(t, err)
	return all
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for !holds() {
		select {
		case <-t.Context().Done():
			t.Fatal(what)
		case <-time.After(time.Millisecond):
		}
	}
}

// muted is a proxy in front of a primary, and what keeps back what standbys say there.
func muted(t *testing.T, to string) (addr string, mute func(bool)) {
	p := through(t, to)
	return p.Addr(), func(on bool) { p.Set(badnet.Up, badnet.Line{Hold: on}) }
}

// A write that was acknowledged is on the disk of the standby: it is there when the standby
// is opened again without a word with the primary.
func TestAStrictWriteIsOnTheStandbysDisk(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Hour})
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 50 {
				row := fmt.Sprintf("%d-%d", w, i)
				if err := put(t.Context(), p.db, row, row); err != nil {
					t.Error(err)
					return
				}
				if got, err := s.DB().Table("a").ReadRow(t.Context(), row); err != nil || got.Text("f", "q") != row {
					t.Errorf("after its acknowledgement, row %s of the standby is %v: %v", row, got, err)
					return
				}
			}
		})
	}
	all.Wait()
	if d := describe(t, p); d.GetSemiSync() != "strict" || d.GetUnacknowledged() != 0 {
		t.Errorf("the primary says %v", d)
	}
}

func TestAStrictWriteWithoutAStandbyWritesNothing(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Millisecond})
	err := put(t.Context(), p.db, "r", "v")
	if query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a write without a standby: %v", err)
	}
	must(t, p.db.Update(t.Context(), func(tx *query.Tx) error { // which only reads
		row, err := tx.ReadRow(t.Context(), "a", "r")
		if err == nil && row != nil {
			t.Errorf("the row is %v", row)
		}
		return err
	}))
	must(t, put(standby.Async(t.Context()), p.db, "r", "v"))
}

// A standby that no longer answers leaves the outcome of a strict write unknown.
func TestAStrictWriteWithoutAnAcknowledgement(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: 50 * time.Millisecond})
	observer := observe(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	if err := put(t.Context(), p.db, "r", "v"); query.KindOf(err) != query.KindUnavailable {
		t.Errorf("an observer counts: %v", err)
	}
	must(t, observer.Close())
	addr, mute := muted(t, p.addr)
	s := follow(t, filepath.Join(t.TempDir(), "other"), addr)
	await(t, "no write is acknowledged", func() bool { return put(t.Context(), p.db, "r", "v") == nil })
	mute(true)
	err := put(t.Context(), p.db, "r", "v")
	if query.KindOf(err) != query.KindUnknownOutcome || !strings.Contains(err.Error(), "no standby has acknowledged it within 50ms") {
		t.Errorf("a write that no standby acknowledges: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := put(ctx, p.db, "r", "v"); !errors.Is(err, context.Canceled) {
		t.Errorf("a write whose context has ended: %v", err)
	}
	mute(false)
	await(t, "no write is acknowledged again", func() bool { return put(t.Context(), p.db, "s", "v") == nil })
	awaitEqual(t, p.db, s)
}

// A standby counts once its copy is whole, and not while it is made.
func TestAStandbyThatIsCopiedDoesNotAcknowledge(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Acks: 2, Timeout: 50 * time.Millisecond})
	large := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large) // it never fails
	must(t, put(standby.Async(t.Context()), p.db, "large", hex.EncodeToString(large)))
	must(t, p.db.Table("a").Compact(t.Context()))
	named(t, "one", p.addr)
	await(t, "the first standby does not follow", func() bool { return describe(t, p).GetAcknowledging() == 1 })
	slow := through(t, p.addr)
	slow.Set(badnet.Down, badnet.Line{Rate: 64 << 10})
	dir, opened := filepath.Join(t.TempDir(), "two"), make(chan error, 1)
	go func() {
		s, err := standby.Open(t.Context(), dir, standby.Options{Primary: slow.Addr(), Name: "two", Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20}})
		if err == nil {
			t.Cleanup(func() { must(t, s.Close()) })
		}
		opened <- err
	}()
	await(t, "the second standby is not copied", func() bool {
		files, _ := filepath.Glob(filepath.Join(dir+plumbing.CopyingSuffix, "*"))
		return len(files) > 0
	})
	if err := put(t.Context(), p.db, "r", "v"); query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), "nothing was written, since 2 standbys have to acknowledge it, and only 1 can") {
		t.Errorf("a write while the second standby is copied: %v", err)
	}
	select {
	case err := <-opened:
		t.Fatalf("the second standby was copied already: %v", err)
	default:
	}
	slow.Set(badnet.Down, badnet.Line{})
	must(t, <-opened)
	await(t, "no write is acknowledged", func() bool { return put(t.Context(), p.db, "r", "v") == nil })
	if d := describe(t, p); d.GetAcks() != 2 || d.GetAcknowledging() != 2 {
		t.Errorf("the primary says %v", d)
	}
}

// A change of the schema that no standby acknowledges is in force as it is on the disk.
func TestASchemaChangeWithoutAnAcknowledgement(t *testing.T) {
	for _, mode := range []standby.SemiSyncMode{standby.SemiSyncDegrade, standby.SemiSyncStrict} {
		p := semi(t, standby.SemiSync{Mode: mode, Timeout: time.Hour})
		addr, mute := muted(t, p.addr)
		s := follow(t, filepath.Join(t.TempDir(), "standby"), addr)
		await(t, "the standby is not there", func() bool { return len(describe(t, p).GetReplicas()) == 1 && !describe(t, p).GetDegraded() })
		must(t, put(t.Context(), p.db, "r", "v"))
		mute(true)
		unacknowledged(t, p, "copy", func(ctx context.Context) error { return p.db.CopyTable(ctx, "b", p.db.Table("a"), nil) })
		unacknowledged(t, p, "create", func(ctx context.Context) error { return p.db.CreateTable(ctx, table("c", "f")) })
		unacknowledged(t, p, "drop", func(ctx context.Context) error { return p.db.DropFamily(ctx, "a", "f") })
		mute(false)
		if err := put(t.Context(), p.db, "s", "v"); query.KindOf(err) != query.KindNotFound {
			t.Errorf("%v: a write to the dropped family: %v", mode, err)
		}
		if row, err := p.db.Table("b").ReadRow(t.Context(), "r"); err != nil || row.Text("f", "q") != "v" {
			t.Errorf("%v: the copy has row %v: %v", mode, row, err)
		}
		inForce := p.db.Schema()
		if len(inForce.Tables) != 3 {
			t.Fatalf("%v: the schema is %v", mode, inForce)
		}
		awaitEqual(t, p.db, s)
		p.close()
		p.open()
		if !p.db.Schema().Equal(inForce) {
			t.Errorf("%v: after an open the schema is %v; it was %v", mode, p.db.Schema(), inForce)
		}
	}
}

// unacknowledged makes a change whose client leaves while it waits for a standby.
func unacknowledged(t *testing.T, p *node, what string, change func(context.Context) error) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	outcome := make(chan error)
	go func() { outcome <- change(ctx) }()
	await(t, what+" does not wait", func() bool { return standby.Waiting(p.primary) == 1 })
	leave()
	if err := <-outcome; !errors.Is(err, cf.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
		t.Errorf("%s: %v", what, err)
	}
}

// A degrading primary begins without a standby, waits for one that has caught up, stops to
// wait for one that no longer answers, and waits again when it answers.
func TestADegradingPrimary(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncDegrade, Timeout: 50 * time.Millisecond})
	must(t, put(t.Context(), p.db, "r", "1"))
	if d := describe(t, p); !d.GetDegraded() || d.GetUnacknowledged() != 1 {
		t.Errorf("without a standby the primary says %v", d)
	}
	addr, mute := muted(t, p.addr)
	s := follow(t, filepath.Join(t.TempDir(), "standby"), addr)
	await(t, "the primary stays degraded", func() bool { return !describe(t, p).GetDegraded() })
	mute(true)
	must(t, put(t.Context(), p.db, "r", "2"))
	if d := describe(t, p); !d.GetDegraded() || d.GetUnacknowledged() != 2 {
		t.Errorf("without acknowledgements the primary says %v", d)
	}
	must(t, put(t.Context(), p.db, "r", "3"))
	mute(false)
	await(t, "the primary stays degraded", func() bool { return !describe(t, p).GetDegraded() })
	if d := describe(t, p); d.GetUnacknowledged() != 3 {
		t.Errorf("with acknowledgements the primary says %v", d)
	}
	awaitEqual(t, p.db, s)
}

// waitingWrite has a write over the value "old" wait for a standby whose acknowledgements are kept back until
// speak is called. outcome gets its error.
func waitingWrite(t *testing.T, mode standby.SemiSyncMode) (p *node, outcome chan error, speak func()) {
	t.Helper()
	p = semi(t, standby.SemiSync{Mode: mode, Timeout: time.Hour})
	addr, mute := muted(t, p.addr)
	follow(t, filepath.Join(t.TempDir(), "standby"), addr)
	await(t, "the standby is not there", func() bool { return len(describe(t, p).GetReplicas()) == 1 && !describe(t, p).GetDegraded() })
	must(t, put(t.Context(), p.db, "r", "old"))
	mute(true)
	outcome = make(chan error)
	go func() { outcome <- put(t.Context(), p.db, "r", "new") }()
	await(t, "no write waits", func() bool { return standby.Waiting(p.primary) == 1 })
	return p, outcome, func() { mute(false) }
}

// A write that waits when another server is promoted has an unknown outcome, in each mode.
func TestAWriteThatWaitsWhenItsPrimaryIsFenced(t *testing.T) {
	for _, mode := range []standby.SemiSyncMode{standby.SemiSyncDegrade, standby.SemiSyncStrict} {
		p, outcome, speak := waitingWrite(t, mode)
		is := describe(t, p)
		_, err := p.primary.Service().Fence(t.Context(), &smolwcpb.FenceRequest{Database: is.GetDatabase(), History: is.GetHistory(), Epoch: &smolwcpb.Epoch{Number: 2, Leader: "db2:1"}})
		must(t, err)
		if err := <-outcome; query.KindOf(err) != query.KindUnknownOutcome || !strings.Contains(err.Error(), "db2:1 was promoted") {
			t.Errorf("%v: a write at a fenced primary: %v", mode, err)
		}
		speak()
	}
}

// A read at a standby waits for the position of a write.
func TestAwaitAPosition(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	for i := range 100 {
		must(t, put(t.Context(), p.db, "r", fmt.Sprint(i)))
		must(t, s.Service().Await(t.Context(), p.primary.Service().Position(t.Context())))
		if row, err := s.DB().Table("a").ReadRow(t.Context(), "r"); err != nil || row.Text("f", "q") != fmt.Sprint(i) {
			t.Fatalf("write %d, row %v: %v", i, row, err)
		}
	}
	later, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	for text, want := range map[string]string{"1-99999999": "waits for 1-99999999", "2-1": "waits for 2-1", "x": "want one that a server has given", "1-": "want one", "-1-5": "want one", "1-5 ": "want one"} {
		if err := s.Service().Await(later, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("position %q: %v", text, err)
		}
	}
}

// The position of a write that was lost with its primary is an error at the new one.
func TestAwaitALostPosition(t *testing.T) {
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, put(t.Context(), p.db, "r", "1"))
	kept := p.primary.Service().Position(t.Context())
	must(t, s.Service().Await(t.Context(), kept))
	p.primary.Service().Stop() // the standby gets no more
	p.served.Stop()
	await(t, "the standby is connected", func() bool { _, connected := s.Lag(); return !connected })
	must(t, put(t.Context(), p.db, "r", "2"))
	lost := p.primary.Service().Position(t.Context())
	promoted, err := s.Promote(t.Context(), "127.0.0.1:1", query.DurabilitySync)
	must(t, err)
	db, err := query.Open(dir, query.Options{Standbys: promoted.Primary.Hook(), GCInterval: -1})
	must(t, err)
	must(t, s.Close())
	t.Cleanup(func() { promoted.Primary.Service().Stop(); must(t, db.Close()) })
	must(t, promoted.Primary.Service().Await(t.Context(), kept))
	if err := promoted.Primary.Service().Await(t.Context(), lost); err == nil || !strings.Contains(err.Error(), "is lost") {
		t.Errorf("position %s after a promotion: %v", lost, err)
	}
}

// What ends a wait of a strict primary ends it at once, and says why: its end, and that
// another server leads. Writes that come later are refused the same way.
func TestWritesThatWaitForAStandbyToConnectEnd(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, p *node)
		want string
	}{
		"stop": {func(_ *testing.T, p *node) { p.primary.Service().Stop() }, "nothing was written: unavailable: the server stops"},
		"fence": {func(t *testing.T, p *node) {
			is := describe(t, p)
			_, err := p.primary.Service().Fence(t.Context(), &smolwcpb.FenceRequest{Database: is.GetDatabase(), History: is.GetHistory(), Epoch: &smolwcpb.Epoch{Number: 2, Leader: "db2:1"}})
			must(t, err)
		}, "db2:1 was promoted in its place (epoch 2); write there"},
		"close": {func(t *testing.T, p *node) { must(t, p.db.Close()) }, "nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Hour})
			outcome := make(chan error)
			go func() { outcome <- put(t.Context(), p.db, "r", "v") }()
			c.end(t, p)
			for _, err := range []error{<-outcome, put(t.Context(), p.db, "r", "v")} {
				if err == nil || name != "close" && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v; want %q", err, c.want)
				}
			}
		})
	}
}

// A write that waits for an acknowledgement when its server stops returns in the mode
// degrade, since it is written, and has an unknown outcome in the mode strict.
func TestWritesThatWaitForAnAcknowledgementEnd(t *testing.T) {
	for mode, want := range map[standby.SemiSyncMode]query.Kind{standby.SemiSyncDegrade: query.KindOf(nil), standby.SemiSyncStrict: query.KindUnknownOutcome} {
		for how, end := range map[string]func(p *node){"stop": func(p *node) { p.primary.Service().Stop() }, "close": func(p *node) { must(t, p.db.Close()) }} {
			p, outcome, speak := waitingWrite(t, mode)
			end(p)
			if err := <-outcome; query.KindOf(err) != want {
				t.Errorf("%v, %s: %v", mode, how, err)
			}
			speak()
		}
	}
}

// The position of a write is its own, so that changes of others that are lost with the
// primary do not matter to its reader.
func TestThePositionOfAWriteIsItsOwn(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Hour})
	follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	at := p.primary.Service()
	ctx := at.Record(t.Context())
	must(t, put(ctx, p.db, "r", "v"))
	own := at.Position(ctx)
	must(t, put(standby.Async(t.Context()), p.db, "s", "v"))
	if got, newest := at.Position(ctx), at.Position(t.Context()); got != own || newest == own {
		t.Errorf("position %s of the write is %s after another one, at %s", own, got, newest)
	}
}

// A database that has never had a standby has no position to wait for.
func TestAwaitAPositionOfAnotherDatabase(t *testing.T) {
	p := newPrimary(t, 0)
	if err := p.primary.Service().Await(t.Context(), "1-1"); err == nil || !strings.Contains(err.Error(), "has never had a standby") {
		t.Errorf("%v", err)
	}
}

// When one way between a primary and its standby is dead, both notice it and connect again:
// until then a strict primary writes nothing.
func TestASilentNetwork(t *testing.T) {
	standby.SetSilence(t, time.Second)
	for way, name := range map[badnet.Way]string{badnet.Up: "acknowledgements", badnet.Down: "records"} {
		p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: 20 * time.Millisecond})
		net := through(t, p.addr)
		s := follow(t, filepath.Join(t.TempDir(), "standby"), net.Addr())
		await(t, name+": no write is acknowledged", func() bool { return put(t.Context(), p.db, "r", "1") == nil })
		net.Set(way, badnet.Line{Hold: true})
		await(t, name+": the primary still counts on the standby", func() bool {
			err := put(t.Context(), p.db, "r", "2")
			return err != nil && strings.Contains(err.Error(), "nothing was written")
		})
		await(t, name+": the standby still counts on the primary", func() bool { _, connected := s.Lag(); return !connected })
		net.Set(way, badnet.Line{})
		await(t, name+": no write is acknowledged again", func() bool { return put(t.Context(), p.db, "r", "3") == nil })
		awaitEqual(t, p.db, s)
	}
}

// A write may wait otherwise than its primary says: each mode of a write does at each primary
// what it does by default at a primary of that mode.
func TestAWriteHasItsOwnMode(t *testing.T) {
	modes := []standby.SemiSyncMode{standby.SemiSyncOff, standby.SemiSyncDegrade, standby.SemiSyncStrict}
	for _, of := range modes {
		t.Run(of.String(), func(t *testing.T) {
			p := semi(t, standby.SemiSync{Mode: of, Timeout: 50 * time.Millisecond})
			with := func(m standby.SemiSyncMode) context.Context { return standby.WithSemiSync(t.Context(), m) }
			for _, m := range modes {
				switch err := put(with(m), p.db, "alone", m.String()); {
				case m == standby.SemiSyncStrict && (err == nil || !strings.Contains(err.Error(), "nothing was written")):
					t.Errorf("a strict write without a standby: %v", err)
				case m != standby.SemiSyncStrict && err != nil:
					t.Errorf("a write with %v: %v", m, err)
				}
			}
			if d := describe(t, p); d.GetUnacknowledged() != 1 {
				t.Errorf("%d writes have returned without a standby; want that with degrade", d.GetUnacknowledged())
			}
			addr, mute := muted(t, p.addr)
			s := follow(t, filepath.Join(t.TempDir(), "standby"), addr)
			await(t, "no strict write is acknowledged", func() bool { return put(with(standby.SemiSyncStrict), p.db, "r", "v") == nil })
			mute(true)
			if err := put(with(standby.SemiSyncStrict), p.db, "r", "v"); query.KindOf(err) != query.KindUnknownOutcome {
				t.Errorf("a strict write that no standby acknowledges: %v", err)
			}
			must(t, put(with(standby.SemiSyncDegrade), p.db, "r", "v")) // which makes the primary degraded
			if err := put(with(standby.SemiSyncStrict), p.db, "r", "v"); query.KindOf(err) != query.KindUnknownOutcome {
				t.Errorf("a strict write at a degraded primary: %v", err)
			}
			must(t, put(with(standby.SemiSyncOff), p.db, "r", "v"))
			mute(false)
			await(t, "no strict write is acknowledged again", func() bool { return put(with(standby.SemiSyncStrict), p.db, "s", "v") == nil })
			awaitEqual(t, p.db, s)
		})
	}
}

// A strict write at a primary whose writes do not wait is acknowledged soon, and not with the
// next beat: the standby is asked.
func TestAStrictWriteAtAPrimaryWithoutSemiSyncIsQuick(t *testing.T) {
	p := semi(t, standby.SemiSync{Timeout: time.Hour})
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	ctx := standby.WithSemiSync(t.Context(), standby.SemiSyncStrict)
	await(t, "the standby does not follow", func() bool { return len(describe(t, p).GetReplicas()) == 1 })
	quickest := time.Hour
	for i := range 50 {
		began := time.Now()
		must(t, put(ctx, p.db, "r", fmt.Sprint(i)))
		quickest = min(quickest, time.Since(began))
		if at, now := describe(t, p).GetReplicas()[0].GetSynced(), s.Position(); at == 0 || now < at {
			t.Fatalf("after an acknowledged write the standby has %d on its disk, and is at %d", at, now)
		}
	}
	if quickest > 250*time.Millisecond { // half a beat
		t.Errorf("the quickest of 50 strict writes took %v", quickest)
	}
}

// A client's read of a row that no standby has waits for the standby, in each form of a read. One
// that asks for no waiting sees the row at once, as a read in this process does.
func TestAStrictReadShowsWhatIsAcknowledged(t *testing.T) {
	p, outcome, speak := waitingWrite(t, standby.SemiSyncStrict)
	read := func(ctx context.Context) (text string, err error) {
		row, err := p.db.Table("a").ReadRow(ctx, "r")
		return row.Text("f", "q"), err
	}
	scan := func(ctx context.Context) (text string, err error) {
		for row, rerr := range p.db.Table("a").ReadRows(ctx) {
			text, err = row.Text("f", "q"), rerr
		}
		return text, err
	}
	service := p.primary.Service()
	type result struct {
		text string
		err  error
	}
	waiting := make(chan result)
	for _, way := range []func(context.Context) (string, error){read, scan} {
		for _, ctx := range []context.Context{t.Context(), service.Confirm(standby.WithSemiSync(t.Context(), standby.SemiSyncOff))} {
			if text, err := way(ctx); err != nil || text != "new" {
				t.Errorf("a read that does not wait: %q, %v", text, err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if text, err := way(service.Confirm(short)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read of what no standby has: %q, %v", text, err)
		}
		cancel()
		go func() {
			text, err := way(service.Confirm(t.Context()))
			waiting <- result{text, err}
		}()
	}
	await(t, "no read waits", func() bool { return standby.Waiting(p.primary) == 3 })
	speak()
	for range 2 {
		if r := <-waiting; r.err != nil || r.text != "new" {
			t.Errorf("a read that has waited: %q, %v", r.text, r.err)
		}
	}
	must(t, <-outcome)
}

// A read that no standby confirms in time fails; what the database had when it was opened
// needs no standby.
func TestAStrictReadWithoutAStandby(t *testing.T) {
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: time.Millisecond})
	must(t, put(standby.Async(t.Context()), p.db, "r", "v"))
	confirmed := func() error {
		_, err := p.db.Table("a").ReadRow(p.primary.Service().Confirm(t.Context()), "r")
		return err
	}
	if err := confirmed(); query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), "no standby has acknowledged") {
		t.Errorf("a read of what no standby has: %v", err)
	}
	p.close()
	p.open()
	must(t, confirmed())
}

// A strict read in a transaction shows only what a standby has.
func TestAStrictReadInATransaction(t *testing.T) {
	t.Parallel()
	p, outcome, speak := waitingWrite(t, standby.SemiSyncStrict)
	short, cancel := context.WithTimeout(p.primary.Service().Confirm(t.Context()), 100*time.Millisecond)
	defer cancel()
	text := ""
	err := p.db.Update(short, func(tx *query.Tx) error {
		row, err := tx.ReadRow(short, "a", "r")
		text = row.Text("f", "q")
		return err
	})
	if err == nil && text == "new" {
		t.Errorf("a transaction that only reads has shown %q, which no standby has", text)
	}
	if _, err := p.db.Table("a").ReadRow(short, "r"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a read: %v", err)
	}
	speak()
	must(t, <-outcome)
}

// In the mode strict, while no standby is connected, nothing is written.
func TestNothingIsWrittenWithoutAStandby(t *testing.T) {
	t.Parallel()
	p := semi(t, standby.SemiSync{Mode: standby.SemiSyncStrict, Timeout: 10 * time.Millisecond})
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, put(standby.Async(t.Context()), p.db, "r", "v")) // the standby may not be connected yet
	awaitPosition(t, p, s)
	must(t, s.Close())
	time.Sleep(2500 * time.Millisecond) // longer than the clock is reserved
	before := position(t, p.primary)
	err := p.db.Update(t.Context(), func(tx *query.Tx) error {
		m := write.NewMutation()
		m.Set("f", "q", cells.String("v"))
		return tx.Apply(t.Context(), "a", "r", m)
	})
	_, also := p.db.Declare(t.Context(), schemaOf(table("more", "f")))
	for _, err := range []error{err, also} {
		if query.KindOf(err) != query.KindUnavailable || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("a write without a standby: %v", err)
		}
	}
	if after := position(t, p.primary); after != before {
		t.Errorf("position %d before, %d after", before, after)
	}
}
