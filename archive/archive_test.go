package archive_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smolwc/smolwc/archive"
	"github.com/smolwc/smolwc/cells"
	"github.com/smolwc/smolwc/query"
	"github.com/smolwc/smolwc/query/write"
	"github.com/smolwc/smolwc/schema"
)

func testSchema() *schema.Schema {
	return &schema.Schema{Tables: []schema.Table{
		{Name: "fleet", Families: []schema.Family{{Name: "meta", Tuning: schema.Tuning{BlobMinSize: 1 << 10}}, {Name: "loc", Type: cells.TypeString}, {Name: "short", GC: &schema.Rule{MaxVersions: 2}}}},
		{Name: "airport", Families: []schema.Family{{Name: "landings", Aggregate: schema.AggregateSum}, {Name: "aircraft", Aggregate: schema.AggregateHLL}}},
	}}
}

func openDB(t testing.TB, dir string, o query.Options) *query.DB {
	t.Helper()
	o.GCInterval = -1
	db, err := query.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func openArchive(t testing.TB, target string) *archive.Archive {
	t.Helper()
	a, err := archive.Open(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// change makes some changes of every kind.
func change(t testing.TB, db *query.DB, r *rand.Rand, n int) {
	t.Helper()
	ctx := context.Background()
	for range n {
		key := fmt.Sprintf("plane#%03d", r.IntN(200))
		m := write.NewMutation()
		switch r.IntN(10) {
		case 0:
			m.DeleteRow()
		case 1:
			m.DeleteCellsInColumn("meta", "miles")
		default:
			m.Set("meta", "miles", cells.I64(r.Int64()))
			m.SetAt("meta", fmt.Sprint("q", r.IntN(5)), cells.Timestamp(r.Int64N(1000)), cells.Bytes(randomBytes(r, 3000)))
			m.Set("loc", "dest", cells.String("KEF"))
			m.Set("short", "n", cells.F64(r.Float64()))
		}
		if err := db.Table("fleet").Apply(ctx, key, m); err != nil {
			t.Fatal(err)
		}
		m = write.NewMutation()
		m.Add("landings", "", cells.I64(1))
		m.Add("aircraft", "", cells.I64(r.Int64N(50)))
		if err := db.Table("airport").Apply(ctx, fmt.Sprint("apt", r.IntN(5)), m); err != nil {
			t.Fatal(err)
		}
	}
}

func randomBytes(r *rand.Rand, most int) []byte {
	b := make([]byte, r.IntN(most))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// dump is all visible content of a database as text.
func dump(t testing.TB, db *query.DB) []string {
	t.Helper()
	var all []string
	for _, table := range db.Schema().Tables {
		all = append(all, fmt.Sprintf("table %s %v", table.Name, table.Families))
		for row, err := range db.Table(table.Name).ReadRows(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			for c := range row.Cells() {
				all = append(all, fmt.Sprintf("%s %q %s:%q @%d %s %q", table.Name, row.Key(), c.Family, c.Qualifier, c.Timestamp, c.Value.Type(), c.Value))
			}
		}
	}
	return all
}

func expectSame(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("%s: line %d is\n%s\nand should be\n%s", what, i, got[i], want[i])
		}
	}
	t.Fatalf("%s: %d lines, should be %d", what, len(got), len(want))
}

// eachTarget runs a test on a directory and on an S3 server.
func eachTarget(t *testing.T, f func(t *testing.T, target string)) {
	t.Run("dir", func(t *testing.T) { f(t, filepath.Join(t.TempDir(), "backups")) })
	t.Run("s3", func(t *testing.T) { f(t, startGateway(t).target("some/prefix")) })
}

// TestEveryGenerationIsItsMoment backs up a history of changes, of drops and of a
// changed schema, and restores each generation: it equals the database of its time,
// cell by cell, aggregates included, and it can be written.
func TestEveryGenerationIsItsMoment(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, target string) {
		ctx, dir := t.Context(), t.TempDir()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		db := openDB(t, filepath.Join(dir, "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
		a := openArchive(t, target)
		var moments [][]string
		for g := range 5 {
			switch g {
			case 2:
				if err := db.DropFamily(ctx, "fleet", "loc"); err != nil {
					t.Fatal(err)
				}
				if err := db.AddFamily(ctx, "fleet", schema.Family{Name: "loc"}); err != nil {
					t.Fatal(err)
				}
			case 3:
				if err := db.Table("fleet").Compact(ctx); err != nil {
					t.Fatal(err)
				}
			}
			change(t, db, r, 150)
			moments = append(moments, dump(t, db))
			res, err := a.Backup(ctx, db, archive.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if blobs, err := filepath.Glob(filepath.Join(db.Dir(), "*.blob")); err != nil || len(blobs) == 0 {
				t.Fatalf("the database has no blob files, %v", err)
			}
			if res.ID != g+1 || res.Size == 0 || res.NewBytes == 0 || res.NewBytes > res.Size || res.SentBytes != res.NewBytes {
				t.Errorf("backup %d: %+v", g+1, res)
			}
		}
		report, err := a.Verify(ctx, archive.Options{})
		if err != nil || report.Generations != 5 || report.Unused != 0 {
			t.Fatalf("verify: %+v, %v", report, err)
		}
		for g, want := range moments {
			to := filepath.Join(dir, fmt.Sprint("restored", g+1))
			if _, err := a.Restore(ctx, g+1, to, archive.RestoreOptions{}); err != nil {
				t.Fatal(err)
			}
			restored := openDB(t, to, query.Options{MustExist: true})
			expectSame(t, fmt.Sprint("generation ", g+1), dump(t, restored), want)
			if restored.UUID() != db.UUID() {
				t.Error("it has another identity")
			}
			change(t, restored, r, 5)
			if err := restored.Close(); err != nil {
				t.Fatal(err)
			}
		}
		list, err := a.List(ctx)
		if err != nil || len(list) != 5 {
			t.Fatalf("list %+v, %v", list, err)
		}
		expectOthersLeft(t, dir, "db", "restored1", "restored2", "restored3", "restored4", "restored5")
	})
}

func expectOthersLeft(t testing.TB, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

// TestWhatIsThereIsNotSentAgain: a second backup of an unchanged database sends hardly
// anything, and a backup after a small change does not send the old files.
func TestWhatIsThereIsNotSentAgain(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, target string) {
		ctx := t.Context()
		db := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
		m := write.NewMutation()
		m.Set("meta", "big", cells.Bytes(randomBytes(rand.New(rand.NewPCG(1, 2)), 8<<20)))
		m.Set("meta", "big2", cells.Bytes(make([]byte, 1<<20)))
		if err := db.Table("fleet").Apply(ctx, "big", m); err != nil {
			t.Fatal(err)
		}
		// Compact the data to the bottom level, so that a few small files do not cause
		// another compaction.
		if err := db.Table("fleet").Compact(ctx); err != nil {
			t.Fatal(err)
		}
		a := openArchive(t, target)
		first, err := a.Backup(ctx, db, archive.BackupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		change(t, db, rand.New(rand.NewPCG(1, 2)), 10)
		second, err := a.Backup(ctx, db, archive.BackupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if second.Size < first.Size || second.SentBytes > first.Size/10 || second.NewBytes != second.SentBytes {
			t.Errorf("first %+v, second %+v", first, second)
		}
	})
}

// onWrite calls a function at the first write.
type onWrite struct{ once func() }

func (w onWrite) Write(p []byte) (int, error) {
	w.once()
	return len(p), nil
}

// If a database that a restore will replace is opened during the transfer, it stays.
func TestARestoreReplacesNoDatabaseThatWasOpenedMeanwhile(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openDB(t, filepath.Join(dir, "db"), query.Options{Schema: testSchema()})
	a := openArchive(t, filepath.Join(dir, "backups"))
	if _, err := a.Backup(ctx, db, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	change(t, db, rand.New(rand.NewPCG(1, 2)), 10)
	want := dump(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	var o archive.RestoreOptions
	o.Overwrite, o.Progress = true, onWrite{sync.OnceFunc(func() { db = openDB(t, filepath.Join(dir, "db"), query.Options{}) })}
	_, err := a.Restore(ctx, archive.Latest, filepath.Join(dir, "db"), o)
	if query.KindOf(err) != query.KindBusy || !strings.Contains(err.Error(), "open in this process") {
		t.Errorf("restored over an open database: %v (%s)", err, query.KindOf(err))
	}
	if got := dump(t, db); !slices.Equal(got, want) {
		t.Errorf("the database is %s, was %s", got, want)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "db.*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

// A backup has the format of its database, so that an older smolwc refuses to restore
// exactly the backups that it cannot read.
func TestABackupHasTheFormatOfItsDatabase(t *testing.T) {
	target := filepath.Join(t.TempDir(), "backups")
	db, a := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema()}), openArchive(t, target)
	m, born, want := write.NewMutation(), db.Format(), map[string]int{}
	for i, ts := range []cells.Timestamp{1<<62 - 1, cells.MaxTimestamp} {
		format := max(i+1, born) // on Pebble it is larger from birth
		want[fmt.Sprintf(`"database_format": %d,`, format)]++
		m.SetAt("meta", "q", ts, cells.I64(1))
		if err := db.Table("fleet").Apply(t.Context(), "r", m); err != nil {
			t.Fatal(err)
		}
		backup, err := a.Backup(t.Context(), db, archive.BackupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "restored")
		if _, err := a.Restore(t.Context(), backup.ID, dir, archive.RestoreOptions{}); err != nil {
			t.Fatal(err)
		}
		restored := openDB(t, dir, query.Options{})
		if restored.Format() != format {
			t.Errorf("with a cell at %d, the restored database has format %d", ts, restored.Format())
		}
		expectSame(t, "restored", dump(t, restored), dump(t, db))
	}
	manifests, err := filepath.Glob(filepath.Join(target, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	formats := map[string]int{}
	for _, path := range manifests {
		text, _ := os.ReadFile(path)
		for _, line := range strings.Split(string(text), "\n") {
			if strings.Contains(line, `"database_format"`) {
				formats[strings.TrimSpace(line)]++
			}
		}
	}
	if !maps.Equal(formats, want) {
		t.Errorf("the manifests say %v, want %v", formats, want)
	}
}

func TestRestoreKeepsWhatIsThere(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	db := openDB(t, filepath.Join(dir, "db"), query.Options{Schema: testSchema()})
	a := openArchive(t, filepath.Join(dir, "backups"))
	change(t, db, rand.New(rand.NewPCG(1, 2)), 10)
	want := dump(t, db)
	if _, err := a.Backup(ctx, db, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, to string, o archive.RestoreOptions, sentinel error, kind query.Kind) {
		t.Helper()
		_, err := a.Restore(ctx, 1, to, o)
		if query.KindOf(err) != kind || sentinel != nil && !errors.Is(err, sentinel) {
			t.Errorf("%s: %v (%s), want %v (%s)", what, err, query.KindOf(err), sentinel, kind)
		}
	}
	expect("over a database", db.Dir(), archive.RestoreOptions{}, archive.ErrExists, query.KindAlreadyExists)
	expect("over an open database", db.Dir(), archive.RestoreOptions{Overwrite: true}, nil, query.KindBusy)
	other := filepath.Join(dir, "other")
	if err := errors.Join(os.Mkdir(other, 0o755), os.WriteFile(filepath.Join(other, "letter"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	expect("over other files", other, archive.RestoreOptions{Overwrite: true}, archive.ErrExists, query.KindAlreadyExists)
	_, err := a.Restore(ctx, 2, filepath.Join(dir, "no"), archive.RestoreOptions{})
	if !errors.Is(err, archive.ErrNoGeneration) || !strings.Contains(err.Error(), "the only one is 1") {
		t.Errorf("no such generation: %v", err)
	}

	change(t, db, rand.New(rand.NewPCG(3, 4)), 10)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// A backup can replace a damaged database.
	if err := os.Remove(filepath.Join(dir, "db", "CURRENT")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(ctx, archive.Latest, filepath.Join(dir, "db"), archive.RestoreOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	expectSame(t, "overwritten", dump(t, openDB(t, filepath.Join(dir, "db"), query.Options{MustExist: true})), want)
	expectOthersLeft(t, dir, "db", "backups", "other")
}

// TestOneArchiveOneDatabase: otherwise a database could prune and restore the backups
// of another one.
func TestOneArchiveOneDatabase(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	a := openArchive(t, filepath.Join(dir, "backups"))
	if _, err := a.Backup(ctx, openDB(t, filepath.Join(dir, "one"), query.Options{}), archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := a.Backup(ctx, openDB(t, filepath.Join(dir, "two"), query.Options{}), archive.BackupOptions{})
	if !errors.Is(err, archive.ErrOtherDatabase) || query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("error %v", err)
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	t.Setenv("AWS_ACCESS_KEY_ID", "x")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
	for target, want := range map[string]string{
		"":                               "a target is needed",
		"gs://bucket":                    "is not a target",
		"s3:///prefix":                   "names no bucket",
		"s3://bucket?endpont=x":          `no parameter "endpont"`,
		"s3://bucket?endpoint=localhost": "is not a URL such as",
		"s3://key:secret@bucket/x":       "no access keys in it",
	} {
		_, err := archive.Open(ctx, target)
		if query.KindOf(err) != query.KindInvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", target, err, want)
		}
	}
	db := openDB(t, filepath.Join(dir, "db"), query.Options{})
	_, err := openArchive(t, filepath.Join(dir, "db", "backups")).Backup(ctx, db, archive.BackupOptions{})
	if query.KindOf(err) != query.KindInvalidArgument {
		t.Errorf("in the database: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = openArchive(t, dir).Backup(ctx, db, archive.BackupOptions{})
	if !errors.Is(err, archive.ErrExists) {
		t.Errorf("among other files: %v", err)
	}
	mem, err := query.OpenInMemory(query.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	if _, err := openArchive(t, filepath.Join(dir, "mem")).Backup(ctx, mem, archive.BackupOptions{}); query.KindOf(err) != query.KindFailedPrecondition {
		t.Errorf("in memory: %v", err)
	}
	if list, err := openArchive(t, filepath.Join(dir, "nowhere")).List(ctx); err != nil || len(list) != 0 {
		t.Errorf("where nothing is: %v, %v", list, err)
	}
}

// TestS3Errors: each failure of a server has its own error.
func TestS3Errors(t *testing.T) {
	g := startGateway(t)
	ctx, dir := t.Context(), t.TempDir()
	db := openDB(t, filepath.Join(dir, "db"), query.Options{})
	expect := func(what, target string, want error, kind query.Kind) {
		t.Helper()
		a, err := archive.Open(ctx, target)
		if err == nil {
			archive.Impatient(t, a)
			_, err = a.Backup(ctx, db, archive.BackupOptions{})
		}
		if !errors.Is(err, want) || query.KindOf(err) != kind {
			t.Errorf("%s: %v (%s), want %v (%s)", what, err, query.KindOf(err), want, kind)
			return
		}
		t.Logf("%s: %v", what, err)
	}
	good := g.target("x")
	expect("missing bucket", strings.Replace(good, "s3://bucket", "s3://nobucket", 1), archive.ErrNoBucket, query.KindNotFound)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	expect("wrong secret", good, archive.ErrDenied, query.KindFailedPrecondition)
	t.Setenv("AWS_ACCESS_KEY_ID", "nobody")
	expect("unknown key", good, archive.ErrDenied, query.KindFailedPrecondition)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	expect("no keys", good, archive.ErrDenied, query.KindFailedPrecondition)
	t.Setenv("AWS_ACCESS_KEY_ID", testAccess)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
	g.stop()
	expect("server gone", good, archive.ErrUnreachable, query.KindUnavailable)
}

// TestLease: the lock in an object store.
func TestLease(t *testing.T) { archive.LeaseTest(t, startGateway(t).target("lease")) }

func TestALockOutlivesNobody(t *testing.T) {
	archive.LeasesOfOthersTest(t, startGateway(t).target("others"))
}

// TestServerGoesWhileSending: a part of a backup is not a generation, and the next
// backup continues it.
func TestServerGoesWhileSending(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	ctx := t.Context()
	db := openDB(t, filepath.Join(t.TempDir(), "db"), query.Options{Schema: testSchema(), Durability: query.DurabilityAsync})
	m := write.NewMutation()
	m.Set("meta", "big", cells.Bytes(make([]byte, 1<<10)))
	for i := range 6 {
		m.Set("meta", fmt.Sprint("big", i), cells.Bytes(randomBytes(rand.New(rand.NewPCG(1, uint64(i))), 4<<20)))
	}
	if err := db.Table("fleet").Apply(ctx, "big", m); err != nil {
		t.Fatal(err)
	}
	a := openArchive(t, g.target("x"))
	impatient := openArchive(t, a.Target())
	archive.Impatient(t, impatient)
	gone := sync.OnceFunc(func() { go g.stop() })
	_, err := impatient.Backup(ctx, db, archive.BackupOptions{Options: archive.Options{Rate: 2 << 20, Report: func(p archive.Progress) {
		if p.Done > p.Total/20 {
			gone()
		}
	}}})
	if !errors.Is(err, archive.ErrUnreachable) || query.KindOf(err) != query.KindUnavailable {
		t.Fatalf("error %v, want %v", err, archive.ErrUnreachable)
	}
	g.start(t)
	if list, err := a.List(ctx); err != nil || len(list) != 0 {
		t.Errorf("listed %+v, %v", list, err)
	}
	// The first backup could not remove its lock without the server. The same process
	// can take the lock over.
	if h, err := a.Holder(ctx); err != nil || h == nil || h.Liveness != archive.Dead {
		t.Errorf("the lock is held by %v, %v", h, err)
	}
	if _, err := a.Backup(ctx, db, archive.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	if report, err := a.Verify(ctx, archive.Options{}); err != nil || report.Generations != 1 {
		t.Errorf("verify %+v, %v", report, err)
	}
}
