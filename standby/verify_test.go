package standby_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/smolwc/smolwc/api/smolwcpb"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
	"github.com/smolwc/smolwc/standby"
)

// large is a value that is more than what a standby shows of its log when it connects.
var large = strings.Repeat("large", 60<<10)

// forge replaces the first one of each text in the log of a closed database, with checksums
// that fit: as if the memory of the machine had changed the bytes.
func forge(t *testing.T, dir string, texts ...string) {
	t.Helper()
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for i := 0; i < len(texts); i += 2 {
		found := false
		for _, path := range logs {
			log, err := os.ReadFile(path)
			must(t, err)
			if at := bytes.Index(log, []byte(texts[i])); at >= 0 && !found {
				found = true
				copy(log[at:], texts[i+1])
				sumAgain(log, at)
				must(t, os.WriteFile(path, log, 0o644))
			}
		}
		if !found {
			t.Fatalf("%q is not in the log", texts[i])
		}
	}
}

// sumAgain corrects the checksum of the fragment of a record around a place.
func sumAgain(log []byte, place int) {
	const block = 32 << 10
	for at := place / block * block; at < len(log); {
		header := 7
		if kind := log[at+6]; kind > 8 { // of Pebble, with two numbers more
			header += 4 + 8
		}
		end := at + header + int(binary.LittleEndian.Uint16(log[at+4:]))
		if place < end {
			sum := crc32.Checksum(log[at+6:end], crc32.MakeTable(crc32.Castagnoli))
			binary.LittleEndian.PutUint32(log[at:], (sum>>15|sum<<17)+0xa282ead8)
			return
		}
		at = end
	}
}

// put writes a cell with a timestamp.
func putAt(t *testing.T, db *query.DB, table, row, value string, at cells.Timestamp) {
	t.Helper()
	m := write.NewMutation()
	m.SetAt("f", "q", at, cells.String(value))
	must(t, db.Table(table).Apply(t.Context(), row, m))
}

// verify verifies a standby that is equal.
func verify(t *testing.T, s *standby.Standby) *standby.Verification {
	t.Helper()
	v, err := s.Verify(t.Context(), nil)
	must(t, err)
	if !v.Equal() {
		t.Fatalf("%s; the tables are %+v", v.Difference(), v.Tables)
	}
	return v
}

// A standby is compared with its primary while both are written, loaded, and change their
// tables.
func TestVerifyUnderLoad(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	sums := schema.Table{Name: "sums", Families: []schema.Family{{Name: "n", Aggregate: schema.AggregateSum}, {Name: "u", Aggregate: schema.AggregateHLL}}}
	declare(t, p.db, table("a", "f", "g"), sums)
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range 3 {
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				row, m, n := fmt.Sprintf("%03d", (i*7+w)%200), write.NewMutation(), write.NewMutation()
				m.Set("f", "q", cells.String(fmt.Sprint(w, i)))
				m.Set("g", "q", cells.String("v"))
				if i%11 == 0 {
					m.DeleteRow()
				}
				n.AddAt("n", "q", 60_000_000, cells.I64(int64(i)))
				n.AddAt("u", "q", 60_000_000, cells.I64(int64(i)))
				if err := errors.Join(p.db.Table("a").Apply(t.Context(), row, m), p.db.Table("sums").Apply(t.Context(), row[:2], n)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Go(func() {
		for i := 0; ctx.Err() == nil && i < 6; i++ {
			load(t, p.db, "a", 300+10*i, 310+10*i, "loaded")
			declare(t, p.db, table("a", "f", "g"), sums, table(fmt.Sprint("t", i), "f"))
			if err := p.db.Table("sums").Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	last := uint64(0)
	for range 6 {
		v := verify(t, s)
		if v.Position < last {
			t.Errorf("position %d after %d", v.Position, last)
		}
		last = v.Position
	}
	stop()
	writing.Wait()
	v := verify(t, s)
	for _, name := range []string{"", "a", "sums"} {
		if i := indexOf(v, name); i < 0 || v.Tables[i].Here.Cells == 0 || v.Tables[i].Here != v.Tables[i].Primary || v.Tables[i].Here.Rows == 0 {
			t.Errorf("table %q: %+v", name, v.Tables)
		}
	}
}

func indexOf(v *standby.Verification, table string) int {
	for i, t := range v.Tables {
		if t.Name == table {
			return i
		}
	}
	return -1
}

// A cell that was changed in the files of a standby is found by its key, wherever it is;
// so are rows that are missing, and rows that only the standby has. The standby is copied
// anew then, and its files stay.
func TestVerifyFindsADifference(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, row, difference string
		texts                 []string
	}{
		{"a flipped cell", "row0777", "has other cells", []string{"value of row 777", "valve of row 777"}},
		{"the first row", "row0000", "has other cells", []string{"value of row 0", "valve of row 0"}},
		{"a lost row", "row0500", "is missing", []string{"row0500", "row0501"}},
		{"a row of the standby's own", "row0250~", "is not in the primary", []string{"row0251~", "row0250~"}},
		{"the last row", "row1999", "is missing", []string{"row1999", "row1998"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := newPrimary(t, 0)
			declare(t, p.db, table("a", "f"))
			dir := filepath.Join(t.TempDir(), "standby")
			s := follow(t, dir, p.addr)
			b := write.NewBatch()
			for i := range 2000 {
				value, m := "value", write.NewMutation()
				if i%777 == 0 {
					value = fmt.Sprintf("value of row %d", i)
				}
				m.SetAt("f", "q", 1000, cells.String(value))
				b.Add("a", fmt.Sprintf("row%04d", i), m)
			}
			must(t, p.db.Apply(t.Context(), b))
			for range 2 { // so that one can be changed into another row
				putAt(t, p.db, "a", "row0251~", "v", 1000)
			}
			putAt(t, p.db, "a", "row1000", large, 1)
			awaitEqual(t, p.db, s)
			verify(t, s)
			must(t, s.Close())
			forge(t, dir, c.texts...)
			s = follow(t, dir, p.addr)
			v, err := s.Verify(t.Context(), nil)
			must(t, err)
			if i := indexOf(v, "a"); v.Equal() || i < 0 || v.Tables[i].Row != c.row || v.Tables[i].Difference != c.difference {
				t.Fatalf("%s; want %s of row %s", v.Difference(), c.difference, c.row)
			}
			s = rebuild(t, s, c.row)
			verify(t, s)
			if why, err := os.ReadFile(filepath.Join(dir+".diverged", "DIVERGED")); err != nil || !strings.Contains(string(why), c.row) {
				t.Errorf("DIVERGED is %q, %v", why, err)
			}
		})
	}
}

// A standby that was found to differ is not promoted, also if the call comes before it has
// told of that.
func TestAStandbyThatDiffersIsNotPromoted(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	putAt(t, p.db, "a", "row", "value", 1000)
	putAt(t, p.db, "a", "row", large, 2000)
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	forge(t, dir, "value", "valve")
	s = follow(t, dir, p.addr)
	v, done, err := s.VerifyOnce(t.Context())
	done = sync.OnceFunc(done)
	defer done()
	must(t, err)
	if v.Equal() {
		t.Fatal("the forged cell is not found")
	}
	promoted := make(chan error)
	go func() {
		_, err := s.Promote(context.Background(), "db2:8086", query.DurabilitySync)
		promoted <- err
	}()
	await(t, "the promotion begins", func() bool { return !s.Following() })
	done()
	if err := <-promoted; !errors.Is(err, standby.ErrDiffers) {
		t.Errorf("a promotion of a standby that differs: %v", err)
	}
	must(t, s.Close())
}

// Retention by age makes no difference, whatever the compactions of each side have dropped
// and whenever, and neither does retention by versions, or a rule that is relaxed.
func TestVerifyWithRetention(t *testing.T) {
	t.Parallel()
	var minutes atomic.Int64
	clock := func() time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(minutes.Load()) * time.Minute) }
	p := &node{t: t, dir: filepath.Join(t.TempDir(), "primary"), addr: "127.0.0.1:0"}
	p.primary = standby.NewPrimary(standby.PrimaryOptions{})
	var err error
	p.db, err = query.Open(p.dir, query.Options{Standbys: p.primary.Hook(), GCInterval: -1, Clock: clock})
	must(t, err)
	p.served = serve(t, p.primary.Service(), &p.addr)
	t.Cleanup(p.close)
	aged, counted := table("aged", "f"), table("counted", "f")
	aged.Families[0].GC, counted.Families[0].GC = schema.MaxAge(time.Hour), schema.MaxVersions(2)
	declare(t, p.db, aged, counted)
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	seen := map[int64]bool{} // how many cells of the aged table were compared
	for step := range 12 {
		for i := range 20 {
			set(t, p.db, "aged", fmt.Sprint(step, "/", i), "f", "v")
			set(t, p.db, "counted", fmt.Sprint(i), "f", fmt.Sprint(step))
		}
		minutes.Add(10)
		_, err = p.db.GC(t.Context(), "aged", query.GCOptions{Compact: step%3 == 0})
		must(t, err)
		_, err = p.db.GC(t.Context(), "counted", query.GCOptions{Compact: true})
		must(t, err)
		v := verify(t, s)
		seen[v.Tables[indexOf(v, "aged")].Here.Cells] = true
		if n := v.Tables[indexOf(v, "counted")].Here.Cells; n != 20*min(int64(step+1), 2) {
			t.Errorf("%d cells of the counted table", n)
		}
	}
	if len(seen) < 3 {
		t.Errorf("the aged table always has %v cells", seen)
	}
	aged.Families[0].GC = nil
	declare(t, p.db, aged)
	verify(t, s)
	set(t, p.db, "aged", "new", "f", "v")
	awaitEqual(t, p.db, s)
	verify(t, s)
}

// A verification ends with its context, with its standby, and with the promotion of its
// standby; one that was lost is not compared.
func TestVerifyEnds(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	set(t, p.db, "a", "r", "f", "v")
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	during := func(do func()) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_, err := s.Verify(ctx, func(standby.VerifyProgress) {
			if do == nil {
				cancel()
			} else {
				do()
			}
		})
		return err
	}
	if err := during(nil); !errors.Is(err, context.Canceled) && status.Code(err) != codes.Canceled {
		t.Errorf("a cancelled verification: %v", err)
	}
	if err := during(func() {
		if _, err := s.Verify(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "another verification") {
			t.Errorf("a second verification: %v", err)
		}
	}); err != nil {
		t.Error(err)
	}
	p.close()
	if _, err := s.Verify(t.Context(), nil); err == nil || s.Err() != nil {
		t.Errorf("without the primary: %v, and the standby: %v", err, s.Err())
	}
	p.open()
	set(t, p.db, "a", "r", "f", "again")
	awaitEqual(t, p.db, s)
	await(t, "the standby does not reach its primary again", func() bool { _, err := s.Verify(t.Context(), nil); return err == nil })
	closing := make(chan error, 1)
	err := during(func() {
		go func() { closing <- s.Close() }()
		for s.Following() {
			time.Sleep(time.Millisecond)
		}
	})
	if err == nil {
		t.Error("a verification has outlived its standby")
	}
	must(t, <-closing)
	if _, err := s.Verify(t.Context(), nil); err == nil {
		t.Error("a closed standby was verified")
	}
	s = follow(t, dir, p.addr)
	verify(t, s)
	must(t, s.Close())
	p.close()
	must(t, os.RemoveAll(p.dir))
	p.open() // another database
	s = follow(t, dir, p.addr)
	if _, err := s.Verify(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "another database") {
		t.Errorf("with another database: %v", err)
	}
}

// A standby that compares itself on a schedule begins after its copy, and finds what was
// changed in its files. The primary knows the result.
func TestVerifyOnASchedule(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	open := func(every time.Duration) *standby.Standby {
		s, err := standby.Open(t.Context(), dir, standby.Options{Primary: p.addr, Name: "test", Retry: time.Millisecond, VerifyEvery: every})
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
	told := func() *smolwcpb.Verification {
		if all := describe(t, p).GetReplicas(); len(all) == 1 {
			return all[0].GetVerified()
		}
		return nil
	}
	s := open(24 * time.Hour)
	await(t, "the first verification", func() bool { return told() != nil })
	if v := told(); v.GetDifference() != "" || v.GetPosition() == 0 {
		t.Errorf("the primary knows %v", v)
	}
	set(t, p.db, "a", "row1", "f", "value")
	set(t, p.db, "a", "row2", "f", large)
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	forge(t, dir, "value", "valve")
	first := told().GetBeganMicros()
	s = open(time.Nanosecond)
	s = rebuild(t, s, `row "row1" of table a has other cells`)
	await(t, "a verification of the copy", func() bool {
		v := told()
		return v.GetBeganMicros() > first && v.GetDifference() == ""
	})
	all, err := s.Service().ListReplicas(t.Context(), nil)
	must(t, err)
	if all.GetDiffered() != 1 || all.GetRebuilds() != 1 {
		t.Errorf("the standby says %v", all)
	}
	verify := all.GetVerified()
	must(t, s.Close())
	s = open(24 * time.Hour) // not due
	set(t, p.db, "a", "row2", "f", "value")
	awaitEqual(t, p.db, s)
	if now := told(); now.GetBeganMicros() > verify.GetBeganMicros()+time.Hour.Microseconds() {
		t.Errorf("verified again: %v", now)
	}
}

// A verification that the standby ends says why.
func TestAVerificationSaysWhyItEnds(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	set(t, p.db, "a", "r", "f", "v")
	s := follow(t, filepath.Join(t.TempDir(), "standby"), p.addr)
	for _, c := range []struct {
		want string
		end  func() error
	}{
		{"the standby follows another server", func() error { return s.Redirect(p.addr) }},
		{"the standby is being promoted", func() error {
			done, err := s.Promote(context.WithoutCancel(t.Context()), "127.0.0.1:1", query.DurabilitySync)
			if err == nil {
				done.Primary.Service().Stop()
			}
			return err
		}},
	} {
		awaitEqual(t, p.db, s)
		ended := make(chan error, 1)
		end := sync.OnceFunc(func() {
			go func() { ended <- c.end() }()
			for s.Following() {
				time.Sleep(time.Millisecond)
			}
		})
		_, err := s.Verify(t.Context(), func(standby.VerifyProgress) { end() })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %q", err, c.want)
		}
		must(t, <-ended)
	}
}

// Files that have to be kept for a difference are not removed because earlier ones are
// there: the standby then waits for the operator.
func TestASecondDifferenceIsKept(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	for n := range 2 {
		s := follow(t, dir, p.addr)
		set(t, p.db, "a", "row", "f", fmt.Sprint("value", n))
		set(t, p.db, "a", "last", "f", large)
		awaitEqual(t, p.db, s)
		must(t, s.Close())
		forge(t, dir, fmt.Sprint("value", n), fmt.Sprint("valve", n))
		s = follow(t, dir, p.addr)
		if v, err := s.Verify(t.Context(), nil); err != nil || v.Equal() {
			t.Fatalf("%v, %v", v, err)
		}
		next := rebuild(t, s, "differs")
		verify(t, next)
		must(t, next.Close())
	}
	for _, name := range []string{".diverged", ".diverged.2"} {
		if _, err := os.Stat(filepath.Join(dir+name, "DIVERGED")); err != nil {
			t.Error(err)
		}
	}
}

// A standby that is found to differ has fed others, which have copied its rows. They are lost
// with it, also if they are told to follow its primary at that moment.
func TestStandbysOfOneThatDiffers(t *testing.T) {
	t.Parallel()
	p := newPrimary(t, 0)
	declare(t, p.db, table("a", "f"))
	dir := filepath.Join(t.TempDir(), "standby")
	s := follow(t, dir, p.addr)
	set(t, p.db, "a", "row", "f", "value")
	set(t, p.db, "a", "last", "f", large)
	awaitEqual(t, p.db, s)
	must(t, s.Close())
	forge(t, dir, "value", "valve")
	s = follow(t, dir, p.addr)
	addr := "127.0.0.1:0"
	served := serve(t, s.Service(), &addr)
	second := follow(t, filepath.Join(t.TempDir(), "second"), addr)
	addr2 := serveAt(t, second.Service())
	third := follow(t, filepath.Join(t.TempDir(), "third"), addr2)
	set(t, p.db, "a", "later", "f", "v")
	await(t, "the third does not follow", func() bool { return has(t, third.DB(), "later") })
	if v, err := s.Verify(t.Context(), nil); err != nil || v.Equal() {
		t.Fatalf("%v, %v", v, err)
	}
	for _, of := range []*standby.Standby{second, third} {
		select {
		case <-of.Lost():
		case <-time.After(time.Minute):
			t.Fatal("one that has the wrong rows goes on")
		}
		must(t, of.Redirect(p.addr))
		awaitEqual(t, p.db, rebuild(t, of, "the standby that it follows differs"))
	}
	served.Stop()
	awaitEqual(t, p.db, rebuild(t, s, "differs"))
}
