package standby

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/smolwc/smolwc/cf"
)

func spoolRecord(n int) *cf.LogRecord {
	return &cf.LogRecord{After: cf.Position(100 + 2*n), Last: cf.Position(102 + 2*n), Time: int64(1000 + n), Data: bytes.Repeat([]byte{byte(n)}, n*37%200)}
}

func readAll(t *testing.T, s *spool) (last cf.Position) {
	t.Helper()
	for {
		r, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if r == nil {
			return last
		}
		want := spoolRecord(int(r.After-100) / 2)
		if r.Last != want.Last || r.Time != want.Time || !bytes.Equal(r.Data, want.Data) {
			t.Fatalf("record %d is %v, want %v", r.After, r, want)
		}
		last = r.Last
		s.applied(r)
		if err := s.tidy(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func fillSpool(t *testing.T, dir string, n int) *spool {
	t.Helper()
	s, err := openSpool(dir, 100, func(*cf.LogRecord) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if i%7 == 3 { // files of few records
			s.mu.Lock()
			if err := s.begin(spoolRecord(i).After); err != nil {
				t.Fatal(err)
			}
			s.mu.Unlock()
		}
		if err := s.append(spoolRecord(i)); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := s.sync(); err != nil || at != spoolRecord(n-1).Last {
		t.Fatal(at, err)
	}
	return s
}

// A spool that ends anywhere, or has a wrong byte anywhere, has the records before that and no other ones, whatever of it was applied.
func TestASpoolIsReadToItsTear(t *testing.T) {
	const records = 20
	whole := t.TempDir()
	if err := fillSpool(t, whole, records).close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(whole, "*.spool"))
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for try := range 400 {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		torn := filepath.Join(dir, filepath.Base(names[random.IntN(len(names))]))
		text, err := os.ReadFile(torn)
		if err != nil {
			t.Fatal(err)
		}
		at := random.IntN(len(text))
		if try%2 == 0 {
			text = text[:at]
		} else {
			text[at] ^= 1 << random.IntN(8)
		}
		if err := os.WriteFile(torn, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var first int
		if _, err := fmt.Sscanf(filepath.Base(torn), "%d.spool", &first); err != nil {
			t.Fatal(err)
		}
		applied := cf.Position(100 + 2*random.IntN(records+1))
		s, err := openSpool(dir, applied, func(*cf.LogRecord) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if err := s.tidy(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		end := s.end()
		if end != 0 && end < cf.Position(first) && applied < cf.Position(first) {
			t.Fatalf("torn in %d, with %d applied, it ends at %d", first, applied, end)
		}
		last := readAll(t, s)
		if want := max(end, applied); end > applied && last != want {
			t.Fatalf("it ends at %d, and the records at %d", end, last)
		}
		next := max(end, applied)
		for i := int(next-100) / 2; i < records; i++ { // it goes on
			if err := s.append(spoolRecord(i)); err != nil {
				t.Fatal(err)
			}
		}
		if next < spoolRecord(records-1).Last && readAll(t, s) != spoolRecord(records-1).Last {
			t.Fatal("it does not go on")
		}
		if err := s.remove(); err != nil {
			t.Fatal(err)
		}
	}
}

// A spool that is opened again begins where it began: at the time of the last applied record, also if that ended a file.
func TestASpoolBeginsWhereItBegan(t *testing.T) {
	const records = 20
	for applied := range records {
		dir := filepath.Join(t.TempDir(), "spool")
		s := fillSpool(t, dir, records)
		for range applied {
			r, err := s.next()
			if err != nil {
				t.Fatal(err)
			}
			s.applied(r)
			if err := s.tidy(func() error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		want, _, err := s.begins()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if s, err = openSpool(dir, cf.Position(100+2*applied), func(*cf.LogRecord) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := s.tidy(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got, known, err := s.begins(); got != want || !known || err != nil {
			t.Errorf("after %d applied records it begins at %d, and when it is opened again at %d, %v, %v", applied, want, got, known, err)
		}
		if names, err := filepath.Glob(filepath.Join(dir, "*.spool")); err != nil || len(names) > len(s.files)+1 {
			t.Errorf("after %d applied records there are %v: %v", applied, names, err)
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A spool that was cut at any record, with any part applied, has the records up to there, and goes on.
func TestASpoolIsCut(t *testing.T) {
	const records = 20
	for cut := 0; cut <= records; cut += 3 {
		for applied := range cut + 1 {
			s := fillSpool(t, filepath.Join(t.TempDir(), "spool"), records)
			for range applied {
				r, err := s.next()
				if err != nil {
					t.Fatal(err)
				}
				s.applied(r)
				if err := s.tidy(func() error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
			after, noted := cf.Position(100+2*cut), 0
			if err := s.cut(after, func(*cf.LogRecord) error { noted++; return nil }); err != nil {
				t.Fatal(err)
			}
			if cut < records && noted != cut-applied || cut > applied && s.end() != after || s.empty() != (cut == applied) {
				t.Fatalf("cut at %d with %d applied: %d noted, it ends at %d, empty is %v", cut, applied, noted, s.end(), s.empty())
			}
			for i := cut; i < records; i++ {
				if err := s.append(spoolRecord(i)); err != nil {
					t.Fatal(err)
				}
			}
			if cut < records && readAll(t, s) != spoolRecord(records-1).Last {
				t.Fatalf("cut at %d with %d applied, it does not go on", cut, applied)
			}
			if err := s.remove(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A spool that does not continue its database is left out.
func TestASpoolOfAnotherPosition(t *testing.T) {
	dir := t.TempDir()
	if err := fillSpool(t, dir, 5).close(); err != nil {
		t.Fatal(err)
	}
	s, err := openSpool(dir, 99, func(*cf.LogRecord) error { return errors.New("noted") })
	if err != nil || !s.empty() || s.end() != 0 {
		t.Fatal(s, err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}
