package standby_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/api/standbys"
	"github.com/smolwc/smolwc/internal/testaddr"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/plumbing"
	"github.com/smolwc/smolwc/standby"
)

// pending are the addresses of the servers that may not know that a server took their place.
func pending(t *testing.T, s standbys.Service) []string {
	t.Helper()
	all, err := s.ListReplicas(t.Context(), new(smolwcpb.ListReplicasRequest))
	must(t, err)
	return all.GetUntold()
}

// notes are the files about servers that have to be told.
func notes(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "UNTOLD-*"))
	must(t, err)
	return all
}

// replaced has a standby promoted while its primary p is gone. Nobody is told.
func replaced(t *testing.T) (p, n *node) {
	t.Helper()
	p = newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	p.close()
	return p, promote(t, s, dir)
}

// told waits until a primary takes no writes, and the server in its place knows that.
func told(t *testing.T, p, n *node) {
	t.Helper()
	awaitFenced(t, p.db, "")
	await(t, "the server does not know that the old primary is fenced", func() bool {
		return len(pending(t, n.primary.Service())) == 0 && len(notes(t, n.dir)) == 0
	})
}

// A new primary that was started again goes on telling the one before. Backups and copies of it
// tell nobody.
func TestARestartedPrimaryFencesTheOldPrimary(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	for range 2 {
		n.close()
		n.open()
		await(t, "the new primary does not say whom it has to tell", func() bool {
			all := pending(t, n.primary.Service())
			return len(all) == 1 && all[0] == p.addr
		})
	}
	must(t, try(t, n.db, "later")) // it does not wait for that
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, n.db.Checkpoint(t.Context(), backup))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, n.addr)
	awaitEqual(t, n.db, s)
	if all := append(notes(t, backup), notes(t, dir)...); len(all) > 0 {
		t.Errorf("copies have %v", all)
	}
	p.open()
	told(t, p, n)
	n.close()
	n.open()
	if all := pending(t, n.primary.Service()); len(all) > 0 {
		t.Errorf("it tells %v again", all)
	}
}

// an old primary that was made a standby of the new one knows, and is told no more.
func TestARestartedPrimaryFencesNoStandbyOfItsOwn(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	n.close()
	n.open()
	back := follow(t, p.dir, n.addr)
	awaitPosition(t, n, back)
	defer serve(t, back.Service(), &p.addr).Stop()
	await(t, "the server does not know that the one before is its standby", func() bool { return len(notes(t, n.dir)) == 0 })
}

// While another database is served at the address of the old primary, as where its disk is
// not there, the new primary goes on: the one before may come back.
func TestTheOldPrimaryIsFencedWhenItsDiskIsBack(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	other := &node{t: t, dir: filepath.Join(t.TempDir(), "empty"), addr: p.addr}
	other.open()
	n.close()
	said := new(heard)
	n.logger = slog.New(slog.NewTextHandler(said, nil))
	n.open()
	await(t, "the new primary does not say that another database is there", func() bool { return said.has("could not fence the old primary") && said.has("another database") })
	declare(t, other.db, table("a", "f"))
	must(t, try(t, other.db, "row"))
	other.close()
	p.open()
	told(t, p, n)
}

// The old primary was a standby, which passes on what it is told. While another database is
// served at the address of the primary, that one was not fenced.
func TestAStandbyPassesOnAFenceOnlyToItsOwnPrimary(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	middle := follow(t, filepath.Join(t.TempDir(), "middle"), p.addr)
	addr := "127.0.0.1:0"
	served := serve(t, middle.Service(), &addr)
	t.Cleanup(func() { middle.Service().Stop(); served.Stop() })
	n := &node{t: t, dir: filepath.Join(t.TempDir(), "standby"), addr: testaddr.New(t)}
	s := follow(t, n.dir, addr)
	must(t, try(t, p.db, "both"))
	awaitPosition(t, p, s)
	p.close()
	other := &node{t: t, dir: filepath.Join(t.TempDir(), "empty"), addr: p.addr}
	other.open()
	done, err := s.Promote(t.Context(), n.addr, query.DurabilitySync)
	must(t, err)
	if done.Unfenced == nil {
		t.Error("the primary was told, and is not there")
	}
	n.take(done)
	must(t, s.Close())
	t.Cleanup(n.close)
	other.close()
	p.open()
	told(t, p, n)
}

// A new primary that kept no log for standbys meanwhile has another history, and tells the primary
// before of the one that both had.
func TestANewPrimaryWithAnotherHistoryFencesTheOldPrimary(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	for _, n.log = range []int64{-1, 0} {
		n.close()
		n.open()
	}
	s := follow(t, filepath.Join(t.TempDir(), "standby"), n.addr)
	awaitPosition(t, n, s)
	n.close()
	n.open()
	p.open()
	told(t, p, n)
}

// A person removes the file when the old primary is gone for good. Then it is no longer told.
func TestAnOldPrimaryThatIsGoneForGood(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	must(t, os.Remove(notes(t, n.dir)[0]))
	await(t, "the new primary goes on", func() bool { return len(pending(t, n.primary.Service())) == 0 })
	n.close()
	n.open()
	p.open()
	must(t, try(t, p.db, "writes"))
	if all := pending(t, n.primary.Service()); len(all) > 0 {
		t.Errorf("it tells %v", all)
	}
}

// While nobody can read whom a server has to tell, it serves, and says so.
func TestANoteWithAFlippedBit(t *testing.T) {
	t.Parallel()
	_, n := replaced(t)
	n.close()
	at := notes(t, n.dir)[0]
	text, err := os.ReadFile(at)
	must(t, err)
	text[len(text)/2] ^= 1
	must(t, os.WriteFile(at, text, 0o600))
	n.open()
	must(t, try(t, n.db, "writes"))
	await(t, "the server does not say that somebody may not know", func() bool {
		all := pending(t, n.primary.Service())
		return len(all) == 1 && all[0] == "that UNTOLD-2 names"
	})
	must(t, os.Remove(at))
	await(t, "the server says that still", func() bool { return len(pending(t, n.primary.Service())) == 0 })
}

// A server that was itself replaced before it could tell the old primary, tells it as a fenced
// primary and as a standby, also when it was rebuilt.
func TestAReplacedServerFencesTheOldPrimary(t *testing.T) {
	t.Parallel()
	for _, as := range []string{"a fenced primary", "a standby", "a copy", "a primary again"} {
		t.Run(as, func(t *testing.T) {
			t.Parallel()
			p, n := replaced(t)
			dir := filepath.Join(t.TempDir(), "second")
			second := follow(t, dir, n.addr)
			must(t, try(t, n.db, "second"))
			awaitPosition(t, n, second)
			if as != "a copy" {
				n2 := promote(t, second, dir)
				awaitFenced(t, n.db, n2.addr)
				n.close()
				if as == "a fenced primary" {
					fenced, err := standby.Open(t.Context(), n.dir, standby.Options{})
					must(t, err)
					defer fenced.Close()
				} else {
					back := follow(t, n.dir, n2.addr)
					awaitEqual(t, n2.db, back)
					if as == "a primary again" {
						n2.close()
						n = promote(t, back, n.dir)
						if all := notes(t, n.dir); len(all) != 2 {
							t.Errorf("it has to tell two servers, and has %v", all)
						}
					}
				}
			} else {
				n.primary.Service().Stop()
				n.served.Stop()
				await(t, "the second is connected", func() bool { _, connected := second.Lag(); return !connected })
				must(t, try(t, n.db, "tail"))
				n2 := promote(t, second, dir)
				must(t, n.db.Close())
				n.served = nil
				awaitEqual(t, n2.db, rebuild(t, follow(t, n.dir, n2.addr), "are its own"))
				if all := notes(t, n.dir); len(all) != 1 {
					t.Errorf("it has to tell one server, and has %v", all)
				}
			}
			p.open()
			awaitFenced(t, p.db, "")
		})
	}
}

// A server that was killed when a standby had its epoch, and before the file PROMOTED got its other
// name, tells the old primary as a standby of that one.
func TestAKilledPromotionThatWasFollowedFencesTheOldPrimary(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	dir := filepath.Join(t.TempDir(), "second")
	second := follow(t, dir, n.addr)
	awaitPosition(t, n, second)
	n.close()
	must(t, os.Rename(notes(t, n.dir)[0], filepath.Join(n.dir, plumbing.PromotedFile)))
	n2 := promote(t, second, dir)
	awaitEqual(t, n2.db, follow(t, n.dir, n2.addr))
	p.open()
	awaitFenced(t, p.db, "")
	await(t, "a note to be gone", func() bool { return len(notes(t, n.dir)) == 0 })
}

// A server that was promoted, and is rebuilt from the old primary, which was never told,
// does not fence that one: it leads.
func TestACopyOfTheOldPrimaryDoesNotFenceIt(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	n.close()
	must(t, os.WriteFile(filepath.Join(n.dir, plumbing.StandbyFile), []byte(`{"primary":"127.0.0.1:1","differs":"row"}`), 0o600)) // it was replaced in turn
	p.open()
	said := new(heard)
	s, err := standby.Open(t.Context(), n.dir, standby.Options{Primary: p.addr, Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20, Logger: slog.New(slog.NewTextHandler(said, nil))}})
	must(t, err)
	defer s.Close()
	if all := notes(t, n.dir); len(all) != 1 {
		t.Errorf("the copy has %v", all)
	}
	await(t, "it tells the primary, or does not say that it tells nobody", func() bool { return said.has("the old primary is not fenced") })
	must(t, try(t, p.db, "writes"))
	awaitPosition(t, p, s)
	if all := pending(t, s.Service()); len(all) > 0 {
		t.Errorf("it tells %v", all)
	}
}

// An older state of a directory, from before its server was replaced in turn, fences nobody that
// has a later epoch.
func TestAnOldDirectoryFencesNobody(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	n.close()
	old := &node{t: t, dir: filepath.Join(t.TempDir(), "old"), addr: testaddr.New(t)}
	must(t, os.CopyFS(old.dir, os.DirFS(n.dir)))
	n.open()
	back := follow(t, p.dir, n.addr)
	awaitPosition(t, n, back)
	again := &node{t: t, dir: p.dir, addr: p.addr}
	done, err := back.Promote(t.Context(), p.addr, query.DurabilitySync)
	must(t, err)
	again.take(done)
	must(t, back.Close())
	t.Cleanup(again.close)
	old.open()
	t.Cleanup(old.close)
	await(t, "the old directory goes on", func() bool { return len(notes(t, old.dir)) == 0 })
	must(t, try(t, again.db, "writes"))
}

// A directory that an earlier smolwc has promoted names nobody.
func TestAPromotionOfAnEarlierSmolwc(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	awaitPosition(t, p, s)
	after := s.Position()
	must(t, s.Close())
	decided(t, dir, 2, after)
	n := &node{t: t, dir: dir, addr: testaddr.New(t)}
	n.open()
	t.Cleanup(n.close)
	must(t, try(t, n.db, "new"))
	if all := append(notes(t, dir), pending(t, n.primary.Service())...); len(all) > 0 {
		t.Errorf("it tells %v", all)
	}
}

// With a lease, the old primary takes no writes by itself, so there is nothing to note.
func TestAPromotionWithALeaseNotesNobody(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Lease: new(granted), Retry: time.Millisecond, Database: query.Options{Memory: 16 << 20}})
	must(t, err)
	awaitPosition(t, p, s)
	p.close()
	n := promote(t, s, dir)
	if all := notes(t, dir); len(all) > 0 {
		t.Errorf("it notes %v", all)
	}
	if all := pending(t, n.primary.Service()); len(all) > 0 {
		t.Errorf("a false alarm: %v", all)
	}
	p.open()
	awaitFenced(t, p.db, n.addr) // by the process that was promoted
}

// A server that gets a lease goes on telling the old primary, which may have none.
func TestANoteFromBeforeTheLease(t *testing.T) {
	t.Parallel()
	p, n := replaced(t)
	n.close()
	n.lease = new(granted)
	n.open()
	p.open()
	told(t, p, n)
}

// A restored backup of the old primary, at its address, is fenced in its place.
func TestARestoredBackupOfTheOldPrimaryIsFenced(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir, backup := filepath.Join(t.TempDir(), "standby"), filepath.Join(t.TempDir(), "backup")
	s := follow(t, dir, p.addr)
	awaitPosition(t, p, s)
	must(t, p.db.Checkpoint(t.Context(), backup))
	p.close()
	n := promote(t, s, dir)
	p.dir = backup
	p.open()
	told(t, p, n)
}
